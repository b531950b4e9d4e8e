"""Critiques by neural encoders: BERT-F1, SBERT-Cos and CLIP cosine (AesCanvas, S2.3.2, S8, S9).

An encoder is a model in a folder. Texts are encoded in batches of like length, each distinct text once; reference
texts and images are kept in a store, so that no later scoring encodes them again. Values per item do not depend on
what else is in a batch, up to floating-point rounding (about 1e-7).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from lmms_aes_tasks.utils.errors import AesError
from lmms_aes_tasks.utils.vector_store import Array, VectorStore, content_key

if TYPE_CHECKING:
    from PIL.Image import Image

MAX_TOKENS = 512
"""Both text encoders cut here (S2.3.2)."""
_BATCH_TEXTS = 64
_BATCH_TOKENS = {"cpu": 4_096, "cuda": 16_384}
"""A batch ends at so many texts, or so many tokens with padding: on a CPU, attention over 64 texts of 260 tokens leaves
the processor's cache and is slower than over 16 (benchmarks/critique_metrics.py)."""
_BATCH_IMAGES = 32
_GROUP = 256
"""Items whose values are kept at once: what an interruption can lose."""


class EncoderError(AesError):
    """An encoder that cannot be had or used; the message says which, why, and what to do."""


class TextEncoder(Protocol):
    """What turns texts into matrices.

    Attributes:
        identity: Model and revision: part of every key in a store.
    """

    identity: str

    def encode(self, texts: Sequence[str]) -> list[Array]:
        """One matrix a text, in the order given."""


def device_in_use() -> str:
    """`cuda` when there is one, else `cpu`."""
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def _length_batches(lengths: Sequence[int], device: str) -> Iterator[list[int]]:
    """Positions in batches of like length, short ones first."""
    batch: list[int] = []
    for position in sorted(range(len(lengths)), key=lambda place: (lengths[place], place)):
        full = len(batch) >= _BATCH_TEXTS or (len(batch) + 1) * lengths[position] > _BATCH_TOKENS[device]
        if batch and full:
            yield batch
            batch = []
        batch.append(position)
    if batch:
        yield batch


# -- Encoders ---------------------------------------------------------------------------------------------------------


class BertEncoder:
    """Contextual token vectors as bert-score takes them: one layer, unit length, no IDF.

    A text's matrix has a row a token, the special ones included, and one column more than the vectors: the token's
    weight, 0 for the first and last special token and 1 for all others.

    Args:
        folder: The model, as transformers saves it.
        layers: Layer whose output is taken, counted from 1; those above it are dropped.
        identity: Model and revision.
        device: `cpu` or `cuda`.

    Raises:
        EncoderError: The model has fewer layers, or none that can be counted.
    """

    def __init__(self, folder: Path, layers: int, identity: str, device: str = "cpu") -> None:
        import torch
        from transformers import AutoModel, AutoTokenizer

        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.tokenizer.model_max_length = MAX_TOKENS  # DeBERTa's own is 10^30, which the fast tokenizer cannot take
        model = AutoModel.from_pretrained(folder)
        blocks = getattr(getattr(model, "encoder", None), "layer", None)
        if blocks is None or not 1 <= layers <= len(blocks):
            there = "no encoder.layer" if blocks is None else f"{len(blocks)} layers"
            raise EncoderError(f"{identity}: layer {layers} is asked for, and the model has {there}. Set bert-layers.")
        model.encoder.layer = torch.nn.ModuleList(list(blocks)[:layers])
        self.model = model.float().eval().to(device)
        self.device = device
        self.identity = f"{identity} layer {layers}"
        self._weightless = {self.tokenizer.cls_token_id, self.tokenizer.sep_token_id}

    def _ids(self, text: str) -> list[int]:
        from bert_score.utils import sent_encode

        if not text.strip():  # bert-score's own way calls what transformers 5 has not
            return list(self.tokenizer("")["input_ids"])
        ids: list[int] = sent_encode(self.tokenizer, text)
        return ids

    def encode(self, texts: Sequence[str]) -> list[Array]:
        """Matrices of shape (tokens, width + 1)."""
        import torch

        all_ids = [self._ids(text) for text in texts]
        found: list[Array] = [np.zeros((0, 0), np.float32)] * len(texts)
        for batch in _length_batches([len(ids) for ids in all_ids], self.device):
            longest = max(len(all_ids[place]) for place in batch)
            ids = torch.full((len(batch), longest), self.tokenizer.pad_token_id or 0)
            mask = torch.zeros((len(batch), longest), dtype=torch.long)
            for row, place in enumerate(batch):
                ids[row, : len(all_ids[place])] = torch.tensor(all_ids[place])
                mask[row, : len(all_ids[place])] = 1
            with torch.inference_mode():
                states = self.model(ids.to(self.device), attention_mask=mask.to(self.device))[0].float()
                states = torch.nn.functional.normalize(states, dim=-1).cpu().numpy()
            for row, place in enumerate(batch):
                own = all_ids[place]
                weights = np.array([[own_id not in self._weightless] for own_id in own], np.float32)
                found[place] = np.concatenate([states[row, : len(own)], weights], axis=1)
        return found


class SentenceEncoder:
    """Sentence embeddings of unit length by sentence-transformers: masked mean pooling, cut at 512 tokens.

    Args:
        folder: The model, as sentence-transformers or transformers saves it.
        identity: Model and revision.
        device: `cpu` or `cuda`.
    """

    def __init__(self, folder: Path, identity: str, device: str = "cpu") -> None:
        from sentence_transformers import SentenceTransformer

        self.model = SentenceTransformer(str(folder), device=device)
        config = getattr(self.model[0], "auto_model", None)
        positions = getattr(getattr(config, "config", None), "max_position_embeddings", MAX_TOKENS)
        self.model.max_seq_length = min(MAX_TOKENS, positions)
        self.device = device
        self.identity = identity

    def encode(self, texts: Sequence[str]) -> list[Array]:
        """Matrices of shape (1, width)."""
        found: list[Array] = [np.zeros((0, 0), np.float32)] * len(texts)
        tokens = [min(self.model.max_seq_length, 1 + len(text) // 4) for text in texts]  # English: about four letters
        for batch in _length_batches(tokens, self.device):
            rows = self.model.encode(
                [texts[place] for place in batch],
                batch_size=len(batch),
                normalize_embeddings=True,
                convert_to_numpy=True,
                show_progress_bar=False,
            )
            for place, row in zip(batch, rows, strict=True):
                found[place] = np.asarray(row, np.float32)[np.newaxis]
        return found


class ClipEncoder:
    """CLIP's text and image features of unit length by open_clip, texts cut at its context of 77 tokens.

    Args:
        folder: The model, as open_clip saves it (`open_clip_config.json` and weights).
        identity: Model and revision.
        device: `cpu` or `cuda`.
        quick_gelu: Whether the weights were trained with QuickGELU and the configuration may not say so: OpenAI's.
    """

    def __init__(self, folder: Path, identity: str, device: str = "cpu", quick_gelu: bool = False) -> None:
        import open_clip

        name = f"local-dir:{folder}"
        self.model, _, self.preprocess = open_clip.create_model_and_transforms(
            name, device=device, force_quick_gelu=quick_gelu
        )
        self.model.eval()
        self.tokenizer = open_clip.get_tokenizer(name)
        self.device = device
        self.identity = identity

    def encode(self, texts: Sequence[str]) -> list[Array]:
        """Matrices of shape (1, width)."""
        import torch

        found: list[Array] = []
        for start in range(0, len(texts), _BATCH_TEXTS):
            with torch.inference_mode():
                tokens = self.tokenizer(list(texts[start : start + _BATCH_TEXTS])).to(self.device)
                rows = self.model.encode_text(tokens, normalize=True).float().cpu().numpy()
            found.extend(row[np.newaxis] for row in rows)
        return found

    def encode_images(self, images: Sequence[Image]) -> list[Array]:
        """Matrices of shape (1, width) of RGB images, which the model's own preprocessing scales and crops."""
        import torch

        with torch.inference_mode():
            pixels = torch.stack([self.preprocess(image) for image in images]).to(self.device)
            rows = self.model.encode_image(pixels, normalize=True).float().cpu().numpy()
        return [row[np.newaxis] for row in rows]


# -- Values of items --------------------------------------------------------------------------------------------------


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
