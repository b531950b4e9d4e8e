"""Embedding metrics against bert-score, sentence-transformers and open_clip, one item at a time, on small models."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from lmms_aes_tasks.utils.embedding_values import Progress, bert_f1, cosine, image_values, keep_images, text_values
from lmms_aes_tasks.utils.embeddings import BertEncoder, ClipEncoder, EncoderError, SentenceEncoder
from lmms_aes_tasks.utils.images import ImageError
from lmms_aes_tasks.utils.vector_store import VectorStore, content_key
from tests.critique_texts import HARD, REFERENCES, generated_pairs
from tests.encoders import LAYERS, EncoderFolders

PAIRS = (
    generated_pairs(200, seed=1, sentences_each=(1, 2))
    + [(hard, REFERENCES[2]) for hard in HARD]
    + [(HARD[-1], HARD[-1] + " end")]
)


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """Small models are slower in several threads, and much slower on a busy machine."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def bert(encoder_folders: EncoderFolders) -> BertEncoder:
    return BertEncoder(encoder_folders.bert, LAYERS, "bert@1")


@pytest.fixture(scope="module")
def sentences(encoder_folders: EncoderFolders) -> SentenceEncoder:
    return SentenceEncoder(encoder_folders.sbert, "sbert@1")


@pytest.fixture(scope="module")
def clip(encoder_folders: EncoderFolders) -> ClipEncoder:
    return ClipEncoder(encoder_folders.clip, "clip@1")


@pytest.fixture
def store(tmp_path: Path) -> VectorStore:
    return VectorStore(tmp_path / "store.sqlite")


class Counting:
    """An encoder that remembers what it was given, and breaks after some texts when told so."""

    def __init__(self, encoder: Any, breaks_after: int | None = None) -> None:
        self.encoder, self.identity, self.breaks_after = encoder, encoder.identity, breaks_after
        self.texts: list[str] = []
        self.images = 0

    def encode(self, texts: Sequence[str]) -> list[Any]:
        if self.breaks_after is not None and len(self.texts) >= self.breaks_after:
            raise KeyboardInterrupt
        self.texts += texts
        return self.encoder.encode(texts)  # type: ignore[no-any-return]

    def encode_images(self, images: Sequence[Image.Image]) -> list[Any]:
        self.images += len(images)
        return self.encoder.encode_images(images)  # type: ignore[no-any-return]


def test_bert_f1_is_bert_scores_one_pair_at_a_time(
    bert: BertEncoder, encoder_folders: EncoderFolders, store: VectorStore
) -> None:
    from bert_score import BERTScorer

    scorer = BERTScorer(model_type=str(encoder_folders.bert), num_layers=LAYERS, device="cpu")
    scorer._tokenizer.model_max_length = 512
    plain = [float(scorer.score([prediction], [reference])[2][0]) for prediction, reference in PAIRS]
    assert text_values(PAIRS, bert, store, bert_f1) == pytest.approx(plain, abs=1e-5)
    assert min(plain) < 0.9 < max(plain)


def test_sbert_cosine_is_sentence_transformers_one_text_at_a_time(
    sentences: SentenceEncoder, encoder_folders: EncoderFolders, store: VectorStore
) -> None:
    from sentence_transformers import SentenceTransformer

    plain_model = SentenceTransformer(str(encoder_folders.sbert), device="cpu")
    plain_model.max_seq_length = 512

    def vector(text: str) -> Any:
        return plain_model.encode([text], normalize_embeddings=True)[0]

    plain = [float(vector(prediction) @ vector(reference)) for prediction, reference in PAIRS]
    assert text_values(PAIRS, sentences, store, cosine) == pytest.approx(plain, abs=1e-5)


def test_masked_mean_pooling_by_hand(sentences: SentenceEncoder, encoder_folders: EncoderFolders) -> None:
    """e(x) = Σ a z / Σ a over the last hidden state, then length 1 (S8), from transformers alone."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(encoder_folders.sbert)
    model = AutoModel.from_pretrained(encoder_folders.sbert).eval()
    text = "Soft light falls on the table. " * 200  # cut at 512 tokens
    with torch.inference_mode():
        given = tokenizer(text, return_tensors="pt", truncation=True, max_length=512)
        states = model(**given).last_hidden_state[0]
    assert len(states) == 512
    mean = states.mean(dim=0)
    assert sentences.encode([text])[0][0] == pytest.approx((mean / mean.norm()).numpy(), abs=1e-5)


def pictures() -> list[tuple[str, Callable[[], Image.Image]]]:
    draw = np.random.default_rng(0)
    shapes = [(40, 60), (33, 32), (200, 100), (64, 64)]
    made = [Image.fromarray(draw.integers(0, 255, (*shape, 3), dtype=np.uint8)) for shape in shapes]
    return [(f"{place:064d}", (lambda image=image: image)) for place, image in enumerate(made)]  # type: ignore[misc]


def test_clip_cosine_is_open_clips_one_item_at_a_time(
    clip: ClipEncoder, encoder_folders: EncoderFolders, store: VectorStore
) -> None:
    import open_clip
    import torch

    model, _, preprocess = open_clip.create_model_and_transforms(f"local-dir:{encoder_folders.clip}")
    tokenizer = open_clip.get_tokenizer(f"local-dir:{encoder_folders.clip}")
    model.eval()
    images = pictures()
    texts = [prediction for prediction, _ in PAIRS]
    pairs = [(text, images[place % 4][0]) for place, text in enumerate(texts)]
    plain = []
    with torch.inference_mode():
        for place, text in enumerate(texts):
            words = torch.nn.functional.normalize(model.encode_text(tokenizer([text])), dim=-1)
            seen = torch.nn.functional.normalize(model.encode_image(preprocess(images[place % 4][1]())[None]), dim=-1)
            plain.append(float(words[0] @ seen[0]))
    assert keep_images(clip, images, store, Progress()) == {}
    values = image_values(pairs, clip, store)
    assert values == pytest.approx(plain, abs=1e-5)
    assert values.min() < 0  # raw: neither cut at 0 nor scaled


def test_long_texts_keep_clips_end_token(clip: ClipEncoder) -> None:
    tokens = clip.tokenizer([HARD[-1]])[0]
    assert len(tokens) == 77
    assert tokens[-1] == tokens.max() == 49407


def test_values_do_not_depend_on_the_other_texts(bert: BertEncoder, tmp_path: Path) -> None:
    pairs = PAIRS[:60]
    together = text_values(pairs, bert, VectorStore(tmp_path / "a.sqlite"), bert_f1)
    backwards = text_values(pairs[::-1], bert, VectorStore(tmp_path / "b.sqlite"), bert_f1)
    alone = [text_values([pair], bert, VectorStore(tmp_path / "c.sqlite"), bert_f1)[0] for pair in pairs[:10]]
    assert together[::-1] == pytest.approx(backwards, abs=1e-6)
    assert together[:10] == pytest.approx(alone, abs=1e-6)


def test_an_empty_prediction_is_0_and_is_not_encoded(sentences: SentenceEncoder, store: VectorStore) -> None:
    counting = Counting(sentences)
    values = text_values([("", "a reference"), ("a text", "another")], counting, store, cosine)
    assert values[0] == 0.0
    assert values[1] != 0.0
    assert sorted(counting.texts) == ["a text", "another"]


def test_text_of_nothing_but_special_tokens_has_f1_0(bert: BertEncoder) -> None:
    nothing, something = bert.encode(["", "a"])
    assert bert_f1(nothing, something) == bert_f1(something, nothing) == bert_f1(nothing, nothing) == 0.0


def test_each_text_is_encoded_once_and_references_never_again(sentences: SentenceEncoder, store: VectorStore) -> None:
    references = [f"reference {number % 5}" for number in range(600)]
    first = Counting(sentences)
    text_values([(f"text {n % 7}", reference) for n, reference in enumerate(references)], first, store, cosine)
    assert sorted(first.texts) == sorted({*(f"text {n}" for n in range(7)), *references})
    second = Counting(sentences)
    text_values([(f"other {n % 7}", reference) for n, reference in enumerate(references)], second, store, cosine)
    assert sorted(second.texts) == sorted(f"other {n}" for n in range(7))
    third = Counting(sentences)
    text_values([(f"other {n % 7}", reference) for n, reference in enumerate(references)], third, store, cosine)
    assert third.texts == []


def test_one_text_for_all_is_encoded_once_over_groups(sentences: SentenceEncoder, store: VectorStore) -> None:
    counting = Counting(sentences)
    values = text_values([("same", f"reference {number}") for number in range(700)], counting, store, cosine)
    assert counting.texts.count("same") == 1
    assert len(set(values)) > 600


def test_what_was_interrupted_goes_on(sentences: SentenceEncoder, store: VectorStore) -> None:
    pairs = [(f"text number {number}", "one reference") for number in range(600)]
    broken = Counting(sentences, breaks_after=257)  # the reference, and one group of 256
    with pytest.raises(KeyboardInterrupt):
        text_values(pairs, broken, store, cosine)
    assert len(broken.texts) == 257
    again = Counting(sentences)
    values = text_values(pairs, again, store, cosine)
    assert len(again.texts) == 600 - 256
    assert not set(again.texts) & set(broken.texts)
    fresh = text_values(pairs, sentences, VectorStore(store.path.with_name("fresh.sqlite")), cosine)
    assert values == pytest.approx(fresh, abs=1e-6)


def test_another_revision_is_another_value(sentences: SentenceEncoder, store: VectorStore) -> None:
    counting = Counting(sentences)
    text_values([("a", "b")], counting, store, cosine)
    counting.identity = "sbert@2"
    text_values([("a", "b")], counting, store, cosine)
    assert counting.texts == ["b", "a", "b", "a"]


def test_images_are_decoded_once_a_batch_at_a_time(clip: ClipEncoder, store: VectorStore) -> None:
    open_at_once: list[int] = []

    def decode() -> Image.Image:
        open_at_once.append(1)
        return Image.new("RGB", (40, 40), "red")

    def broken() -> Image.Image:
        raise ImageError("x.png: does not decode. Replace the file.")

    counting = Counting(clip)
    images = [(f"{number % 70:064d}", decode) for number in range(200)]
    problems = keep_images(counting, [*images, ("f" * 64, broken)], store, Progress())  # type: ignore[arg-type]
    assert len(open_at_once) == counting.images == 70
    assert problems == {"f" * 64: "x.png: does not decode. Replace the file."}
    values = image_values([("a", f"{1:064d}"), ("a", "f" * 64), ("", "f" * 64)], clip, store)
    assert np.isfinite(values[0])
    assert np.isnan(values[1])
    assert values[2] == 0.0
    keep_images(counting, images, store, Progress())  # type: ignore[arg-type]
    assert counting.images == 70


def test_a_layer_that_is_not_there(encoder_folders: EncoderFolders) -> None:
    with pytest.raises(EncoderError) as error:
        BertEncoder(encoder_folders.bert, 9, "tiny")
    assert str(error.value) == "tiny: layer 9 is asked for, and the model has 3 layers. Set bert-layers."


def test_the_store_keeps_values_exactly(store: VectorStore) -> None:
    matrix = np.array([[1 / 3, -0.0], [1e-30, 7.5]], np.float32)
    store.put_vectors({"a": matrix})
    store.put_vectors({"a": matrix + 1})  # what is there stays
    assert np.array_equal(store.vectors(["a", "b"])["a"], matrix)
    assert store.known(["a", "b"]) == {"a"}
    store.put_scores({"x": 1 / 3})
    assert VectorStore(store.path).scores(["x", "y"]) == {"x": 1 / 3}
    many = {f"k{number}": float(number) for number in range(1500)}
    store.put_scores(many)
    assert store.scores(list(many)) == many


def test_keys_tell_parts_apart() -> None:
    assert content_key("ab", "c") != content_key("a", "bc")
    assert content_key("a", "") != content_key("a")
