"""What CritiqueCanvas needs of an installation: WordNet for METEOR, and the encoders of the embedding metrics."""

from __future__ import annotations

from pathlib import Path

from lmms_aes_tasks.board.checks import BAD, OK, WARN, Check
from lmms_aes_tasks.sources import nltk_folder

ENCODER_VARIABLES = {"bert_f1": "LMMS_AES_BERT", "sbert_cos": "LMMS_AES_SBERT", "clip_cos": "LMMS_AES_CLIP"}


def wordnet_check() -> Check:
    """Whether NLTK finds WordNet, which METEOR needs."""
    from lmms_aes_tasks.utils.wordnet import find_wordnet

    found = find_wordnet(nltk_folder())
    if found is not None:
        return Check("WordNet", OK, str(found))
    return Check("WordNet", WARN, "not found", "for METEOR (critiquecanvas): lmms-aes data fetch wordnet")


def encoder_check(metric: str, name: str) -> Check:
    """Whether the encoder of an embedding metric is a folder here, or in the local Hub cache."""
    from huggingface_hub import try_to_load_from_cache

    title = f"{metric} (critiquecanvas)"
    if Path(name).expanduser().is_dir():
        return Check(title, OK, name)
    repository, _, revision = name.partition("@")
    files = ("config.json", "open_clip_config.json")
    if any(isinstance(try_to_load_from_cache(repository, file, revision=revision or None), str) for file in files):
        return Check(title, OK, f"{name} in the local cache")
    at = f" --revision {revision}" if revision else ""
    return Check(
        title,
        WARN,
        f"{name} is not in the local cache",
        f"with network: hf download {repository}{at}; or name a folder in ${ENCODER_VARIABLES[metric]}; "
        "or leave it to the scorer: LMMS_AES_EMBEDDINGS=off",
    )


def encoder_checks() -> list[Check]:
    """The encoders in force."""
    from lmms_aes_tasks.critiquecanvas.encoders import encoders_in_environment
    from lmms_aes_tasks.utils.embeddings import EncoderError

    try:
        encoders = encoders_in_environment()
    except EncoderError as error:
        return [Check("encoders (critiquecanvas)", BAD, str(error), "correct the variable")]
    names = (encoders.bert, encoders.sbert, encoders.clip)
    return [encoder_check(metric, name) for metric, name in zip(ENCODER_VARIABLES, names, strict=True)]
