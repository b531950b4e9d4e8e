"""The Visual Aesthetic Benchmark's records: a set of images, and which of them experts find best and worst."""

from __future__ import annotations

from typing import Any

from lmms_aes_tasks.records import IMAGES_COLUMN, Field, RecordSchema, as_list, group_problems, id_problems
from lmms_aes_tasks.utils.cells import id_text, is_empty, text_of, whole_number

MIN_IMAGES, MAX_IMAGES = 2, 26


def label(position: int) -> str:
    """The label of a position, A for 0."""
    return chr(ord("A") + position)


def labels_of(n_images: int) -> list[str]:
    """The labels of a set."""
    return [label(position) for position in range(n_images)]


def _columns() -> dict[str, Any]:
    from datasets import Value

    text = Value("string")
    return {
        "id": text,
        "domain": text,
        "substyle": text,
        "n_images": Value("int32"),
        "ground_truth_best": text,
        "ground_truth_worst": text,
    }


def task_problems(task_id: str, n_images: Any, best: Any, worst: Any) -> list[str]:
    """What is wrong with a task's numbers and labels, each named with what is allowed."""
    problems = id_problems("task_id", task_id, further=len("#0"))
    if isinstance(n_images, bool) or not isinstance(n_images, int) or not MIN_IMAGES <= n_images <= MAX_IMAGES:
        return [*problems, f"{n_images!r} images; give {MIN_IMAGES} to {MAX_IMAGES}"]
    allowed = labels_of(n_images)
    for name, gold in (("ground_truth_best", best), ("ground_truth_worst", worst)):
        if gold not in allowed:
            problems.append(f"{name} is {gold!r}; use one of {', '.join(allowed)}")
    if best == worst:
        problems.append(f"best and worst are both {best!r}; give two labels")
    return problems


def gold_label(value: Any) -> Any:
    """A label of the truth in capitals; nothing as None, and what is no text as it is."""
    return None if is_empty(value) else value.strip().upper() if isinstance(value, str) else value


def normalise_task(record: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Bring a record to the canonical form; see `lmms_aes_tasks.records.RecordSchema`."""
    images = as_list(record.get(IMAGES_COLUMN))
    row: dict[str, Any] = {"id": id_text(record.get("id"))}
    row |= {name: text_of(record.get(name)) for name in ("domain", "substyle")}
    row |= {name: gold_label(record.get(name)) for name in ("ground_truth_best", "ground_truth_worst")}
    row |= {"n_images": len(images), IMAGES_COLUMN: images}
    problems = task_problems(row["id"], len(images), row["ground_truth_best"], row["ground_truth_worst"])
    stated = record.get("n_images")
    if not is_empty(stated) and whole_number(stated) != len(images):
        problems.append(f"n_images is {stated!r} and there are {len(images)} images; make them agree")
    for name in ("domain", "substyle"):
        problems += group_problems(name, row[name])
    labels = as_list(record.get("labels"))
    if labels and labels != labels_of(len(images)):
        problems.append(f"labels are {labels!r}; give {', '.join(labels_of(len(images)))}, in this order")
    return row, problems


SCHEMA = RecordSchema(
    fields=(
        Field("id", ("task_id",)),
        Field("domain", ("category",)),
        Field("substyle", ("topic", "sub_style")),
        Field("n_images", ("num_images",), required=False),
        Field(IMAGES_COLUMN, ("image_paths", "image_files")),
        Field("labels", (), required=False),
        Field("ground_truth_best", ("best", "gt_best")),
        Field("ground_truth_worst", ("worst", "gt_worst")),
    ),
    columns=_columns,
    normalise=normalise_task,
)
