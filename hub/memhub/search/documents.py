"""What the index holds of one record, and how three bytes hold a posting.

A posting is (place in a block of 128 records, term frequency in quarters, length code). Records
are numbered within their exact scope; block = number >> 7. Stop words are packed apart, under the
empty term, as (place, count, numbers...): they are looked for only when a question has no other
words, and would otherwise double the index.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from memhub.records import Record
from memhub.search.analyzer import analyze, date_words, words
from memhub.search.parameters import OWN, PREVIOUS

__all__ = [
    "AUTHOR",
    "BLOCK",
    "LENGTHS",
    "STOPS",
    "Document",
    "document",
    "lends",
    "length_code",
    "lent_terms",
    "without",
]

BLOCK: Final = 7
"""Bits of a record's number that tell its place in a block."""

STOPS: Final = ""
"""The term under which stop words are packed."""

AUTHOR: Final = "@"
"""Prefix of the terms that say whose words these are; no word begins with it."""

_EXACT: Final = 128
_STEPS: Final = 16


@dataclass(frozen=True, slots=True)
class Document:
    """One record in the index: quarters by term, stop words, and the code of its length."""

    terms: Mapping[str, int]
    stops: frozenset[int]
    length: int

    def entries(self, place: int) -> dict[str, bytes]:
        """What the record adds under each term, as stored."""
        found = {term: bytes((place, min(255, tf), self.length)) for term, tf in self.terms.items()}
        if self.stops:
            found[STOPS] = bytes((place, len(self.stops), *sorted(self.stops)))
        return found


def document(record: Record, lent: Mapping[str, int] | None = None) -> Document:
    """The document of a record; `lent` are the terms of the turn before it, see `lent_terms`."""
    author = record.provenance.author or ""
    parts = (author, record.content, *record.tags, date_words(record.observed_at))
    own = analyze(" ".join(parts))
    terms = {term: OWN * count for term, count in own.terms.items()}
    if lent:
        for term, count in lent.items():
            terms[term] = terms.get(term, 0) + PREVIOUS * count
    length = length_code(sum(terms.values()) // OWN)
    for word in words(author, stored=True):
        terms[AUTHOR + word] = OWN
    return Document(terms, own.stops, length)


def lends(record: Record) -> bool:
    """Whether neighbours may answer to this record's words: not once invalidated, nor with an expiry."""
    return record.invalid_at is None and record.expires_at is None


def lent_terms(record: Record | None) -> Mapping[str, int] | None:
    """What a turn lends to the one after it: the terms of its content alone."""
    return analyze(record.content).terms if record is not None and lends(record) else None


def length_code(length: int) -> int:
    """One byte for a length in words: exact below 128, then sixteen steps an octave, to 31,000."""
    if length < _EXACT:
        return length
    return min(255, _EXACT + round(_STEPS * math.log2(length / _EXACT)))


LENGTHS: Final = tuple(
    code if code < _EXACT else round(_EXACT * 2 ** ((code - _EXACT) / _STEPS)) for code in range(256)
)
"""The length that each code stands for."""


def without(blob: bytes, place: int, *, stops: bool = False) -> bytes:
    """A stored blob less the entry of one record."""
    at = 0
    while at < len(blob):
        size = 2 + blob[at + 1] if stops else 3
        if blob[at] == place:
            return blob[:at] + blob[at + size :]
        at += size
    return blob
