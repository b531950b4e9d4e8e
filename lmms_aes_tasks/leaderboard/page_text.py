"""Words of the page: names of benchmarks and metrics, how a figure is written, and what is done to foreign text."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from dataclasses import dataclass

from lmms_aes_tasks.board.schema import Metric, Status
from lmms_aes_tasks.utils.unicode_text import well_formed

STATUS_TEXT: dict[Status, tuple[str, str]] = {
    "recomputed": ("✔ recomputed", "scored again from the submitted responses, with the same result"),
    "self-reported": ("self-reported", "stated by the submitter; nobody has computed it again"),
    "published": ("published", "printed in a paper; not computed by us"),
}
"""A status as it is shown, and what it means."""


@dataclass(frozen=True)
class Family:
    """Tasks whose rows are comparable, hence share a table: a task and its variants (`<task>_<variant>`).

    Attributes:
        task: Name of the main task.
        title: Heading of the table.
        primary: Metric that rows are sorted by.
    """

    task: str
    title: str
    primary: str = ""


@dataclass(frozen=True)
class Benchmark:
    """A benchmark as the page names it.

    Attributes:
        name: As in the board.
        title: Printed name.
        summary: One sentence.
        families: Its tables, in order; a task of none of them gets a table of its own.
    """

    name: str
    title: str
    summary: str
    families: tuple[Family, ...] = ()


BENCHMARKS = (
    Benchmark(
        "contextcanvas",
        "ContextCanvas",
        "Is this image right for this use? Judging cultural and practical suitability beside beauty.",
        (Family("contextcanvas", "Suitability judgements", "accuracy"),),
    ),
    Benchmark(
        "critiquecanvas",
        "CritiqueCanvas",
        "Long critiques of photographs, paintings and virtual images, against expert references.",
        (Family("critiquecanvas", "Critiques", "rouge_l"),),
    ),
    Benchmark(
        "vab",
        "Visual Aesthetic Benchmark",
        "Choosing the best and the worst image of a set, in three orders.",
        (
            Family("vab_tb1", "TB-1: the best and the worst", "pass^3"),
            Family("vab_top1", "Top-1: the best", "pass^3"),
            Family("vab_bot1", "Bot-1: the worst", "pass^3"),
        ),
    ),
    Benchmark(
        "fineartbench",
        "FineArtBench 2AFC",
        "Which of two stylised paintings is better, and how far the resulting rankings agree with experts'.",
        (
            Family("fineartbench_2afc_global", "Artist level: methods ranked over all tasks", "artist_bt_rho_official"),
            Family("fineartbench_2afc_instance", "Task level: paintings ranked within a task", "task_bt_rho_official"),
        ),
    ),
)

_PROTOCOLS = {"official": "the authors' protocol", "aligned": "joined by id, ties share ranks"}
_LEVELS = {"artist": "Artist", "task": "Task"}
_RATINGS = {"elo": "Elo", "bt": "Bradley–Terry"}

METRIC_TEXT: dict[str, tuple[str, str]] = {
    "pass^3": ("pass^3", "share of sets answered right in all three orders"),
    "ap@1": ("ap@1", "share answered right, mean over the three orders"),
    **{
        f"{part}_{metric}": (f"{name} {metric}", f"the {part} image alone: {meaning}")
        for part, name in (("best", "Best"), ("worst", "Worst"))
        for metric, meaning in (
            ("pass^3", "share of sets answered right in all three orders"),
            ("ap@1", "share answered right, mean over the three orders"),
        )
    },
    "accuracy": ("Accuracy", "share of cases answered right"),
    "macro_f1": ("Macro-F1", "mean of the F1 of Yes and of No, two-option cases"),
    "yes_rate": ("Yes rate", "share of Yes among two-option cases; 38.14% of ContextCanvas's gold labels are Yes"),
    "yes_f1": ("Yes F1", "F1 of the answer Yes"),
    "no_f1": ("No F1", "F1 of the answer No"),
    "bleu": ("BLEU", "corpus BLEU against the reference"),
    "rouge_l": ("ROUGE-L", "longest common subsequence with the reference"),
    "meteor": ("METEOR", "aligned words, with stems and synonyms"),
    "bert_f1": ("BERT-F1", "BERTScore F1 against the reference"),
    "sbert_cos": ("SBERT-Cos", "cosine of sentence embeddings with the reference"),
    "clip_cos": ("CLIPScore", "cosine of critique and image"),
    "human_rating": ("Human rating", "mean rating by people, 1 to 5, on 100 critiques"),
    "judge_rating": ("MLLM rating", "mean rating by a model as judge, 1 to 5"),
    "avg_length": ("Length", "mean number of words"),
    "len_ref": ("Len/Ref", "mean length over the references' mean length"),
    "dim_hits": ("DimHits", "mean number of aesthetic dimensions addressed"),
    "density": ("Density", "aesthetic terms per 100 words"),
    "prompt_align": ("Prompt align", "share of focused prompts whose every dimension is addressed"),
    "empty_rate": ("Empty", "share of empty critiques"),
    "truncated_rate": ("Truncated", "share of critiques cut off"),
    "wordless_rate": ("Wordless", "share of critiques with text and no word"),
    "order_flip_rate": ("Order flips", "share of sets whose chosen image changes with the order"),
    "position_p": ("Position p", "p of the hypothesis that the model chooses every position alike (chi-square)"),
    "share": ("Share", "share of answers that were read"),
    **{
        f"{level}_{rating}_rho_{protocol}": (
            f"{_LEVELS[level]} {_RATINGS[rating]} ρ, {protocol}",
            f"Spearman correlation of the {_RATINGS[rating]} ranking with experts', {meaning}",
        )
        for level in _LEVELS
        for rating in ("bt", "elo")
        for protocol, meaning in _PROTOCOLS.items()
    },
    "pair_agreement": ("Pair agreement", "share of pairs decided as by experts"),
    "left_rate": ("Left rate", "share of answers for the left painting"),
    "ega": ("Grounded accuracy", "right, with the decisive cue named and linked to the use"),
    "unsupported": ("Unsupported", "share of right answers without the decisive cue"),
    "ncu": ("Net correct update", "right less wrong changes of the answer, over pairs"),
    "parse_rate": ("Parsed", "share of responses an answer could be read from"),
    "strict_parse_rate": ("Parsed strictly", "share of responses in exactly the form asked for"),
    "incomplete_tasks": ("Incomplete sets", "sets left out of pass^3, with fewer than three orders"),
    "missing_pairs": ("Missing pairs", "pairs that were not judged"),
}
"""Printed name and meaning by metric, in the order of the columns."""

BREAKDOWN_TEXT = {
    "domain": "Domain",
    "substyle": "Substyle",
    "n_options": "Options of the case",
    "n_images": "Images in the set",
    "artist": "Artist",
    "chosen_position": "Chosen position",
    "category": "Category",
    "task_kind": "Kind of task",
    "visual information": "Visual information",
    "counterfactual": "Counterfactual pairs",
    "grounding": "Decisive-cue grounding",
}

_UNIT_SUFFIX = {"fraction": "%", "words": "words", "per 100 words": "per 100 words", "rating": "1–5"}
_DIGITS = {"fraction": 2, "words": 2, "per 100 words": 2, "dimensions": 2, "rating": 2}

# Controls that no reader sees but that reorder, hide or break the text around them.
_INVISIBLE = re.compile(r"[\u061c\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2060-\u2069\ufeff\ufff9-\uffff]")


def shown(text: str) -> str:
    r"""Foreign text as it may be shown: on one line, and with every control character visible as a replacement mark.

    Escaping is the template's work; this is about text that deceives the eye.

    >>> shown("gpt\u202e4\n o")
    'gpt\ufffd4 o'
    """
    flat = " ".join(_INVISIBLE.sub("\ufffd", well_formed(text)).split())
    return "".join("\ufffd" if unicodedata.category(char) in {"Cc", "Cn", "Co"} else char for char in flat)


def split_name(model: str) -> tuple[str, str]:
    """Organisation with its slash, and name, of ORG/NAME; anything else is all name.

    >>> split_name("org/model"), split_name("GPT-5.2")
    (('org/', 'model'), ('', 'GPT-5.2'))
    """
    organisation, slash, name = model.partition("/")
    return (organisation + slash, name) if organisation and name and "/" not in name else ("", model)


def short(text: str, width: int) -> str:
    """The text, cut in the middle to at most `width` characters: both ends of a model's name tell it apart.

    >>> short("organisation/model-7b-instruct", 13)
    'organi…struct'
    """
    if len(text) <= width:
        return text
    tail = (width - 1) // 2
    return f"{text[: width - 1 - tail]}…{text[-tail:]}"


def slug(readable: str, identity: str) -> str:
    """A file name that no text can turn into anything else: lower-case letters, digits, hyphens, and a digest.

    >>> slug("Org/../My Model<script>", "x")
    'org-my-model-script-2d711642b7'
    """
    plain = re.sub(r"[^a-z0-9]+", "-", readable.lower()).strip("-")[:48].strip("-")
    digest = hashlib.sha256(identity.encode("utf-8", "replace")).hexdigest()[:10]
    return f"{plain}-{digest}" if plain else digest


_VARIANTS = {"cot": "CoT", "artcot": "ArtCoT"}


def variant_label(name: str) -> str:
    """A variant's printed name; empty for the main task.

    >>> variant_label("artcot_no_style")
    'ArtCoT no style'
    """
    return " ".join(_VARIANTS.get(word, word) for word in name.split("_"))


def metric_label(name: str) -> str:
    """A metric's printed name."""
    return METRIC_TEXT[name][0] if name in METRIC_TEXT else shown(name).replace("_", " ")


def metric_meaning(name: str) -> str:
    """What a metric is; empty for one that the page does not know."""
    return METRIC_TEXT[name][1] if name in METRIC_TEXT else ""


def metric_place(name: str) -> tuple[int, str]:
    """Sorts metrics into the order of the columns: known ones first."""
    known = list(METRIC_TEXT)
    return (known.index(name) if name in METRIC_TEXT else len(known), name)


def breakdown_label(name: str) -> str:
    """A breakdown's heading."""
    return BREAKDOWN_TEXT.get(name, shown(name).replace("_", " ").capitalize())


def unit_suffix(metric: Metric) -> str:
    """What stands behind a column's name."""
    return _UNIT_SUFFIX.get(metric.unit, "")


def number(value: float, unit: str) -> str:
    """A figure as text: shares as percent with two decimals, counts without any, the rest with three.

    A p-value below 0.001 is told as such.

    >>> number(0.9169, "fraction"), number(-0.333, "rho"), number(12.0, "count")
    ('91.69', '−0.333', '12')
    """
    if unit == "p" and value < 0.001:
        return "< 0.001"
    if unit == "fraction":
        value *= 100
    digits = 0 if unit == "count" and value == int(value) else _DIGITS.get(unit, 3)
    text = f"{value:.{digits}f}"
    if float(text) == 0:
        text = text.lstrip("-")
    return text.replace("-", "−")


def interval(metric: Metric) -> str:
    """The 95% interval as text; empty where there is none."""
    if metric.low is None or metric.high is None:
        return ""
    return f"[{number(metric.low, metric.unit)}, {number(metric.high, metric.unit)}]"


def direction(metric: Metric) -> tuple[str, str]:
    """Arrow and words for the better direction; empty where neither is better."""
    if metric.higher_is_better is None:
        return "", ""
    return ("↑", "higher is better") if metric.higher_is_better else ("↓", "lower is better")
