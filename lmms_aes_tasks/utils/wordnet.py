"""The WordNet that METEOR looks synonyms up in: finding it, building it from its own files, fast look-ups."""

from __future__ import annotations

import functools
import shutil
import tempfile
import threading
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lmms_aes_tasks.utils.errors import AesError

# fmt: off
_LEXICOGRAPHER_FILES = (
    ("adj", ("all", "pert")),
    ("adv", ("all",)),
    ("noun", ("Tops", "act", "animal", "artifact", "attribute", "body", "cognition", "communication", "event",
              "feeling", "food", "group", "location", "motive", "object", "person", "phenomenon", "plant",
              "possession", "process", "quantity", "relation", "shape", "state", "substance", "time")),
    ("verb", ("body", "change", "cognition", "communication", "competition", "consumption", "contact", "creation",
              "emotion", "motion", "perception", "possession", "social", "stative", "weather")),
    ("adj", ("ppl",)),
)
# fmt: on
_PART_OF_SPEECH = {"noun": 1, "verb": 2, "adj": 3, "adv": 4}
_DATABASE_FILES = (
    *(f"{kind}.{part}" for kind in ("data", "index") for part in ("adj", "adv", "noun", "verb")),
    *(f"{part}.exc" for part in ("adj", "adv", "noun", "verb")),
    "index.sense",
    "cntlist.rev",
)
_CORPUS_FILES = frozenset({*_DATABASE_FILES, "lexnames", "README", "LICENSE", "citation.bib"})
"""What a corpus folder holds, ours or NLTK's: nothing else is replaced."""
_CACHED_WORDS = 200_000
"""Words whose synonyms are kept: more than WordNet has single words."""


class WordNetError(AesError):
    """WordNet is missing or incomplete; the message names the package and the command."""


@dataclass(frozen=True)
class _Lemma:
    text: str

    def name(self) -> str:
        return self.text


@dataclass(frozen=True)
class _Synset:
    names: tuple[_Lemma, ...]

    def lemmas(self) -> tuple[_Lemma, ...]:
        return self.names


class Lexicon:
    """WordNet's synonyms of a word, each word looked up once; safe to use from several threads.

    Args:
        reader: NLTK's `WordNetCorpusReader`.
    """

    def __init__(self, reader: Any) -> None:
        self._reader = reader
        self._lock = threading.Lock()
        self.version = str(reader.get_version())
        self.synonyms = functools.lru_cache(maxsize=_CACHED_WORDS)(self._synonyms)

    def _synonyms(self, word: str) -> frozenset[str]:
        with self._lock:  # NLTK's reader seeks in open files
            names = {lemma.name() for synset in self._reader.synsets(word) for lemma in synset.lemmas()}
        return frozenset(name for name in names if "_" not in name)

    def within(self, words: set[str]) -> Synonyms:
        """What NLTK's METEOR takes for its WordNet reader when only these words can be matched."""
        return Synonyms(self, words)


@dataclass(frozen=True)
class Synonyms:
    """A lexicon's synonyms that are among some words: METEOR asks no more, and others cost time.

    Attributes:
        lexicon: All synonyms.
        words: Those that matter: the reference's.
    """

    lexicon: Lexicon
    words: set[str]

    def synsets(self, word: str) -> tuple[_Synset, ...]:
        """The synonyms of a word, as one synset of NLTK's kind."""
        found = self.lexicon.synonyms(word) & self.words
        return (_Synset(tuple(map(_Lemma, found))),) if found else ()


def find_wordnet(extra: Path | None = None) -> Any:
    """The corpus `wordnet` as a path of NLTK's, unpacked or zipped; None where there is none.

    Args:
        extra: A folder of NLTK data that is looked in first; it joins NLTK's own list, because NLTK opens no archive
            outside of that.
    """
    import nltk

    if extra is not None and str(extra) not in nltk.data.path:
        nltk.data.path.insert(0, str(extra))
    for name in ("corpora/wordnet", "corpora/wordnet.zip/wordnet/"):
        try:
            return nltk.data.find(name)
        except (LookupError, OSError, ValueError):
            continue
    return None


@functools.cache
def _english_reader() -> Any:
    """NLTK's reader without the map between versions of WordNet, which is for translations and takes half the time."""
    from nltk.corpus.reader.wordnet import WordNetCorpusReader

    class EnglishReader(WordNetCorpusReader):  # type: ignore[misc]
        def map_wn(self, version: str = "wordnet") -> None:
            return None

    return EnglishReader


_lexicons: dict[str, Lexicon] = {}
"""Loaded ones by the corpus' place."""
_load_lock = threading.Lock()


def load_wordnet(extra: Path | None = None) -> Lexicon:
    """WordNet, loaded once for the process (some seconds).

    Args:
        extra: A folder of NLTK data that is looked in first.

    Raises:
        WordNetError: It is in none of NLTK's folders, or incomplete.
    """
    import nltk

    with _load_lock:
        root = find_wordnet(extra)
        if root is None:
            raise WordNetError(
                f"METEOR needs the corpus wordnet of NLTK, which is in none of {', '.join(nltk.data.path)}. "
                "Run `lmms-aes data fetch wordnet`, which downloads it or takes it from the Debian packages "
                "wordnet-base and wordnet-sense-index; or set NLTK_DATA to a folder that holds corpora/wordnet."
            )
        place = str(root)
        if place not in _lexicons:
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # that WordNet is loaded without its translations
                    _lexicons[place] = Lexicon(_english_reader()(root, None))
            except (OSError, ValueError, KeyError, IndexError) as error:
                raise WordNetError(
                    f"{root} is no complete WordNet ({error}). Remove it, and run `lmms-aes data fetch wordnet`."
                ) from None
        return _lexicons[place]


def lexicographer_table() -> str:
    """The file `lexnames`, which Debian's package lacks: number, name, part of speech (manual page lexnames(5WN))."""
    names = [(f"{part}.{name}", _PART_OF_SPEECH[part]) for part, group in _LEXICOGRAPHER_FILES for name in group]
    return "".join(f"{number:02d}\t{name}\t{part}\n" for number, (name, part) in enumerate(names))


def build_corpus(dictionary: Path, nltk_data: Path) -> Path:
    """Lay WordNet's own database files out as NLTK's corpus.

    Args:
        dictionary: Folder of the database (Debian: /usr/share/wordnet, packages wordnet-base and wordnet-sense-index).
        nltk_data: Folder of NLTK data to put `corpora/wordnet` into.

    Returns:
        The corpus' folder.

    Raises:
        WordNetError: A file is missing.
    """
    missing = [name for name in _DATABASE_FILES if not (dictionary / name).is_file()]
    if missing:
        raise WordNetError(
            f"{dictionary} lacks {', '.join(missing)} of WordNet's database. On Debian: "
            "apt-get install wordnet-base wordnet-sense-index."
        )
    target = nltk_data / "corpora" / "wordnet"
    if target.is_symlink() or (target.exists() and not target.is_dir()):
        raise WordNetError(f"{target} is a link or a file. Remove it, or name another folder.")
    foreign = sorted({path.name for path in target.iterdir()} - _CORPUS_FILES) if target.is_dir() else []
    if foreign:
        raise WordNetError(
            f"{target} holds {', '.join(foreign[:10])} besides the corpus, which replacing it would delete. Move that, "
            "or name another folder."
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as name:
        made = Path(name) / "wordnet"
        made.mkdir()
        for file in _DATABASE_FILES:
            shutil.copyfile(dictionary / file, made / file)
        (made / "lexnames").write_text(lexicographer_table(), "utf-8")
        if target.exists():
            shutil.rmtree(target)
        made.rename(target)
    _lexicons.pop(str(target), None)
    return target


DEBIAN_FOLDER = Path("/usr/share/wordnet")
"""Where Debian's packages put the database."""


def has_database(folder: Path) -> bool:
    """Whether a folder holds WordNet's database, whole."""
    return all((folder / name).is_file() for name in _DATABASE_FILES)
