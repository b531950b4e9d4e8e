"""The Visual Aesthetic Benchmark: best and worst of 2 to 6 images, in three orders (sections 3 and 4).

Documents, prompts, messages, record and metrics. Each task of the data becomes three adjacent documents, one a trial,
whose images are shown in the order of `utils.permutations`; answers are mapped back before they are scored.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lmms_aes_tasks import sources
from lmms_aes_tasks.records import IMAGES_COLUMN
from lmms_aes_tasks.settings import load_prompt, read_settings
from lmms_aes_tasks.utils import selection
from lmms_aes_tasks.utils.aggregations import aggregation
from lmms_aes_tasks.utils.answers import PARSER_VERSION, SetAnswer, parse_set
from lmms_aes_tasks.utils.images import fit_image, load_image
from lmms_aes_tasks.utils.permutations import TRIALS, trial_permutations
from lmms_aes_tasks.utils.reply_facts import REPLY_METRICS, failed_requests, reasoning_rate, reply_facts
from lmms_aes_tasks.utils.selection import Trial
from lmms_aes_tasks.utils.sums import SumScore
from lmms_aes_tasks.vab.prompts import PROMPT_IDS, PROMPT_TYPES, Settings, order_note, rubrics
from lmms_aes_tasks.vab.schema import SCHEMA as SCHEMA
from lmms_aes_tasks.vab.schema import label, labels_of
from lmms_aes_tasks.vab.schema import normalise_task as normalise_task

if TYPE_CHECKING:
    import datasets
    from PIL.Image import Image


# -- Documents --------------------------------------------------------------------------------------------------------


def asked(question: str, n_images: int) -> str:
    """The prompt type with which a question is asked of a set of this size."""
    return "pick_best" if question == "tb1" and n_images == 2 else PROMPT_TYPES[question]


def expand(tasks: datasets.Dataset, question: str) -> datasets.Dataset:
    """Three adjacent documents a task, without copying an image.

    Each trial is the same memory-mapped table with small columns beside it; the three are chained, and an index brings
    a task's trials together.
    """
    import datasets

    tasks = tasks.rename_column("id", "task_id")
    permutations = [trial_permutations(*pair) for pair in zip(tasks["task_id"], tasks["n_images"], strict=True)]
    types = [asked(question, n_images) for n_images in tasks["n_images"]]
    per_trial = [
        tasks.add_column("id", [f"{task_id}#{trial}" for task_id in tasks["task_id"]])
        .add_column("trial", [trial] * len(tasks))
        .add_column("permutation", [own[trial] for own in permutations])
        .add_column("question", [question] * len(tasks))
        .add_column("prompt_type", types)
        for trial in range(TRIALS)
    ]
    order = [trial * len(tasks) + task for task in range(len(tasks)) for trial in range(TRIALS)]
    return datasets.concatenate_datasets(per_trial).select(order)


def documents_top1(cards: datasets.Dataset) -> datasets.Dataset:
    """`process_docs` of Top-1: the best image."""
    return expand(sources.documents(cards), "top1")


def documents_bot1(cards: datasets.Dataset) -> datasets.Dataset:
    """`process_docs` of Bot-1: the worst image."""
    return expand(sources.documents(cards), "bot1")


def documents_tb1(cards: datasets.Dataset) -> datasets.Dataset:
    """`process_docs` of TB-1: the best and the worst image."""
    return expand(sources.documents(cards), "tb1")


# -- What the model sees ----------------------------------------------------------------------------------------------


def doc_to_text(doc: Mapping[str, Any], lmms_eval_specific_kwargs: Mapping[str, Any] | None = None) -> str:
    """The instruction with the labels; it says which image is which, and nothing of the order they were given in."""
    settings = read_settings(Settings, lmms_eval_specific_kwargs)
    prompt_type = doc["prompt_type"]
    derived = doc["question"] == "tb1" and prompt_type == "pick_best"
    file = settings.pair_prompt_file if derived else settings.prompt_file
    required = ("labels", "rubric") if settings.rubric else ("labels",)
    labels = labels_of(doc["n_images"])
    domain_rubric = rubrics().get(doc["domain"], rubrics()["default"])
    body = load_prompt(PROMPT_IDS[prompt_type], file, required).render(
        {
            "n": str(doc["n_images"]),
            "labels": ", ".join(labels),
            "options": "\n".join(f"{name}. Image {name}" for name in labels),
            "order": order_note(doc["n_images"]),
            "rubric": f"\n{domain_rubric}\n" if settings.rubric else "",
        }
    )
    return f"{settings.pre_prompt}{body}{settings.post_prompt}"


def doc_to_visual(doc: Mapping[str, Any], lmms_eval_specific_kwargs: Mapping[str, Any] | None = None) -> list[Image]:
    """The images in the order of this trial, upright 8-bit RGB; decoded here and nowhere before."""
    settings = read_settings(Settings, lmms_eval_specific_kwargs)
    cells = doc[IMAGES_COLUMN]
    return [
        fit_image(
            load_image(cells[given]["bytes"], f"{doc['task_id']}, image {label(given)}", settings.icc),
            settings.image_fit,
            settings.image_size,
        )
        for given in doc["permutation"]
    ]


def doc_to_messages(
    doc: Mapping[str, Any], lmms_eval_specific_kwargs: Mapping[str, Any] | None = None
) -> list[dict[str, Any]]:
    """The instruction, then each image after its label (appendix H.3)."""
    content: list[dict[str, Any]] = [{"type": "text", "text": doc_to_text(doc, lmms_eval_specific_kwargs)}]
    for position, image in enumerate(doc_to_visual(doc, lmms_eval_specific_kwargs)):
        content.append({"type": "text", "text": f"Image {label(position)}:"})
        content.append({"type": "image", "url": image})
    return [{"role": "user", "content": content}]


def gold_of(question: str, best: str, worst: str) -> tuple[str, ...]:
    """The right labels of a question, as given."""
    return {"top1": (best,), "bot1": (worst,), "tb1": (best, worst)}[question]


def doc_to_target(doc: Mapping[str, Any]) -> str:
    """The right labels as shown in this trial, in the order in which they are asked; of two images only the best."""
    gold = gold_of(doc["question"], doc["ground_truth_best"], doc["ground_truth_worst"])
    shown = [label(doc["permutation"].index(ord(name) - ord("A"))) for name in gold]
    return ",".join(shown[:1] if doc["prompt_type"] == "pick_best" else shown)


# -- Scoring ----------------------------------------------------------------------------------------------------------


def _answer(question: str, shown: Mapping[str, str], n_images: int) -> tuple[str, ...]:
    """The labels read, as shown, in the form of the question; TB-1 of two images is completed by the other one."""
    if question == "tb1" and "worst" not in shown:
        other = next(name for name in labels_of(n_images) if name != shown["best"])
        return shown["best"], other
    return tuple(shown[name] for name in {"top1": ("best",), "bot1": ("worst",), "tb1": ("best", "worst")}[question])


def read_trial(
    task: Mapping[str, Any], question: str, trial: int, permutation: Sequence[int], response: str
) -> tuple[Trial, SetAnswer]:
    """Parse one response, map it back to the given labels: the one path of harness and offline scorer.

    Args:
        task: `task_id`, `n_images`, `ground_truth_best`, `ground_truth_worst`, `domain`, `substyle`.
        question: `top1`, `bot1` or `tb1`.
        trial: Number of the order.
        permutation: `permutation[shown] = given`.
        response: The reply.
    """
    n_images = task["n_images"]
    parsed = parse_set(response, asked(question, n_images), labels_of(n_images))
    answer = positions = None
    if parsed.labels is not None:
        shown = _answer(question, parsed.labels, n_images)
        positions = tuple(ord(name) - ord("A") for name in shown)
        answer = tuple(label(permutation[position]) for position in positions)
    made = Trial(
        task_id=task["task_id"],
        trial=trial,
        n_images=n_images,
        answer=answer,
        gold=gold_of(question, task["ground_truth_best"], task["ground_truth_worst"]),
        positions=positions,
        strict=parsed.strict is not None,
        domain=task["domain"],
        substyle=task["substyle"],
        reply=reply_facts(response),
    )
    return made, parsed


def process_results(doc: Mapping[str, Any], results: Sequence[str]) -> dict[str, Any]:
    """One trial's record and, for each metric, the trial.

    Returns:
        `record` (readable, enough to score again with the response), `score` (0 or 1), and the trial under every
        metric's name.
    """
    response = results[0] if results and isinstance(results[0], str) else ""
    trial, parsed = read_trial(doc, doc["question"], doc["trial"], doc["permutation"], response)
    record = {
        "id": str(doc["id"]),
        "task_id": trial.task_id,
        "trial": trial.trial,
        "question": doc["question"],
        "prompt_type": doc["prompt_type"],
        "permutation": list(doc["permutation"]),
        "domain": trial.domain,
        "substyle": trial.substyle,
        "n_images": trial.n_images,
        "parsed": parsed.labels,
        "answer": None if trial.answer is None else list(trial.answer),
        "gold": list(trial.gold),
        "ground_truth_best": doc["ground_truth_best"],
        "ground_truth_worst": doc["ground_truth_worst"],
        "rule": parsed.rule,
        **trial.reply.as_record(),
        "parser": PARSER_VERSION,
    }
    return {
        "record": record,
        "score": float(trial.correct),
        "ap@1": trial,
        "pass^3": trial,
        "parse_rate": trial,
        "strict_parse_rate": trial,
        "order_flip_rate": trial,
        "incomplete_tasks": trial,
        **dict.fromkeys(REPLY_METRICS, trial),
    }


def _aggregation(
    metric: str, meaning: str, score: Callable[[Iterable[Trial]], SumScore]
) -> Callable[[Iterable[Trial]], float | None]:
    return aggregation(__name__, metric, meaning, lambda items: score(items).value)


aggregate_ap_at_1 = _aggregation("ap_at_1", "Share of trials right.", selection.ap_at_1)
aggregate_pass_pow_3 = _aggregation(
    "pass_pow_3", "Share of complete tasks right in all three trials; None when there is none.", selection.pass_pow_3
)
aggregate_parse_rate = _aggregation("parse_rate", "Share of trials whose answer was read.", selection.parse_rate)
aggregate_strict_parse_rate = _aggregation(
    "strict_parse_rate",
    "Share of trials whose answer the authors' own rule reads.",
    functools.partial(selection.parse_rate, strict=True),
)
aggregate_order_flip_rate = _aggregation(
    "order_flip_rate",
    "Share of complete tasks whose choice changes with the order; None when there is none.",
    selection.order_flip_rate,
)

aggregate_failed_requests = aggregation(__name__, "failed_requests", "Number of requests that failed.", failed_requests)
aggregate_reasoning_rate = aggregation(
    __name__, "reasoning_rate", "Share of replies with reasoning; None without a reply.", reasoning_rate
)


def aggregate_incomplete_tasks(items: Iterable[Trial]) -> float:
    """Number of tasks that lack a trial and are left out of pass^3, said aloud when there are any."""
    found = selection.incomplete_tasks(items)
    if found:
        from loguru import logger

        logger.warning(
            f"vab: {len(found)} task(s) lack one of their {TRIALS} trials and are left out of pass^3 and "
            f"order_flip_rate: {', '.join(found[:10])}{' …' if len(found) > 10 else ''}"
        )
    return float(len(found))


# -- Counts and baselines ---------------------------------------------------------------------------------------------


def count_cases(rows: Sequence[Mapping[str, Any]]) -> dict[str, float | None]:
    """Counts of a data set, under the names of the card's `expected`."""
    counts: dict[str, float | None] = {"tasks": len(rows), "images": sum(row["n_images"] for row in rows)}
    counts |= {f"tasks of {n}": sum(row["n_images"] == n for row in rows) for n in range(2, 7)}
    return counts | {"substyles": len({(row["domain"], row["substyle"]) for row in rows})}


def baseline_choices(doc: Mapping[str, Any]) -> list[str]:
    """The answers a baseline may give, as shown: labels, or ordered pairs of them."""
    labels = labels_of(doc["n_images"])
    if doc["prompt_type"] != "pick_best_and_worst":
        return labels
    return [f"{best},{worst}" for best in labels for worst in labels if best != worst]


def baseline_reply(doc: Mapping[str, Any], choice: str) -> str:
    """A choice in the task's own answer format."""
    names = {"pick_best": ["BEST"], "pick_worst": ["WORST"], "pick_best_and_worst": ["BEST", "WORST"]}
    return "\n".join(f"{name}: {one}" for name, one in zip(names[doc["prompt_type"]], choice.split(","), strict=True))
