// Sorting, filtering and searching. Without this file every table is still there, whole.
"use strict";

const rowsOf = (body) => [...body.rows].filter((row) => !row.classList.contains("section"));

// -- Sorting: each section of a table by itself --

function valueOf(row, column, kind) {
  const text = row.cells[column].dataset.value ?? row.cells[column].textContent;
  if (kind === "text") return text.toLowerCase();
  return text === "" ? null : Number(text);
}

function compare(left, right, kind) {
  if (kind === "text") return left.localeCompare(right, "en", { numeric: true });
  return left - right;
}

function sortBody(body, column, kind, sign) {
  const rows = rowsOf(body).map((row) => [valueOf(row, column, kind), row]);
  const missing = (value) => value === null || value === "";
  rows.sort(([a], [b]) => {
    if (missing(a) || missing(b)) return Number(missing(a)) - Number(missing(b)); // last, in both directions
    return sign * compare(a, b, kind);
  });
  body.append(...rows.map(([, row]) => row));
}

function makeSortable(head) {
  const table = head.closest("table");
  const kind = head.dataset.sort;
  const first = head.dataset.first ?? (kind === "number" ? "descending" : "ascending");
  const button = document.createElement("button");
  button.type = "button";
  button.className = "sort";
  button.append(...head.childNodes);
  head.append(button);
  button.addEventListener("click", () => {
    const now = head.getAttribute("aria-sort");
    const next = now === null ? first : now === "ascending" ? "descending" : "ascending";
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", next);
    for (const body of table.tBodies) sortBody(body, head.cellIndex, kind, next === "ascending" ? 1 : -1);
  });
}

// -- Filters --

function makeFilters(panel) {
  const search = document.getElementById("search");
  const superseded = document.getElementById("superseded");
  const found = document.getElementById("found");
  const selects = [...panel.querySelectorAll("select[data-filter]")];
  const rows = [...document.querySelectorAll("tr.row")];
  const texts = new Map(rows.map((row) => [row, textOf(row)]));

  function textOf(row) {
    const parts = [row.cells[0].textContent, ...Object.values(row.dataset)];
    for (const cell of row.querySelectorAll("td.status, td.run")) parts.push(cell.textContent);
    return parts.join(" ").toLowerCase();
  }

  function matches(row) {
    if (row.dataset.superseded !== undefined && !superseded?.checked) return false;
    if (!selects.every(({ value, dataset }) => value === "*" || value === `=${row.dataset[dataset.filter]}`)) return false;
    return search.value.toLowerCase().split(/\s+/).every((word) => texts.get(row).includes(word));
  }

  function apply() {
    for (const row of rows) row.hidden = !matches(row);
    for (const body of document.querySelectorAll("table.board tbody")) {
      const own = rowsOf(body);
      body.hidden = own.length > 0 && own.every((row) => row.hidden);
    }
    const main = rows.filter((row) => row.closest("table.main"));
    found.textContent = `${main.filter((row) => !row.hidden).length} of ${main.length} rows`;
  }

  for (const control of [search, superseded, ...selects]) control?.addEventListener("input", apply);
  document.getElementById("reset").addEventListener("click", () => {
    search.value = "";
    if (superseded) superseded.checked = false;
    for (const select of selects) select.value = "*";
    apply();
  });
  panel.hidden = false;
  apply();
}

// -- Breakdowns with several metrics: one at a time --

function makeChoice(breakdown) {
  const tables = [...breakdown.querySelectorAll(":scope > [data-metric]")];
  if (tables.length < 2) return;
  const label = document.createElement("label");
  const select = document.createElement("select");
  label.className = "choice";
  label.append("Metric", select);
  for (const { dataset } of tables) select.append(new Option(dataset.metric));
  const apply = () => tables.forEach((table, place) => (table.hidden = place !== select.selectedIndex));
  select.addEventListener("input", apply);
  breakdown.querySelector("summary").after(label);
  apply();
}

document.querySelectorAll("th[data-sort]").forEach(makeSortable);
document.querySelectorAll("details.breakdown").forEach(makeChoice);
const panel = document.getElementById("filters");
if (panel) makeFilters(panel);
