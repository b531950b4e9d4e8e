"""The neural encoders of critiques: BERT, sentences, CLIP (AesCanvas, S2.3.2).

An encoder is a model in a folder. Texts are encoded in batches of like length; what a text gets does not depend on what
else is in its batch, up to floating-point rounding (about 1e-7). `embedding_values` has the metrics.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from lmms_aes_tasks.utils.errors import AesError
from lmms_aes_tasks.utils.vector_store import Array

if TYPE_CHECKING:
    from PIL.Image import Image

MAX_TOKENS = 512
"""Both text encoders cut here (S2.3.2)."""
_BATCH_TEXTS = 64
_BATCH_TOKENS = {"cpu": 4_096, "cuda": 16_384}
"""A batch ends at so many texts, or so many tokens with padding: on a CPU, attention over 64 texts of 260 tokens leaves
the processor's cache and is slower than over 16 (benchmarks/critique_metrics.py)."""


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
