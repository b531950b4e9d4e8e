"""Scoring critiques outside the harness: in processes, with intervals, by domain, and two models beside each other."""

from __future__ import annotations

import functools
import math
import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from lmms_aes_tasks.board.late import LateValues
from lmms_aes_tasks.critiquecanvas.items import (
    EMBEDDING_METRICS,
    LEXICAL_METRICS,
    METRICS,
    CritiqueItem,
    entering,
    lexicon,
    score_critique,
)
from lmms_aes_tasks.critiquecanvas.task import SCHEMA
from lmms_aes_tasks.records import IMAGES_COLUMN, Import, canonical_rows, file_stream, image_bytes, is_canonical
from lmms_aes_tasks.utils.critique_style import PARTIAL_METRICS, STYLE_METRICS, style_sums
from lmms_aes_tasks.utils.embedding_values import Progress, mean_value
from lmms_aes_tasks.utils.sums import (
    Floats,
    Statistic,
    SumDifference,
    SumScore,
    bleu,
    difference_of_sums,
    finite,
    ratio,
    score_of_sums,
)
from lmms_aes_tasks.utils.text_metrics import MAX_ORDER
from lmms_aes_tasks.utils.wordnet import Lexicon

_CHUNK = 50
"""Critiques that a process gets at once."""
_WORTH_PROCESSES = 400
"""Fewer critiques are scored in less time than processes take to start and load WordNet."""
_ITEM_METRICS = ("rouge_l", "meteor", *EMBEDDING_METRICS)
"""Metrics with a value of each critique's own."""


# -- Cases ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """What a critique is scored against.

    Attributes:
        id: Id of the record.
        domain: Its domain; empty when it names none.
        instruction: The record's; empty where only its focus is known.
        reference: The reference.
        image: Gives the image file's content; None where it is not at hand.
        focus: Dimensions that the instruction names, where a run says so; read from the instruction when None.
    """

    id: str
    domain: str
    instruction: str
    reference: str
    image: Callable[[], bytes] | None = None
    focus: tuple[str, ...] | None = None


class _ParquetImages:
    """Images of a canonical file by row, one row group in memory at a time; read in the order of the rows."""

    def __init__(self, path: Path) -> None:
        import pyarrow.parquet as pq

        self._file = pq.ParquetFile(path)
        sizes = [self._file.metadata.row_group(group).num_rows for group in range(self._file.num_row_groups)]
        self._ends = np.cumsum(sizes)
        self._group = functools.lru_cache(maxsize=1)(self._read)

    def _read(self, group: int) -> Any:
        return self._file.read_row_group(group, columns=[IMAGES_COLUMN]).column(IMAGES_COLUMN)

    def content(self, row: int) -> bytes:
        group = int(np.searchsorted(self._ends, row, side="right"))
        first = 0 if group == 0 else int(self._ends[group - 1])
        content: bytes = self._group(group)[row - first].as_py()[0]["bytes"]
        return content


def _canonical_cases(path: Path) -> Iterator[Case]:
    import pyarrow.parquet as pq

    images = _ParquetImages(path)
    names = ["id", "domain", "instruction", "reference"]
    for row, fields in enumerate(pq.read_table(path, columns=names).to_pylist()):
        image = functools.partial(images.content, row)
        yield Case(fields["id"], fields["domain"], fields["instruction"], fields["reference"], image)


def _raw_cases(path: Path) -> Iterator[Case]:
    report = Import()
    rows = list(canonical_rows(file_stream(path), SCHEMA, report, images=False))
    report.raise_problems(str(path))
    for row in rows:
        paths = row[IMAGES_COLUMN]
        image = functools.partial(image_bytes, paths[0], path.parent) if paths else None
        yield Case(row["id"], row["domain"], row["instruction"], row["reference"], image)


def read_cases(path: Path) -> dict[str, Case]:
    """The cases of a file of records, canonical or as it came, by id and in its order; no image is read yet.

    Raises:
        SourceError: A record is not sound.
    """
    cases = _canonical_cases(path) if is_canonical(path, SCHEMA) else _raw_cases(path)
    return {case.id: case for case in cases}


# -- Lexical values in processes --------------------------------------------------------------------------------------


def _score_case(case: Case, response: str, words: Lexicon) -> CritiqueItem:
    item = score_critique(case.id, case.domain, response, case.reference, case.instruction, words)
    return item if case.focus is None else replace(item, style=replace(item.style, focus=case.focus))


def _score(chunk: Sequence[tuple[Case, str]]) -> list[CritiqueItem]:
    words = lexicon()
    return [_score_case(case, response, words) for case, response in chunk]


def score_critiques(
    answered: Sequence[tuple[Case, str]], processes: int | None = None, progress: Progress | None = None
) -> list[CritiqueItem]:
    """Lexical values and style of responses, in the order given.

    Args:
        answered: (case, response).
        processes: How many; as many as there are cores when None, and one for a few hundred critiques.
        progress: How it is shown; not at all when None.

    Raises:
        WordNetError: WordNet is missing.
    """
    plain = [(replace(case, image=None), response) for case, response in answered]
    chunks = [plain[start : start + _CHUNK] for start in range(0, len(plain), _CHUNK)]
    count = min(processes or os.cpu_count() or 1, len(chunks))
    found: list[CritiqueItem] = []
    with (progress or Progress()).bar(len(plain)) as bar:
        if count < 2 or (processes is None and len(plain) < _WORTH_PROCESSES):
            for chunk in chunks:
                found += _score(chunk)
                bar.update(len(chunk))
            return found
        # spawned, not forked: a process that has started threads (PyTorch, tqdm) must not be copied
        with ProcessPoolExecutor(count, mp_context=multiprocessing.get_context("spawn")) as pool:
            for items in pool.map(_score, chunks):
                found += items
                bar.update(len(items))
    return found


# -- Metrics with intervals -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Scored:
    """Critiques of one model, scored.

    Attributes:
        items: Lexical values and style, sorted by id.
        late: What the encoders gave, NaN where an image does not decode.
    """

    items: tuple[CritiqueItem, ...]
    late: LateValues = field(default_factory=LateValues)

    def embedded(self, metric: str) -> Floats:
        """Values of an embedding metric in the items' order; NaN where there is none."""
        by_id = self.late.values[metric]
        return np.array([by_id.get(item.id, np.nan) for item in self.items], np.float64)

    def where(self, keep: Callable[[CritiqueItem], bool]) -> Scored:
        """The part of the items that is kept."""
        return Scored(tuple(item for item in self.items if keep(item)), self.late)


def items_of_metric(scored: Scored, metric: str) -> tuple[Floats, Statistic]:
    """What each critique adds to a metric, of shape (n, k), and the statistic of these sums.

    A critique that does not enter the metric (no dimension asked for, an image that does not decode) adds 0 to both.

    Raises:
        ValueError: The metric is unknown or was not computed.
    """
    if metric == "bleu":
        rows = [item.lexical.bleu.as_list() for item in scored.items]
        return np.array(rows, np.float64).reshape(len(rows), 2 + 2 * MAX_ORDER), bleu
    if metric in STYLE_METRICS:
        sums = style_sums([item.style for item in scored.items], metric)
        return np.where(_asked(scored, metric)[:, None], sums, 0.0), ratio
    if metric in ("rouge_l", "meteor"):
        values = np.array([getattr(item.lexical, metric) for item in scored.items], np.float64)
    elif metric in scored.late.values:
        values = scored.embedded(metric)
    else:
        raise ValueError(f"metric {metric!r} is unknown or was not computed: use one of {', '.join(METRICS)}")
    known = ~np.isnan(values)
    return np.stack([np.where(known, values, 0.0), known.astype(np.float64)], axis=-1), ratio


def _asked(scored: Scored, metric: str) -> npt.NDArray[np.bool_]:
    """Which critiques a metric counts: all, and in a statistic of style those whose request did not fail."""
    there = {item.id for item in entering(scored.items, metric)}
    return np.array([item.id in there for item in scored.items], np.bool_)


def _entering(scored: Scored, items: Floats, metric: str) -> npt.NDArray[np.bool_]:
    """Which critiques enter a metric: all, but for those that it does not ask about, as unfocused prompts."""
    if metric in (*PARTIAL_METRICS, *EMBEDDING_METRICS):
        return np.asarray(items[:, 1] != 0, np.bool_)
    return _asked(scored, metric)


def metric_score(scored: Scored, metric: str, resamples: int = 0, seed: int = 0) -> SumScore:
    """One metric over the critiques, with its interval.

    Raises:
        ValueError: The metric is unknown or was not computed.
    """
    items, statistic = items_of_metric(scored, metric)
    counted = items[_entering(scored, items, metric)]
    score = score_of_sums(counted, statistic, resamples, seed)
    if metric in EMBEDDING_METRICS and score.n:
        return replace(score, value=mean_value(counted[:, 0]))
    return score


@dataclass(frozen=True)
class CritiqueDifference:
    """A metric of a second model minus that of a first one, over the critiques that enter it for both.

    Attributes:
        difference: Second minus first, with its interval.
        better: Critiques where the second has the higher value; None for metrics that have none of each critique.
        worse: Critiques where the first has it; None likewise.
    """

    difference: SumDifference
    better: int | None = None
    worse: int | None = None


_SAME_VALUE = 1e-6
"""Two critiques' values that are closer are equal: an encoder's last digits hang on the processor."""


def paired_difference(
    first: Scored, second: Scored, metric: str, resamples: int = 10_000, seed: int = 0
) -> CritiqueDifference:
    """Second minus first on one metric; critiques are resampled in pairs.

    Raises:
        ValueError: The two are not over the same ids, or the metric was not computed for both.
    """
    if [item.id for item in first.items] != [item.id for item in second.items]:
        raise ValueError("the two are over different ids: compare predictions of the same cases")
    ones, statistic = items_of_metric(first, metric)
    twos, _ = items_of_metric(second, metric)
    both = _entering(first, ones, metric) & _entering(second, twos, metric)
    ones, twos = ones[both], twos[both]
    difference = difference_of_sums(ones, twos, statistic, resamples, seed)
    if metric not in _ITEM_METRICS or not difference.n:
        return CritiqueDifference(difference)
    gaps = twos[:, 0] - ones[:, 0]
    return CritiqueDifference(difference, int((gaps > _SAME_VALUE).sum()), int((gaps < -_SAME_VALUE).sum()))


# -- Per item ---------------------------------------------------------------------------------------------------------


def per_item(scored: Scored) -> Iterator[dict[str, Any]]:
    """One object an item: its record and its embedding values, by id."""
    from lmms_aes_tasks.critiquecanvas.items import record_of

    for item in scored.items:
        values = {name: finite(by_id.get(item.id, math.nan)) for name, by_id in scored.late.values.items()}
        yield record_of(item) | values


def embed_all(answered: Sequence[tuple[Case, str]], metrics: Sequence[str], shown: bool = False) -> LateValues:
    """Embedding metrics of texts, NaN where an image does not decode.

    Args:
        answered: (case, text of the critique) in the order of the data, so that images are read in it, too.
        metrics: Of `EMBEDDING_METRICS`.
        shown: Whether progress bars are drawn.
    """
    from lmms_aes_tasks.critiquecanvas.encoders import EmbeddingCase, embed, embedding_store, encoders_in_environment
    from lmms_aes_tasks.utils.embeddings import EncoderError

    values: dict[str, dict[str, float]] = {}
    encoders: dict[str, str] = {}
    missing: dict[str, str] = {}
    problems: list[str] = []
    cases = [EmbeddingCase(case.id, text, case.reference, case.image) for case, text in answered]
    for metric in metrics:
        try:
            found = embed(metric, cases, encoders_in_environment(), embedding_store(), shown)
        except EncoderError as error:
            missing[metric] = str(error)
            continue
        values[metric] = {case.id: float(value) for case, value in zip(cases, found.values, strict=True)}
        encoders[metric] = found.encoder
        problems += found.problems
    return LateValues(values, missing, encoders, tuple(problems))


def score_model(
    answered: Sequence[tuple[Case, str]],
    metrics: Sequence[str] = METRICS,
    processes: int | None = None,
    shown: bool = False,
) -> Scored:
    """Score one model's responses.

    Args:
        answered: (case, response) in the order of the data.
        metrics: Of `METRICS`; embedding metrics are computed only when named.
        processes: For the lexical values.
        shown: Whether progress bars are drawn.

    Raises:
        WordNetError: WordNet is missing.
    """
    from lmms_aes_tasks.critiquecanvas.items import critique_text

    items = score_critiques(answered, processes, Progress(shown, "lexical"))
    wanted = [name for name in EMBEDDING_METRICS if name in metrics]
    texts = [(case, critique_text(response)) for case, response in answered] if wanted else []
    return Scored(tuple(sorted(items, key=lambda item: item.id)), embed_all(texts, wanted, shown))


def computed(scored: Scored, metrics: Sequence[str] = METRICS) -> list[str]:
    """Those of the metrics that there are values for, in the order of `METRICS`."""
    there = {*LEXICAL_METRICS, *STYLE_METRICS, *scored.late.values}
    return [name for name in METRICS if name in metrics and name in there]
