"""Text to terms: one analyzer for every adapter that searches by words.

Case and diacritics fold (Unicode casefold, NFKD, combining marks below U+0400 dropped). Words are
runs of letters, digits and underscores; a snake_case word counts whole and by its parts. Scripts
written without spaces give overlapping pairs of characters, and single characters when stored.
Each emoji is a word. English words are stemmed (Snowball's English stemmer); words of other
alphabets lose two letters, three staying.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from threading import Lock
from typing import Final
from zlib import crc32

__all__ = [
    "ANALYZER",
    "STOP_WORDS",
    "Analysis",
    "Question",
    "analyze",
    "date_words",
    "fingerprint",
    "has_words",
    "question",
    "words",
]

ANALYZER: Final = 1
"""Version of everything here that decides a term. An index made by another version is rebuilt."""

TERM_CHARS: Final = 64
"""Longer words are cut into pieces of this many characters, stored and asked alike."""

STOP_WORDS: Final = tuple(
    """
    a about above after again against all also am an and any are as at be because been before being below
    between both but by can cannot could d did do does doing down during each few for from further had
    has have having he her here hers herself him himself his how i if in into is it its itself ll m me
    more most my myself no nor not of off on once only or other our ours ourselves out over own re s same
    she should so some such t than that the their theirs them themselves then there these they this those
    through to too under until up ve very was we were what when where which while who whom why will with
    would y you your yours yourself yourselves
    """.split()  # noqa: SIM905 - read as prose
)
"""English words too common to look for, unless a question has no others. The order is stored: append only."""

_STOP_NUMBER: Final = {word: number for number, word in enumerate(STOP_WORDS)}
_UNSPACED: Final = (
    "\u0e00-\u0e3e\u0e40-\u0e4e\u0e50-\u0e59\u0e5c-\u0eff\u1000-\u1049\u1050-\u109d"
    "\u1780-\u17d3\u17d7\u17dc-\u17ff\u3040-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
"""Thai, Lao, Burmese, Khmer, kana, Han and Hangul, less the signs among them that end or part words."""

_EMOJI: Final = "\u2300-\u23ff\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff"
_RUN: Final = re.compile(rf"[{_UNSPACED}]+|[^\W{_UNSPACED}]{{1,{TERM_CHARS}}}|[{_EMOJI}]")
_ASCII_RUN: Final = re.compile(rf"[a-z0-9_]{{1,{TERM_CHARS}}}")
_STEMMING: Final = Lock()
"""The stemmer keeps its word in itself, so one thread at a time."""
_PROBE: Final = (
    *("running", "happily", "organization", "generously", "news", "skies", "added", "being", "evening"),
    *("communication", "universal", "arsenic", "geologist", "pasted", "hopping", "prepaying", "inning"),
)
"""Words whose stems differ between releases of the stemmer, or could."""
_MONTHS: Final = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)


@dataclass(frozen=True, slots=True)
class Analysis:
    """What a stored text consists of: how often each term occurs, and the numbers of its stop words."""

    terms: dict[str, int]
    stops: frozenset[int]


@dataclass(frozen=True, slots=True)
class Question:
    """What a query looks for: each term with the word it came from; stop words only when alone.

    `words` are all that could name an author.
    """

    terms: dict[str, str]
    stops: dict[int, str]
    words: frozenset[str]


def words(text: str, *, stored: bool) -> list[str]:
    """The folded words of a text, in order, not yet stemmed."""
    if text.isascii():
        runs = _ASCII_RUN.findall(text.lower())
        return runs if "_" not in text else [part for run in runs for part in _parts(run)]
    found: list[str] = []
    for run in _RUN.findall(_fold(text)):
        if not _is_unspaced(run[0]):
            found += _parts(run)
            continue
        found += (run[n : n + 2] for n in range(len(run) - 1))
        if stored or len(run) == 1:
            found += run
    return found


def has_words(text: str) -> bool:
    """Whether there is anything to look for."""
    return bool(words(text, stored=False))


def analyze(text: str) -> Analysis:
    """The terms of a stored text."""
    found = Counter(map(_term, words(text, stored=True)))
    terms = {term: count for term, count in found.items() if isinstance(term, str)}
    return Analysis(terms, frozenset(term for term in found if isinstance(term, int)))


def question(text: str) -> Question:
    """The terms of a query, each once."""
    found = dict.fromkeys(words(text, stored=False))
    terms: dict[str, str] = {}
    stops: dict[int, str] = {}
    for word in found:
        term = _term(word)
        if isinstance(term, int):
            stops[term] = word
        else:
            terms.setdefault(term, word)
    names = frozenset(found) - set(stops.values())
    return Question(terms, {} if terms else stops, names)


def date_words(moment: datetime) -> str:
    """A date as people write it, day, month and year: what a dated question looks for."""
    return f"{moment.day} {_MONTHS[moment.month - 1]} {moment.year}"


@lru_cache(1)
def fingerprint() -> str:
    """What an index remembers of the analyzer that made it: version, and a probe of the stemmer."""
    stems = " ".join(str(_term(word)) for word in _PROBE)
    return f"{ANALYZER}-{crc32(stems.encode()):08x}"


@lru_cache(100_000)
def _term(word: str) -> str | int:
    """The term of a word, or the number of a stop word."""
    number = _STOP_NUMBER.get(word)
    if number is not None:
        return number
    if word.isascii():
        return _stem(word) if word.isalpha() else word
    if _is_unspaced(word[0]):
        return word
    return word[: max(3, len(word) - 2)]


def _stem(word: str) -> str:
    with _STEMMING:
        return str(_stemmer().stemWord(word))


@lru_cache(1)
def _stemmer():  # type: ignore[no-untyped-def]  # noqa: ANN202 - the library has no types
    # The class itself: the package's factory would prefer another implementation where installed.
    from snowballstemmer.english_stemmer import EnglishStemmer

    return EnglishStemmer()


def _parts(run: str) -> list[str]:
    """A word, and the parts of a snake_case one; nothing for underscores alone."""
    if "_" not in run:
        return [run]
    parts = [part for part in run.split("_") if part]
    return [run, *parts] if len(parts) > 1 else parts


def _fold(text: str) -> str:
    decomposed = unicodedata.normalize("NFKD", text.casefold()).casefold()
    kept = (c for c in decomposed if ord(c) >= 0x400 or unicodedata.category(c) != "Mn")  # noqa: PLR2004
    return unicodedata.normalize("NFC", "".join(kept))


@lru_cache(10_000)
def _is_unspaced(character: str) -> bool:
    return re.match(f"[{_UNSPACED}]", character) is not None
