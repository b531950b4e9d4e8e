"""Which encoders score critiques, where they are had from, and the values that they give."""

from __future__ import annotations

import functools
import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from lmms_aes_tasks import sources
from lmms_aes_tasks.utils.embedding_values import Progress, bert_f1, cosine, image_values, keep_images, text_values
from lmms_aes_tasks.utils.embeddings import BertEncoder, ClipEncoder, EncoderError, SentenceEncoder, device_in_use
from lmms_aes_tasks.utils.images import ImageError, load_image
from lmms_aes_tasks.utils.vector_store import VectorStore

SWITCH_ENV = "LMMS_AES_EMBEDDINGS"
"""`off` leaves the embedding metrics to `lmms-aes score critiquecanvas`."""
_Encoder = TypeVar("_Encoder")
_SKIPPED_FILES = ("*.h5", "*.msgpack", "*.onnx", "*.ot", "onnx/*", "openvino/*", "coreml/*", "*.tflite", "*.md")
"""Other formats of the same weights on the Hub."""


@dataclass(frozen=True)
class Encoders:
    """The encoders of the three metrics: folders, or names on the Hub with an optional `@revision`.

    Attributes:
        bert: For BERT-F1.
        bert_layers: Its layer; None for bert-score's own choice for the model.
        sbert: For SBERT-Cos.
        clip: For the CLIP cosine: OpenAI's ViT-B/32 (openai/clip-vit-base-patch32) in open_clip's form.
    """

    bert: str = "microsoft/deberta-base-mnli"
    bert_layers: int | None = None
    sbert: str = "sentence-transformers/all-mpnet-base-v2"
    clip: str = "timm/vit_base_patch32_clip_224.openai"


_VARIABLES = {
    "bert": "LMMS_AES_BERT",
    "bert_layers": "LMMS_AES_BERT_LAYERS",
    "sbert": "LMMS_AES_SBERT",
    "clip": "LMMS_AES_CLIP",
}


def encoders_in_environment(environment: Mapping[str, str] | None = None) -> Encoders:
    """The encoders that the environment names, else the paper's.

    Raises:
        EncoderError: The layer is no whole number.
    """
    environment = os.environ if environment is None else environment
    given: dict[str, Any] = {
        name: environment[variable].strip()
        for name, variable in _VARIABLES.items()
        if environment.get(variable, "").strip()
    }
    if "bert_layers" in given:
        if not given["bert_layers"].isdigit():
            raise EncoderError(f"${_VARIABLES['bert_layers']} is {given['bert_layers']!r}: give a layer, 1 or more")
        given["bert_layers"] = int(given["bert_layers"])
    return Encoders(**given)


def wanted_in_runs() -> bool:
    """Whether a run of the harness computes the embedding metrics (`$LMMS_AES_EMBEDDINGS`, on unless `off`).

    Raises:
        EncoderError: The variable holds something else.
    """
    value = os.environ.get(SWITCH_ENV, "").strip().lower() or "on"
    if value not in {"on", "off"}:
        raise EncoderError(f"${SWITCH_ENV} is {value!r}: use on or off")
    return value == "on"


# -- Getting encoders -------------------------------------------------------------------------------------------------


def _folder_digest(folder: Path) -> str:
    """Digest of a folder's files, by content: what tells two local models of one name apart."""
    digest = hashlib.sha256()
    for path in sorted(item for item in folder.rglob("*") if item.is_file() and not item.name.startswith(".")):
        digest.update(str(path.relative_to(folder)).encode())
        with path.open("rb") as content:
            while block := content.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()[:16]


def locate_encoder(name: str) -> tuple[Path, str]:
    """A model's folder and its identity: `name@commit` of the Hub, `local@digest` of a folder.

    Args:
        name: A folder, or a name on the Hub with an optional `@revision`.

    Raises:
        EncoderError: It is neither, or the Hub cannot be reached and the model is not in its cache.
    """
    folder = Path(name).expanduser()
    if folder.is_dir():
        return folder, f"local@{_folder_digest(folder)}"
    import huggingface_hub

    repository, _, revision = name.partition("@")
    try:
        found = huggingface_hub.snapshot_download(
            repository, revision=revision or None, ignore_patterns=list(_SKIPPED_FILES)
        )
    except Exception as error:  # the Hub's client raises many kinds, and each means that the model is not to be had
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
        raise EncoderError(
            f"{name}: no such folder, and it could not be had from the Hub ({reason}). Give a folder, log in with "
            "`hf auth login`, or leave this metric out."
        ) from None
    return Path(found), f"{repository}@{Path(found).name}"


def _layers(name: str, given: int | None) -> int:
    if given is not None:
        return given
    from bert_score.utils import model2layers

    known: int | None = model2layers.get(name.partition("@")[0])
    if known is None:
        raise EncoderError(
            f"{name}: bert-score names no layer for this model. Give one with --bert-layers or "
            f"${_VARIABLES['bert_layers']}."
        )
    return known


@functools.lru_cache(maxsize=1)
def bert_encoder(name: str, layers: int | None, device: str) -> BertEncoder:
    """The encoder of BERT-F1, loaded once.

    Raises:
        EncoderError: It cannot be had or used.
    """
    chosen = _layers(name, layers)
    folder, identity = locate_encoder(name)
    return _loaded(name, lambda: BertEncoder(folder, chosen, identity, device))


@functools.lru_cache(maxsize=1)
def sentence_encoder(name: str, device: str) -> SentenceEncoder:
    """The encoder of SBERT-Cos, loaded once.

    Raises:
        EncoderError: It cannot be had or used.
    """
    folder, identity = locate_encoder(name)
    return _loaded(name, lambda: SentenceEncoder(folder, identity, device))


@functools.lru_cache(maxsize=1)
def clip_encoder(name: str, device: str) -> ClipEncoder:
    """The encoder of the CLIP cosine, loaded once.

    Raises:
        EncoderError: It cannot be had or used.
    """
    folder, identity = locate_encoder(name)
    openai_weights = name.partition("@")[0].endswith(".openai")
    return _loaded(name, lambda: ClipEncoder(folder, identity, device, quick_gelu=openai_weights))


def _loaded(name: str, load: Callable[[], _Encoder]) -> _Encoder:
    try:
        return load()
    except (OSError, ValueError, KeyError, RuntimeError, ImportError, AttributeError, TypeError) as error:
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
        raise EncoderError(f"{name}: cannot be loaded ({reason}). Is it a model of the right kind?") from None


# -- Values -----------------------------------------------------------------------------------------------------------


def embedding_store() -> VectorStore:
    """Where matrices of references, features of images and values are kept, below `$LMMS_AES_CACHE`."""
    return VectorStore(sources.cache_root() / "critiquecanvas" / "embeddings.sqlite")


@dataclass(frozen=True)
class Embedded:
    """Values of one metric.

    Attributes:
        values: One an item, in the order given; NaN where the image does not decode.
        encoder: Its identity.
        problems: Id of the item and why its image does not decode.
    """

    values: npt.NDArray[np.float64]
    encoder: str
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class EmbeddingCase:
    """One critique for the encoders.

    Attributes:
        id: Id of the record.
        text: The critique.
        reference: Its reference.
        image: Gives the image file's content, when asked; None where it is not at hand.
    """

    id: str
    text: str
    reference: str
    image: Callable[[], bytes] | None


def embed(
    metric: str, cases: Sequence[EmbeddingCase], encoders: Encoders, store: VectorStore, shown: bool = False
) -> Embedded:
    """Values of `bert_f1`, `sbert_cos` or `clip_cos`, in the order of the cases.

    Images are read one at a time and decoded a batch at a time, so memory does not grow with their number.

    Raises:
        EncoderError: The encoder cannot be had.
        ValueError: The metric is none of the three.
    """
    device = device_in_use()
    progress = Progress(shown, metric)
    pairs = [(case.text, case.reference) for case in cases]
    if metric == "bert_f1":
        bert = bert_encoder(encoders.bert, encoders.bert_layers, device)
        return Embedded(text_values(pairs, bert, store, bert_f1, progress), bert.identity)
    if metric == "sbert_cos":
        sentences = sentence_encoder(encoders.sbert, device)
        return Embedded(text_values(pairs, sentences, store, cosine, progress), sentences.identity)
    if metric != "clip_cos":
        raise ValueError(f"unknown metric {metric!r}: use bert_f1, sbert_cos, clip_cos")
    clip = clip_encoder(encoders.clip, device)
    digests: list[str] = []
    problems: dict[str, str] = {}
    decoders: dict[str, Callable[[], Any]] = {}
    for case in cases:
        try:
            digest = hashlib.sha256(_content(case)).hexdigest()
            decoders.setdefault(digest, functools.partial(_decoded, case))
        except ImageError as error:
            digest = f"unread {case.id}"
            problems[digest] = f"{case.id}: {error}"
        digests.append(digest)
    if cases and not decoders:
        first = next(iter(problems.values()))
        raise EncoderError(f"{metric} needs the images, and none could be read ({first}). Give the data with --data.")
    problems |= keep_images(clip, decoders.items(), store, progress)
    values = image_values([(case.text, digest) for case, digest in zip(cases, digests, strict=True)], clip, store)
    return Embedded(values, clip.identity, tuple(problems[digest] for digest in digests if digest in problems))


def _content(case: EmbeddingCase) -> bytes:
    if case.image is None:
        raise ImageError("its image is not at hand")
    return case.image()


def _decoded(case: EmbeddingCase) -> Any:
    return load_image(_content(case), case.id)
