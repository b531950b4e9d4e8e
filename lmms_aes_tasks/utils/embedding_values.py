"""Values of critiques by neural encoders: BERT-F1, SBERT-Cos and CLIP cosine (AesCanvas, S2.3.2, S8, S9).

Each distinct text is encoded once; reference texts and images are kept in a store, so that no later scoring encodes
them again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from lmms_aes_tasks.utils.embeddings import ClipEncoder, TextEncoder
from lmms_aes_tasks.utils.vector_store import Array, VectorStore, content_key

if TYPE_CHECKING:
    from PIL.Image import Image

_BATCH_IMAGES = 32
_GROUP = 256
"""Items whose values are kept at once: what an interruption can lose."""


def bert_f1(prediction: Array, reference: Array) -> float:
    """BERTScore's F of two texts: greedy cosine matches in both directions (Zhang et al. 2020).

    Args:
        prediction: Matrix of `BertEncoder`.
        reference: Likewise.

    Returns:
        2PR/(P + R); 0 where it is not defined.
    """
    weights, wanted = prediction[:, -1], reference[:, -1]
    if not weights.any() or not wanted.any():
        return 0.0
    similarity = prediction[:, :-1] @ reference[:, :-1].T
    precision = float(np.average(similarity.max(axis=1), weights=weights))
    recall = float(np.average(similarity.max(axis=0), weights=wanted))
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def mean_value(values: Iterable[float]) -> float:
    """Mean of items' values, of at least one: summed without rounding, so that no order and no grouping changes it."""
    numbers = [float(value) for value in values]
    return math.fsum(numbers) / len(numbers)


def cosine(first: Array, second: Array) -> float:
    """Cosine of two vectors of unit length, raw: neither cut at 0 nor scaled (S8, S9)."""
    return float(np.dot(first[0].astype(np.float64), second[0].astype(np.float64)))


@dataclass(frozen=True)
class Progress:
    """How a long step is shown.

    Attributes:
        shown: Whether a bar is drawn.
        label: What is counted.
    """

    shown: bool = False
    label: str = ""

    def bar(self, total: int) -> Any:
        """A progress bar over `total` items."""
        from tqdm import tqdm

        return tqdm(total=total, desc=self.label, unit=" items", disable=not self.shown or not total)


def keep_references(encoder: TextEncoder, texts: Iterable[str], store: VectorStore, progress: Progress) -> None:
    """Encode those of the texts that the store does not hold yet, each once, and keep them."""
    keys = {content_key("text", encoder.identity, text): text for text in texts}
    known = store.known(list(keys))
    missing = sorted((key for key in keys if key not in known), key=lambda key: (len(keys[key]), keys[key]))
    with progress.bar(len(missing)) as bar:
        for start in range(0, len(missing), _GROUP):
            part = missing[start : start + _GROUP]
            store.put_vectors(dict(zip(part, encoder.encode([keys[key] for key in part]), strict=True)))
            bar.update(len(part))


Pair = tuple[str, str]


def _in_groups(predictions: Sequence[str]) -> Iterator[list[int]]:
    """Positions in groups of at most `_GROUP`; equal texts stand together, texts of like length too."""
    ordered = sorted(range(len(predictions)), key=lambda place: (len(predictions[place]), predictions[place], place))
    for start in range(0, len(ordered), _GROUP):
        yield ordered[start : start + _GROUP]


def _values(
    predictions: Sequence[str],
    others: Sequence[str],
    keys: Sequence[str],
    encoder: TextEncoder,
    store: VectorStore,
    measure: Callable[[Array, Array], float],
    progress: Progress,
) -> npt.NDArray[np.float64]:
    """Values of items: kept ones from the store, the others from the encoded predictions and kept matrices.

    Args:
        predictions: Texts; an empty one has the value 0.
        others: Key in the store of what each is set beside.
        keys: Key of each item's value.
        encoder: Encodes the predictions.
        store: Holds the others' matrices; takes the values.
        measure: Of a prediction's and another's matrix.
        progress: How it is shown.
    """
    known = store.scores(list(dict.fromkeys(keys)))
    todo = [place for place, key in enumerate(keys) if key not in known and predictions[place]]
    last: dict[str, Array] = {}
    with progress.bar(len(todo)) as bar:
        for group in _in_groups([predictions[place] for place in todo]):
            places = [todo[position] for position in group]
            texts = list(dict.fromkeys(predictions[place] for place in places))
            fresh = [text for text in texts if text not in last]
            encoded = last | dict(zip(fresh, encoder.encode(fresh) if fresh else [], strict=True))
            matrices = store.vectors(list(dict.fromkeys(others[place] for place in places)))
            found = {
                keys[place]: measure(encoded[predictions[place]], matrices[others[place]])
                for place in places
                if others[place] in matrices
            }
            store.put_scores(found)
            known |= found
            last = {texts[-1]: encoded[texts[-1]]}  # an equal text may go on in the next group
            bar.update(len(places))
    return np.array(
        [known.get(key, np.nan) if text else 0.0 for key, text in zip(keys, predictions, strict=True)], np.float64
    )


def text_values(
    pairs: Sequence[Pair],
    encoder: TextEncoder,
    store: VectorStore,
    measure: Callable[[Array, Array], float],
    progress: Progress | None = None,
) -> npt.NDArray[np.float64]:
    """Value of each pair of prediction and reference; 0 for an empty prediction.

    Args:
        pairs: (prediction, reference).
        encoder: `BertEncoder` with `bert_f1`, `SentenceEncoder` with `cosine`.
        store: Keeps reference matrices and values; an interrupted call goes on where it was.
        measure: Of the two matrices.
        progress: How it is shown; not at all when None.
    """
    progress = progress or Progress()
    keep_references(encoder, (reference for prediction, reference in pairs if prediction), store, progress)
    others = [content_key("text", encoder.identity, reference) for _, reference in pairs]
    keys = [content_key("value", encoder.identity, *pair) for pair in pairs]
    predictions = [prediction for prediction, _ in pairs]
    return _values(predictions, others, keys, encoder, store, measure, progress)


def keep_images(
    encoder: ClipEncoder,
    images: Iterable[tuple[str, Callable[[], Image]]],
    store: VectorStore,
    progress: Progress,
) -> dict[str, str]:
    """Encode those images that the store does not hold yet, each distinct one once, a batch in memory at a time.

    Args:
        encoder: CLIP.
        images: (SHA-256 of the image's file, function that decodes it).
        store: Takes the features.
        progress: How it is shown.

    Returns:
        By digest, why an image could not be decoded.
    """
    problems: dict[str, str] = {}
    wanted = dict(images)
    keys = {content_key("image", encoder.identity, digest): digest for digest in wanted}
    known = store.known(list(keys))
    missing = [key for key in keys if key not in known]
    with progress.bar(len(missing)) as bar:
        for start in range(0, len(missing), _BATCH_IMAGES):
            decoded: dict[str, Image] = {}
            for key in missing[start : start + _BATCH_IMAGES]:
                try:
                    decoded[key] = wanted[keys[key]]()
                except ValueError as error:  # ImageError: the file does not decode
                    problems[keys[key]] = str(error)
            if decoded:
                features = encoder.encode_images(list(decoded.values()))
                store.put_vectors(dict(zip(decoded, features, strict=True)))
            bar.update(min(_BATCH_IMAGES, len(missing) - start))
    return problems


def image_values(
    pairs: Sequence[Pair], encoder: ClipEncoder, store: VectorStore, progress: Progress | None = None
) -> npt.NDArray[np.float64]:
    """Raw cosine of each prediction with its image (S9); 0 for an empty prediction, NaN where the image is not kept.

    Args:
        pairs: (prediction, SHA-256 of the image's file).
        encoder: CLIP.
        store: Holds the features (`keep_images`); takes the values.
        progress: How it is shown.
    """
    others = [content_key("image", encoder.identity, digest) for _, digest in pairs]
    keys = [content_key("cosine", encoder.identity, *pair) for pair in pairs]
    predictions = [prediction for prediction, _ in pairs]
    return _values(predictions, others, keys, encoder, store, cosine, progress or Progress())
