"""ContextCanvas's records: a question with two or more options about images, and the option that is right."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from lmms_aes_tasks.records import IMAGES_COLUMN, Field, RecordSchema, as_list, id_problems
from lmms_aes_tasks.utils.affirmation import affirms, denies_before_affirming
from lmms_aes_tasks.utils.cells import is_empty, json_value, text_of
from lmms_aes_tasks.utils.placeholders import mark_problems, without_image_marks

MAX_OPTIONS = 26
MAX_IMAGES = 8
MAX_TEXT_CHARS = 20_000


def _columns() -> dict[str, Any]:
    from datasets import Value

    text = Value("string")
    return {
        "id": text,
        "case_id": text,
        "question": text,
        "options": [{"id": text, "text": text}],
        "gold": text,
        "gold_text": text,
        "rationale": text,
        "source_basis": text,
        "provenance": text,
        "image_descriptors": [text],
        "n_images": Value("int32"),
    }


def _option_pair(item: Any, position: int) -> tuple[str, str]:
    """One option of a record as (id, text); None is a sound text of an option, null and NaN are none."""
    letter = chr(ord("A") + position)
    if isinstance(item, Mapping):
        by_key = {str(key).lower(): value for key, value in item.items() if not is_empty(value) or value == "None"}
        option_id = next((by_key[key] for key in ("id", "option_id", "label", "key") if key in by_key), letter)
        text = next((by_key[key] for key in ("text", "option_text", "value", "content") if key in by_key), "")
        return text_of(option_id).upper(), text_of(text, words=False)
    if isinstance(item, (list, tuple)) and len(item) == 2:
        return text_of(item[0]).upper(), text_of(item[1], words=False)
    return letter, text_of(item, words=False)


def _without_letters(texts: list[str]) -> list[str]:
    """Texts without "A. ", "B) ", "(C) ", when each begins with its own letter: otherwise they are the texts' own."""
    stripped = [
        re.sub(rf"^(?:{letter}[.):]|\({letter}\))\s+", "", text)
        for letter, text in zip("ABCDEFGHIJKLMNOPQRSTUVWXYZ", texts, strict=False)
    ]
    return stripped if all(short != text for short, text in zip(stripped, texts, strict=False)) else texts


def _options(value: Any) -> list[tuple[str, str]]:
    """Options under their common spellings: objects, pairs, strings, a mapping, parallel lists, or JSON of these."""
    value = json_value(value)
    if isinstance(value, Mapping):
        if isinstance(value.get("id"), list) and isinstance(value.get("text"), list):
            value = list(zip(value["id"], value["text"], strict=False))
        else:
            value = list(value.items())
    items = list(value) if isinstance(value, (list, tuple)) else []
    if items and all(isinstance(item, str) for item in items):
        items = _without_letters(items)
    pairs = [_option_pair(item, position) for position, item in enumerate(items)]
    return [(option_id, without_image_marks(text)) for option_id, text in pairs]


def _option_problems(options: Sequence[tuple[str, str]]) -> list[str]:
    if not 2 <= len(options) <= MAX_OPTIONS:
        return [f"{len(options)} options; give 2 to {MAX_OPTIONS}, each with id and text"]
    problems = []
    wanted = [chr(ord("A") + position) for position in range(len(options))]
    ids = [option_id for option_id, _ in options]
    if ids != wanted:
        problems.append(f"option ids {', '.join(ids)}; give {', '.join(wanted)}, in this order")
    texts = [text.casefold() for _, text in options]
    if "" in texts or len(set(texts)) != len(texts):
        problems.append("option texts are empty or repeated; give each option its own text")
    if len(texts) == 2 and denies_before_affirming(options[0][1], options[1][1]):
        problems.append(
            f"option A is {options[0][1][:60]} and B is {options[1][1][:60]}; "
            "give Yes first, because the scores take A as the class Yes"
        )
    return problems


def _gold(value: Any, options: Sequence[tuple[str, str]]) -> tuple[str, list[str]]:
    """The gold option id, from the id or from the option's exact text."""
    label = str(value).strip() if isinstance(value, str) else ""
    ids = {option_id: option_id for option_id, _ in options}
    texts = {text.casefold(): option_id for option_id, text in options}
    found = ids.get(label.upper()) or texts.get(label.casefold())
    if found is None:
        return "", [
            f"unknown gold label {value!r}; use one of {', '.join(ids) or 'the option ids'}, or an option's text"
        ]
    return found, []


def normalise_case(record: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Bring a record to the canonical form; see `lmms_aes_tasks.records.RecordSchema`."""
    options = _options(record.get("options"))
    gold, gold_problems = _gold(record.get("gold"), options)
    images = as_list(record.get(IMAGES_COLUMN))
    texts = ("id", "case_id", "question", "rationale", "source_basis", "provenance")
    row: dict[str, Any] = {name: text_of(record.get(name)) for name in texts}
    row |= {
        "options": [{"id": option_id, "text": text} for option_id, text in options],
        "gold": gold,
        "gold_text": dict(options).get(gold, ""),
        "image_descriptors": [text_of(item) for item in as_list(record.get("image_descriptors"))],
        "n_images": len(images),
        IMAGES_COLUMN: images,
    }
    problems = _option_problems(options) + gold_problems + id_problems("id", row["id"])
    marks = mark_problems("question", row["question"])
    marks += [problem for option_id, text in options for problem in mark_problems(f"option {option_id}", text)]
    row["question"] = without_image_marks(row["question"])
    if not row["question"]:
        problems.append("empty question; give it a text")
    if len(row["question"]) > MAX_TEXT_CHARS:
        problems.append(f"question has {len(row['question'])} characters; {MAX_TEXT_CHARS} are allowed")
    problems += marks
    stated = text_of(record.get("gold_text"))
    if gold and stated and stated.casefold() != row["gold_text"].casefold():
        problems.append(f"gold is {gold} ({row['gold_text']!r}) and its text {stated!r}; make them agree")
    if not 1 <= len(images) <= MAX_IMAGES:
        problems.append(f"{len(images)} images; give 1 to {MAX_IMAGES}")
    return row, problems


def remarks_on(row: Mapping[str, Any]) -> list[str]:
    """What is worth knowing of a sound case: the scores take option A of two as the class Yes, and it may not be."""
    options = row["options"]
    if len(options) != 2 or affirms(options[0]["text"]):
        return []
    return ["records have two options and the first does not begin with Yes: the scores take it as the class Yes"]


SCHEMA = RecordSchema(
    fields=(
        Field("id", ("evaluation_id", "eval_id", "question_id", "qid", "uid", "sample_id", "item_id")),
        Field("case_id", ("original_case_id", "original_id", "source_case_id", "case"), required=False),
        Field(
            IMAGES_COLUMN,
            ("image", "image_paths", "image_path", "image_files", "image_file", "file_names", "file_name", "img"),
        ),
        Field("question", ("question_text", "scenario", "query", "prompt")),
        Field("options", ("choices", "answer_options", "candidates")),
        Field(
            "gold",
            (
                "gold_option_id",
                "gold_id",
                "gold_option",
                "gold_label",
                "gold_answer",
                "answer_id",
                "answer",
                "correct_option",
                "correct_answer",
                "label",
                "target",
                "ground_truth",
            ),
        ),
        Field("gold_text", ("gold_option_text", "answer_text"), required=False),
        Field("rationale", ("source_grounded_rationale", "gold_rationale", "explanation"), required=False),
        Field("source_basis", ("basis", "source"), required=False),
        Field("provenance", ("provenance_rights", "rights"), required=False),
        Field("image_descriptors", ("image_descriptor", "descriptors"), required=False),
        Field("n_images", (), required=False),  # counted anew; a canonical file has it
    ),
    columns=_columns,
    normalise=normalise_case,
    remarks=remarks_on,
)
