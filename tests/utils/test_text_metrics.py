"""Lexical metrics against the plain use of SacreBLEU, rouge-score and NLTK."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nltk.translate.meteor_score import single_meteor_score
from rouge_score.rouge_scorer import RougeScorer
from sacrebleu.metrics.bleu import BLEU

from lmms_aes_tasks.utils.text_metrics import BleuStatistics, bleu_statistics, corpus_bleu, meteor, rouge_l
from lmms_aes_tasks.utils.wordnet import load_wordnet
from tests.critique_texts import HARD, OTHER_SCRIPTS, PAIRS, REFERENCES, generated_pairs

ROUGE = RougeScorer(["rougeL"], use_stemmer=True)


def test_bleu_adds_up_to_sacrebleus_corpus_value() -> None:
    statistics = [bleu_statistics(*pair) for pair in PAIRS]
    for chosen in (slice(None), slice(0, 200), slice(0, 1), slice(200, 212), slice(212, None)):
        predictions, references = zip(*PAIRS[chosen], strict=True)
        plain = BLEU(effective_order=True).corpus_score(list(predictions), [list(references)]).score / 100
        assert corpus_bleu(statistics[chosen]) == pytest.approx(min(plain, 1.0), abs=1e-9)


@pytest.mark.parametrize("pair", PAIRS[200:], ids=range(len(PAIRS) - 200))
def test_bleu_of_one_item(pair: tuple[str, str]) -> None:
    plain = BLEU(effective_order=True).corpus_score([pair[0]], [[pair[1]]]).score / 100
    assert corpus_bleu([bleu_statistics(*pair)]) == pytest.approx(min(plain, 1.0), abs=1e-9)


def test_bleu_does_not_depend_on_order_or_grouping() -> None:
    statistics = [bleu_statistics(*pair) for pair in PAIRS[:50]]
    assert corpus_bleu(reversed(statistics)) == corpus_bleu(statistics)
    again = [BleuStatistics.from_list(item.as_list()) for item in statistics]
    assert again == statistics
    assert corpus_bleu([]) is None


@pytest.mark.parametrize("values", [[1] * 9, [1] * 11, [True] + [1] * 9, [1.0] * 10, [-1] + [1] * 9])
def test_damaged_statistics_are_refused(values: list[int]) -> None:
    with pytest.raises(ValueError, match="BLEU statistics are"):
        BleuStatistics.from_list(values)


def test_rouge_l_is_rouge_scores() -> None:
    for prediction, reference in PAIRS:
        if prediction == reference and reference in OTHER_SCRIPTS:  # rouge-score has no token there
            assert rouge_l(prediction, reference) == 1.0
            continue
        plain = ROUGE.score(reference, prediction)["rougeL"].fmeasure
        assert rouge_l(prediction, reference) == pytest.approx(plain, abs=1e-9)


def test_meteor_is_nltks() -> None:
    lexicon = load_wordnet()
    for prediction, reference in PAIRS:
        if prediction == reference == OTHER_SCRIPTS[0]:  # a whole clause would be one token
            # by hand: 15 characters and 3 signs, all in one chunk
            assert meteor(prediction, reference, lexicon) == pytest.approx(1 - 0.5 * (1 / 18) ** 3, abs=1e-12)
            continue
        plain = single_meteor_score(reference.split(), prediction.split())
        assert meteor(prediction, reference, lexicon) == pytest.approx(plain, abs=1e-9)


def test_meteor_by_hand() -> None:
    """Seven of eight words of the prediction match, six alike and one a synonym (auto, car), in one chunk."""
    found = meteor("a red auto stands before the old indeed", "a red car stands before the old house", load_wordnet())
    precision, recall = 7 / 8, 7 / 8
    f_mean = precision * recall / (0.9 * precision + 0.1 * recall)
    assert found == pytest.approx(f_mean * (1 - 0.5 * (1 / 7) ** 3), abs=1e-12)


@pytest.mark.parametrize(
    ("prediction", "reference", "expected"),
    [
        # Han: 6 and 4 characters, 4 in common in this order
        ("光线柔和温暖", "光线柔和", 2 * (4 / 6) * (4 / 4) / (4 / 6 + 4 / 4)),
        # Russian: two of three words
        ("мягкий свет падает", "Мягкий свет исчез", 2 / 3),
        # Arabic and Hebrew, punctuation aside: all
        ("التكوين متوازن.", "التكوين، متوازن", 1.0),
        ("הקומפוזיציה מאוזנת", "הקומפוזיציה מאוזנת", 1.0),
        # Hindi: one of two words, vowel signs belong to their letters
        ("नरम रोशनी", "नरम छाया", 1 / 2),
        # Thai: อ่อน is อ่ อ น and ออน is อ อ น, so two of three
        ("อ่อน", "ออน", 2 / 3),
        # Japanese: the long vowel is a letter; カラ of カラー
        ("カラー", "カラ", 2 * (2 / 3) * 1 / (2 / 3 + 1)),
        # mixed: soft, 光, light against soft, light
        ("soft光light", "soft light", 2 * (2 / 3) * 1 / (2 / 3 + 1)),
        # digits beyond 0 to 9 are tokens, too
        ("٣ ألوان", "٣ ألوان", 1.0),
        # letters that are composed in one text and not in the other
        ("\u0439", "\u0438\u0306", 1.0),
        # Latin letters beyond a to z stay as rouge-score reads them: caf and caf
        ("café", "cafè", 1.0),
        ("don\u02bct", "don t", 1.0),
    ],
)
def test_rouge_l_in_other_scripts_by_hand(prediction: str, reference: str, expected: float) -> None:
    assert rouge_l(prediction, reference) == pytest.approx(expected, abs=1e-12)


def test_meteor_in_scripts_without_spaces_by_hand() -> None:
    """光线柔和 beside 光线很柔和: all four characters match in two chunks; recall is 4 of 5."""
    f_mean = 1 * (4 / 5) / (0.9 * 1 + 0.1 * (4 / 5))
    expected = f_mean * (1 - 0.5 * (2 / 4) ** 3)
    assert meteor("光线柔和", "光线很柔和", load_wordnet()) == pytest.approx(expected, abs=1e-12)


def test_meteor_in_threads() -> None:
    lexicon = load_wordnet()
    pairs = generated_pairs(40, seed=9)
    alone = [meteor(*pair, lexicon) for pair in pairs]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda pair: meteor(*pair, lexicon), pairs)) == alone


@pytest.mark.parametrize("empty", ["", "   \n\t "])
def test_an_empty_prediction_scores_nothing_and_lengthens_the_corpus_reference(empty: str) -> None:
    assert rouge_l(empty, REFERENCES[0]) == 0.0
    assert meteor(empty, REFERENCES[0], load_wordnet()) == 0.0
    assert corpus_bleu([bleu_statistics(empty, REFERENCES[0])]) == 0.0
    pair = (REFERENCES[1], REFERENCES[1])
    with_empty = corpus_bleu([bleu_statistics(*pair), bleu_statistics(empty, REFERENCES[0])])
    plain = BLEU(effective_order=True).corpus_score([pair[0], empty], [[pair[1], REFERENCES[0]]]).score / 100
    assert with_empty == pytest.approx(plain, abs=1e-9)
    assert plain < 1


@given(prediction=st.text(max_size=200), reference=st.sampled_from([*HARD, *REFERENCES[:2]]))
def test_no_text_raises(prediction: str, reference: str) -> None:
    prediction = prediction.encode("utf-8", "replace").decode("utf-8")
    assert 0 <= rouge_l(prediction, reference) <= 1
    assert 0 <= meteor(prediction, reference, load_wordnet()) <= 1
    assert 0 <= (corpus_bleu([bleu_statistics(prediction, reference)]) or 0.0) <= 1


def test_twenty_thousand_words() -> None:
    long = " ".join(
        f"{word}{number % 97}" if number % 3 else word for number, word in enumerate(REFERENCES[0].split() * 200)
    )
    long = " ".join(long.split()[:20_000])
    assert len(long.split()) == 20_000
    plain = ROUGE.score(REFERENCES[0], long)["rougeL"].fmeasure
    assert rouge_l(long, REFERENCES[0]) == pytest.approx(plain, abs=1e-9)
    assert 0 < meteor(long, REFERENCES[0], load_wordnet()) < 1
