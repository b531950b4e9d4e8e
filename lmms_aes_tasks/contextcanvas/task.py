"""ContextCanvas: is this image right for this use (AesCanvas, III.B-C, S2.1.3, S2.3.3, S2.4).

Documents, prompt, messages, record and metrics. Each case is a question with two or three options about one image,
or about a pair; the model names one option.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lmms_aes_tasks.records import IMAGES_COLUMN, Field, RecordSchema, as_list
from lmms_aes_tasks.settings import load_prompt, read_settings
from lmms_aes_tasks.utils.aggregations import aggregation
from lmms_aes_tasks.utils.answers import PARSER_VERSION, OptionAnswer, parse_option
from lmms_aes_tasks.utils.images import Fit, contact_sheet, fit_image, load_image
from lmms_aes_tasks.utils.prompts import Prompt
from lmms_aes_tasks.utils.suitability import Decision, suitability_score
from lmms_aes_tasks.utils.unicode_text import well_formed

if TYPE_CHECKING:
    from PIL.Image import Image

PROMPT_ID = "contextcanvas-1"
PROMPT_FIELDS = ("question", "options")
MAX_OPTIONS = 26
MAX_IMAGES = 8
MAX_TEXT_CHARS = 20_000
_MAX_REASON_CHARS = 1_000
"""A record's reason is for reading; the whole reply stands beside it in the samples file."""


# -- Documents --------------------------------------------------------------------------------------------------------


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
    """One option of a record as (id, text)."""
    letter = chr(ord("A") + position)
    if isinstance(item, Mapping):
        by_key = {str(key).lower(): value for key, value in item.items()}
        option_id = next((by_key[key] for key in ("id", "option_id", "label", "key") if by_key.get(key)), letter)
        text = next((by_key[key] for key in ("text", "option_text", "value", "content") if by_key.get(key)), "")
        return str(option_id).strip().upper(), str(text).strip()
    if isinstance(item, (list, tuple)) and len(item) == 2:
        return str(item[0]).strip().upper(), str(item[1]).strip()
    return letter, str(item).strip()


def _without_letters(texts: list[str]) -> list[str]:
    """Texts without "A. ", "B) ", "(C) ", when each begins with its own letter: otherwise they are the texts' own."""
    stripped = [
        re.sub(rf"^(?:{letter}[.):]|\({letter}\))\s+", "", text)
        for letter, text in zip("ABCDEFGHIJKLMNOPQRSTUVWXYZ", texts, strict=False)
    ]
    return stripped if all(short != text for short, text in zip(stripped, texts, strict=False)) else texts


def _options(value: Any) -> list[tuple[str, str]]:
    """Options under their common spellings: objects, pairs, strings, a mapping, parallel lists, or JSON of these."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return []
    if isinstance(value, Mapping):
        if isinstance(value.get("id"), list) and isinstance(value.get("text"), list):
            value = list(zip(value["id"], value["text"], strict=False))
        else:
            value = list(value.items())
    items = list(value) if isinstance(value, (list, tuple)) else []
    if items and all(isinstance(item, str) for item in items):
        items = _without_letters(items)
    return [_option_pair(item, position) for position, item in enumerate(items)]


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
    if texts[:2] == ["no", "yes"] and len(texts) == 2:
        problems.append("option A is No and B is Yes; give Yes first, because the scores take A as the class Yes")
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


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value.strip() if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def normalise_case(record: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Bring a record to the canonical form; see `lmms_aes_tasks.records.RecordSchema`."""
    options = _options(record.get("options"))
    gold, gold_problems = _gold(record.get("gold"), options)
    images = as_list(record.get(IMAGES_COLUMN))
    row: dict[str, Any] = {name: _text(record.get(name)) for name in ("id", "case_id", "question", "rationale")}
    row |= {name: _text(record.get(name)) for name in ("source_basis", "provenance")}
    row |= {
        "options": [{"id": option_id, "text": text} for option_id, text in options],
        "gold": gold,
        "gold_text": dict(options).get(gold, ""),
        "image_descriptors": [_text(item) for item in as_list(record.get("image_descriptors"))],
        "n_images": len(images),
        IMAGES_COLUMN: images,
    }
    problems = _option_problems(options) + gold_problems
    problems += [f"empty {name}; give it a text" for name in ("id", "question") if not row[name]]
    problems += [
        f"{name} has {len(row[name])} characters; {MAX_TEXT_CHARS} are allowed"
        for name in ("id", "question")
        if len(row[name]) > MAX_TEXT_CHARS
    ]
    stated = _text(record.get("gold_text"))
    if gold and stated and stated.casefold() != row["gold_text"].casefold():
        problems.append(f"gold is {gold} ({row['gold_text']!r}) and its text {stated!r}; make them agree")
    if not 1 <= len(images) <= MAX_IMAGES:
        problems.append(f"{len(images)} images; give 1 to {MAX_IMAGES}")
    return row, problems


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
)


# -- Settings and prompt ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Settings:
    """What `lmms_eval_specific_kwargs` may set.

    Attributes:
        image_fit: `pad` (default), `stretch` or `none`.
        image_size: Side in pixels.
        contact_sheet: One labelled sheet in place of several images, for models that take a single image.
        prompt_file: A prompt template of the user's; null for ours.
        pre_prompt: Text put before the prompt.
        post_prompt: Text put after it.
    """

    image_fit: Fit = "pad"
    image_size: int = 448
    contact_sheet: bool = False
    prompt_file: str | None = None
    pre_prompt: str = ""
    post_prompt: str = ""


def prompt_of(settings: Settings) -> Prompt:
    """The prompt template in force; its id and SHA-256 are logged once.

    Raises:
        PromptError: A user's file cannot be used.
    """
    return load_prompt(PROMPT_ID, settings.prompt_file, PROMPT_FIELDS)


def prompt_name(given: str) -> str:
    """Which prompt a model was given, from the text in a samples file: ours with its SHA-256, or `other`."""
    ours = prompt_of(Settings())
    notes = [_image_note(n, sheet) for n in range(1, MAX_IMAGES + 1) for sheet in (False, True)]
    bodies = [given.removeprefix(note) for note in notes]
    return f"{ours.id} sha256:{ours.sha256}" if any(map(ours.recognises, bodies)) else "other"


# -- What the model sees ----------------------------------------------------------------------------------------------


def _image_note(n_images: int, sheet: bool) -> str:
    """Says which image is which, also to models that get all images first."""
    if n_images < 2:
        return ""
    names = [f"Image {number}" for number in range(1, n_images + 1)]
    if sheet:
        return f"The supplied image is a contact sheet; from left to right it shows {', '.join(names)}.\n\n"
    return f"{n_images} images are supplied, in this order: {', '.join(names)}.\n\n"


def doc_to_text(doc: Mapping[str, Any], lmms_eval_specific_kwargs: Mapping[str, Any] | None = None) -> str:
    """The prompt: question and options, nothing else of the record."""
    settings = read_settings(Settings, lmms_eval_specific_kwargs)
    options = "\n".join(f"{option['id']}. {option['text']}" for option in doc["options"])
    body = prompt_of(settings).render({"question": doc["question"], "options": options})
    # the column, not the images: the harness builds its contexts from documents without them
    note = _image_note(doc["n_images"], settings.contact_sheet)
    return f"{settings.pre_prompt}{note}{body}{settings.post_prompt}"


def doc_to_visual(doc: Mapping[str, Any], lmms_eval_specific_kwargs: Mapping[str, Any] | None = None) -> list[Image]:
    """The case's images, upright 8-bit RGB, fitted; one contact sheet when that is set and there are several."""
    settings = read_settings(Settings, lmms_eval_specific_kwargs)
    cells = doc[IMAGES_COLUMN]
    images = [load_image(cell["bytes"], f"{doc['id']}, image {number}") for number, cell in enumerate(cells, 1)]
    if settings.contact_sheet and len(images) > 1:
        labels = [f"Image {number}" for number in range(1, len(images) + 1)]
        images = [contact_sheet(images, labels, height=settings.image_size)]
    return [fit_image(image, settings.image_fit, settings.image_size) for image in images]


def doc_to_messages(
    doc: Mapping[str, Any], lmms_eval_specific_kwargs: Mapping[str, Any] | None = None
) -> list[dict[str, Any]]:
    """The same text and images for chat models; of several images each stands after its name."""
    images = doc_to_visual(doc, lmms_eval_specific_kwargs)
    content: list[dict[str, Any]] = []
    for number, image in enumerate(images, 1):
        if len(images) > 1:
            content.append({"type": "text", "text": f"Image {number}:"})
        content.append({"type": "image", "url": image})
    content.append({"type": "text", "text": doc_to_text(doc, lmms_eval_specific_kwargs)})
    return [{"role": "user", "content": content}]


def doc_to_target(doc: Mapping[str, Any]) -> str:
    """The gold option id."""
    return str(doc["gold"])


# -- Scoring ----------------------------------------------------------------------------------------------------------


def option_pairs(doc: Mapping[str, Any]) -> list[tuple[str, str]]:
    """A document's options as (id, text)."""
    return [(option["id"], option["text"]) for option in doc["options"]]


def decide(case_id: str, response: str, options: Sequence[tuple[str, str]], gold: str) -> tuple[Decision, OptionAnswer]:
    """Parse one response and set it beside its gold label: the one path of harness, offline scorer and verifier."""
    parsed = parse_option(response, options)
    return Decision(case_id, parsed.answer, gold, tuple(option_id for option_id, _ in options)), parsed


def process_results(doc: Mapping[str, Any], results: Sequence[str]) -> dict[str, Any]:
    """One document's record and, for each metric, its decision.

    Returns:
        `record` (readable, enough to score again with the response), `score` (0 or 1, what lmms-eval's `--baseline`
        compares), and the decision under every metric's name.
    """
    response = results[0] if results and isinstance(results[0], str) else ""
    options = option_pairs(doc)
    decision, parsed = decide(str(doc["id"]), response, options, str(doc["gold"]))
    record = {
        "id": decision.id,
        "answer": decision.answer,
        "gold": decision.gold,
        "rule": parsed.rule,
        "confidence": parsed.confidence,
        "reason": well_formed(parsed.reason[:_MAX_REASON_CHARS]) if parsed.reason else None,
        "options": [list(pair) for pair in options],
        "parser": PARSER_VERSION,
    }
    return {
        "record": record,
        "score": float(decision.correct),
        "accuracy": decision,
        "macro_f1": decision,
        "yes_rate": decision,
        "yes_f1": decision,
        "no_f1": decision,
        "parse_rate": decision,
    }


def _aggregation(metric: str, meaning: str) -> Callable[[Iterable[Decision]], float | None]:
    return aggregation(__name__, metric, meaning, lambda items: suitability_score(list(items), metric).value)


aggregate_accuracy = _aggregation("accuracy", "Share of all cases answered right (S17).")
aggregate_macro_f1 = _aggregation(
    "macro_f1", "Mean F1 of the two classes over two-option cases (S19); None when there are none."
)
aggregate_yes_rate = _aggregation(
    "yes_rate", "Share of two-option cases answered with option A (S19); None when there are none."
)
aggregate_yes_f1 = _aggregation("yes_f1", "F1 of class A over two-option cases (S18); None when there are none.")
aggregate_no_f1 = _aggregation("no_f1", "F1 of class B over two-option cases (S18); None when there are none.")
aggregate_parse_rate = _aggregation("parse_rate", "Share of all cases whose reply declared one option.")


# -- Counts -----------------------------------------------------------------------------------------------------------


def count_cases(rows: Sequence[Mapping[str, Any]]) -> dict[str, float | None]:
    """Counts of a data set, under the names of the card's `expected`.

    Args:
        rows: Canonical records, each with `image_sha256` in place of its images; `images` counts distinct ones.
    """
    two_option = [row for row in rows if len(row["options"]) == 2]
    return {
        "cases": len(rows),
        "two_option": len(two_option),
        "three_way": sum(len(row["options"]) == 3 for row in rows),
        "images": len({digest for row in rows for digest in row["image_sha256"]}),
        "gold_yes_rate": sum(row["gold"] == "A" for row in two_option) / len(two_option) if two_option else None,
    }


# -- Baselines --------------------------------------------------------------------------------------------------------


def baseline_choices(doc: Mapping[str, Any]) -> list[str]:
    """The answers a baseline may give, in the order shown."""
    return [option["id"] for option in doc["options"]]


def baseline_reply(doc: Mapping[str, Any], choice: str) -> str:
    """A choice in the task's own answer format."""
    return json.dumps({"answer": choice, "reason": "baseline", "confidence": "low"})
