"""The site in a real, headless Chromium, from `file://`.

Needs the package `playwright` and a Chromium of the system (Debian: `apt-get install chromium`). Without them these
tests are skipped; with `CI=true` they fail instead.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lmms_aes_tasks.leaderboard.page import write_files
from tests.leaderboard.board_example import HOSTILE_NAMES

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def _missing(reason: str) -> None:
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        _missing("the package playwright is missing: pip install -e '.[test]'")
    program = next((found for name in _NAMES if (found := shutil.which(name))), None)
    if program is None:
        _missing("no Chromium: apt-get install chromium")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(
            executable_path=program,
            args=["--no-sandbox"],  # its sandbox refuses root, which containers run as
        )
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory, site: dict[str, str], hostile: dict[str, str]) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("sites")
    write_files(site, folder / "good")
    write_files(hostile, folder / "hostile")
    return {"good": folder / "good", "hostile": folder / "hostile"}


class Visit:
    """A page with a record of everything that it must not do."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.complaints: list[str] = []
        page.on("console", lambda message: self.complaints.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        page.on("dialog", lambda dialog: (self.complaints.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("request", self._request)

    def _request(self, request: Any) -> None:
        if not request.url.startswith(("file://", "data:image/svg+xml,")):
            self.complaints.append(f"request: {request.url}")

    def open(self, path: Path) -> Any:
        self.page.goto(path.as_uri())
        return self.page


@pytest.fixture
def visit(browser: Any) -> Iterator[Visit]:
    context = browser.new_context(viewport={"width": 1360, "height": 900}, color_scheme="light")
    own = Visit(context.new_page())
    yield own
    context.close()
    assert own.complaints == []


def column(page: Any, label: str, table: int = 0) -> list[str]:
    """The texts of a column's visible cells, section by section; of the papers' section only."""
    return page.evaluate(  # type: ignore[no-any-return]
        """([label, number]) => {
          const table = document.querySelectorAll("table.main")[number];
          const place = [...table.tHead.rows[0].cells].findIndex((cell) => cell.textContent.trim().startsWith(label));
          const rows = [...table.tBodies[table.tBodies.length - 1].rows];
          return rows.filter((row) => row.matches(".row") && !row.hidden).map((row) => row.cells[place].dataset.value);
        }""",
        [label, table],
    )


def head(page: Any, label: str) -> Any:
    return page.locator("table.main thead th", has_text=label).first


def test_a_click_sorts_and_says_so(visit: Visit, sites: dict[str, Path]) -> None:
    page = visit.open(sites["good"] / "contextcanvas.html")
    head(page, "Yes rate").locator("button").click()
    rates = [float(value) for value in column(page, "Yes rate")]
    assert rates == sorted(rates, reverse=True)
    assert rates[0] == 0.7698
    assert head(page, "Yes rate").get_attribute("aria-sort") == "descending"
    head(page, "Yes rate").locator("button").click()
    assert [float(value) for value in column(page, "Yes rate")] == rates[::-1]
    assert head(page, "Yes rate").get_attribute("aria-sort") == "ascending"
    head(page, "Model").locator("button").click()
    assert page.locator("table.main th[aria-sort]").count() == 1
    names = column(page, "Model")
    assert names == sorted(names, key=str.lower)


def test_missing_figures_sort_last_both_ways(visit: Visit, sites: dict[str, Path]) -> None:
    page = visit.open(sites["good"] / "vab.html")
    for _ in range(2):
        head(page, "ap@1").locator("button").click()
        values = column(page, "ap@1")
        assert values == [value for value in values if value] + [""] * values.count("")
        assert "" in values


def test_runs_and_papers_stay_apart_when_sorted(visit: Visit, sites: dict[str, Path]) -> None:
    page = visit.open(sites["good"] / "contextcanvas.html")
    head(page, "Accuracy").locator("button").click()
    sections = page.locator("table.main tbody")
    assert sections.count() == 2
    for place, wanted in ((0, "Runs"), (1, "Published")):
        first = sections.nth(place).locator("tr").first
        assert first.inner_text().startswith(wanted)
        statuses = sections.nth(place).locator("tr.row").evaluate_all("rows => rows.map((row) => row.dataset.status)")
        assert ({"published"} == set(statuses)) == (wanted == "Published")


def test_the_keyboard_is_enough(visit: Visit, sites: dict[str, Path]) -> None:
    page = visit.open(sites["good"] / "contextcanvas.html")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.closest('th')?.textContent.trim().startsWith('Accuracy') ?? false"):
            break
    else:
        raise AssertionError("the tab key never came to the heading of Accuracy")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("Enter")
    page.keyboard.press("Space")
    assert head(page, "Accuracy").get_attribute("aria-sort") == "ascending"
    assert column(page, "Accuracy")[0] == "0.1262"
    regions = page.locator("div.scroll").evaluate_all(
        "all => all.map((one) => [one.tabIndex, one.getAttribute('role'), Boolean(one.ariaLabel)])"
    )
    assert set(map(tuple, regions)) == {(0, "region", True)}


def test_filters_search_and_reset(visit: Visit, sites: dict[str, Path]) -> None:
    page = visit.open(sites["good"] / "contextcanvas.html")
    shown = page.locator("table.main tr.row:visible")
    assert page.locator("#found").inner_text() == "24 of 25 rows"
    assert shown.count() == 24
    page.get_by_label("superseded runs (1)").check()
    assert shown.count() == 25
    page.get_by_label("Status").select_option("published")
    assert shown.count() == 17
    assert page.locator("table.main tbody:visible").count() == 1
    page.get_by_label("Group").select_option("Aesthetic-specific Models")
    assert shown.count() == 4
    page.get_by_label("Search").fill("Q-sit")
    assert shown.count() == 1
    assert page.locator("#found").inner_text() == "1 of 25 rows"
    page.get_by_role("button", name="Reset").click()
    assert shown.count() == 24
    page.get_by_label("Prompt").select_option("other (1b2c3d4e)")
    assert shown.count() == 1
    page.get_by_role("button", name="Reset").click()
    page.get_by_label("Decoding").select_option("greedy, 800 tokens")
    assert shown.count() == 7
    assert page.locator("#found").get_attribute("role") == "status"


def test_breakdowns_show_one_metric_at_a_time(visit: Visit, sites: dict[str, Path]) -> None:
    page = visit.open(sites["good"] / "critiquecanvas.html")
    tables = page.locator("details.breakdown table:visible")
    assert tables.count() == 1
    page.get_by_label("Metric").select_option("METEOR")
    assert tables.locator("caption").inner_text().startswith("METEOR")


def test_an_entry_is_reached_and_left(visit: Visit, sites: dict[str, Path]) -> None:
    page = visit.open(sites["good"] / "index.html")
    page.locator("table.board a", has_text="kestrel-vision-3-nano").click()
    assert page.locator("h1").inner_text() == "kestrel/kestrel-vision-3-nano"
    assert "task:contextcanvas|v:1-A" in page.locator("pre").first.inner_text()
    page.get_by_role("link", name="Entries").click()
    assert page.url.endswith("/index.html#entries")


def test_without_scripts_every_row_is_there(browser: Any, sites: dict[str, Path]) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((sites["good"] / "contextcanvas.html").as_uri())
    assert page.locator("table.main tr.row:visible").count() == 25
    assert not page.locator("#filters").is_visible()
    assert page.locator("table.main button").count() == 0
    context.close()


def test_foreign_text_runs_nothing(visit: Visit, sites: dict[str, Path]) -> None:
    pages = sorted(sites["hostile"].rglob("*.html"))
    assert len(pages) >= 5 + len(HOSTILE_NAMES)
    for path in pages:
        page = visit.open(path)
        page.evaluate(
            """for (const one of document.querySelectorAll("details")) one.open = true;
            for (const one of document.querySelectorAll("button.sort")) one.click();"""
        )
        assert page.evaluate("[typeof window.hacked, document.images.length]") == ["undefined", 0], path.name
        assert page.evaluate("document.scrollingElement.scrollWidth <= innerWidth"), path.name
    assert visit.complaints == []


def test_hostile_values_can_be_filtered_for(visit: Visit, sites: dict[str, Path]) -> None:
    page = visit.open(sites["hostile"] / "contextcanvas.html")
    page.get_by_label("Prompt").select_option(label=HOSTILE_NAMES[0] + HOSTILE_NAMES[1])
    assert page.locator("table.main tr.row:visible").count() == len(HOSTILE_NAMES)
    page.get_by_label("Search").fill('"><img')
    assert page.evaluate("typeof window.hacked") == "undefined"


_CONTRAST = """() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgb = (colour) => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data]; };
  const light = ([r, g, b]) => { const part = (v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
    return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b); };
  const ground = (element) => { for (let e = element; e; e = e.parentElement) {
    const colour = rgb(getComputedStyle(e).backgroundColor); if (colour[3] === 255) return colour; }
    return [255, 255, 255, 255]; };
  const poor = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !element.checkVisibility()) continue;
    const style = getComputedStyle(element);
    const drawn = element.closest("svg.plot");
    const over = drawn ? ground(drawn.parentElement) : ground(element);
    const [a, b] = [light(rgb(drawn ? style.fill : style.color)), light(over)].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    const onBar = drawn && element.closest("figure").id.endsWith("-position");  // its figures stand on the bars
    if (ratio < 4.5 && !onBar) poor.push([walker.currentNode.data.trim().slice(0, 40), ratio.toFixed(2)]);
  }
  return poor;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_light_and_dark_are_readable(browser: Any, sites: dict[str, Path], scheme: str) -> None:
    context = browser.new_context(color_scheme=scheme, viewport={"width": 1360, "height": 900})
    page = context.new_page()
    entry = max((sites["good"] / "entries").iterdir(), key=lambda path: path.stat().st_size)
    grounds = set()
    for path in [*sorted(sites["good"].glob("*.html")), entry]:
        page.goto(path.as_uri())
        grounds.add(page.evaluate("getComputedStyle(document.body).backgroundColor"))
        assert page.evaluate(_CONTRAST) == [], path.name
    assert grounds == {"rgb(246, 247, 251)" if scheme == "light" else "rgb(15, 17, 26)"}
    context.close()


@pytest.mark.parametrize("kind", ["good", "hostile"])
def test_a_phone_scrolls_tables_not_the_page(browser: Any, sites: dict[str, Path], kind: str) -> None:
    context = browser.new_context(viewport={"width": 360, "height": 740}, is_mobile=True, has_touch=True)
    page = context.new_page()
    for path in sorted(sites[kind].rglob("*.html")):
        page.goto(path.as_uri())
        assert page.evaluate("[document.scrollingElement.scrollWidth <= innerWidth, innerWidth]") == [True, 360], path
    page.goto((sites[kind] / "contextcanvas.html").as_uri())
    region = page.locator("div.scroll").first
    name = region.locator("tbody tr.row th").first
    before = name.bounding_box()
    assert region.evaluate("element => { element.scrollLeft = 400; return element.scrollLeft; }") == 400
    assert name.bounding_box() == before  # the first column stays
    context.close()
