"""Finding, building and reading WordNet."""

from __future__ import annotations

import shutil
from pathlib import Path

import nltk
import pytest
from nltk.corpus import wordnet as plain

from lmms_aes_tasks.utils.wordnet import (
    WordNetError,
    build_corpus,
    find_wordnet,
    has_database,
    lexicographer_table,
    load_wordnet,
)


@pytest.fixture(autouse=True)
def own_nltk_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Folders that are looked in first stay on NLTK's list: each test has a list of its own."""
    monkeypatch.setattr(nltk.data, "path", list(nltk.data.path))


def test_it_is_wordnet_3_0_with_nltks_synonyms() -> None:
    lexicon = load_wordnet()
    assert lexicon.version == plain.get_version() == "3.0"
    for word in ("light", "paint", "luminous", "softly", "étude", "🎨", "car"):
        expected = {lemma.name() for synset in plain.synsets(word) for lemma in synset.lemmas()}
        found = {lemma.name() for synset in lexicon.synsets(word) for lemma in synset.lemmas()}
        assert found == {name for name in expected if "_" not in name}
    assert "automobile" in {lemma.name() for synset in lexicon.synsets("car") for lemma in synset.lemmas()}


def test_the_lexicographer_table_is_that_of_the_manual_page() -> None:
    """lexnames(5WN): 45 files; some rows of it."""
    rows = lexicographer_table().splitlines()
    assert len(rows) == 45
    assert rows[0] == "00\tadj.all\t3"
    assert rows[2] == "02\tadv.all\t4"
    assert rows[3] == "03\tnoun.Tops\t1"
    assert rows[28] == "28\tnoun.time\t1"
    assert rows[29] == "29\tverb.body\t2"
    assert rows[43] == "43\tverb.weather\t2"
    assert rows[44] == "44\tadj.ppl\t3"


def test_missing_wordnet_names_the_command_and_the_packages(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path / "nowhere")])
    extra = tmp_path / "extra"
    assert find_wordnet(extra) is None
    with pytest.raises(WordNetError) as error:
        load_wordnet(extra)
    assert str(error.value) == (
        f"METEOR needs the corpus wordnet of NLTK, which is in none of {extra}, {tmp_path / 'nowhere'}. "
        "Run `lmms-aes data fetch wordnet`, which downloads it or takes it from the Debian packages wordnet-base "
        "and wordnet-sense-index; or set NLTK_DATA to a folder that holds corpora/wordnet."
    )


def test_the_corpus_is_built_from_database_files_and_found_zipped(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    database = Path(str(find_wordnet()))
    assert has_database(database)
    made = build_corpus(database, tmp_path / "made")
    assert (made / "lexnames").read_text("utf-8") == lexicographer_table()
    monkeypatch.setattr(nltk.data, "path", [])
    assert Path(str(find_wordnet(tmp_path / "made"))) == made
    zipped = tmp_path / "zipped/corpora"
    zipped.mkdir(parents=True)
    shutil.make_archive(str(zipped / "wordnet"), "zip", made.parent, "wordnet")
    found = load_wordnet(tmp_path / "zipped")
    assert "auto" in {lemma.name() for synset in found.synsets("car") for lemma in synset.lemmas()}


def test_an_incomplete_database_is_named(tmp_path: Path) -> None:
    (tmp_path / "data.adj").touch()
    assert not has_database(tmp_path)
    with pytest.raises(WordNetError, match=r"lacks data\.adv, data\.noun.*apt-get install wordnet-base wordnet-sense"):
        build_corpus(tmp_path, tmp_path / "to")
    assert not (tmp_path / "to").exists()
    broken = tmp_path / "nltk/corpora/wordnet"
    broken.mkdir(parents=True)
    with pytest.raises(WordNetError, match=r"is no complete WordNet .* run `lmms-aes data fetch wordnet`"):
        load_wordnet(tmp_path / "nltk")
