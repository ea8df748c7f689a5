"""Documents not yet in the postings: one row each, so that a small write stores one row.

A scope's newest few documents lie in the `fresh` table, whole; when they are FRESH, they move into
the postings together. A question reads both. A row holds the document's length code, the count and
numbers of its stop words, then for each term 0xFF, the term in UTF-8, 0xFE and its frequency in
quarters; neither mark occurs in UTF-8.
"""

from __future__ import annotations

import re
from typing import Final

from memhub.search.documents import STOPS, Document

__all__ = ["FRESH", "entry", "mark", "packed", "unpacked"]

FRESH: Final = 32
"""Most documents of one scope outside the postings: some 40 microseconds of a question's time."""

_BEGIN: Final = b"\xff"
_END: Final = b"\xfe"
_TERM: Final = re.compile(rb"\xff([^\xfe]*)\xfe(.)", re.DOTALL)


def packed(document: Document) -> bytes:
    """A document as a row."""
    terms = b"".join(
        b"%b%b%b%c" % (_BEGIN, term.encode(), _END, min(255, tf)) for term, tf in document.terms.items()
    )
    return bytes((document.length, len(document.stops), *sorted(document.stops))) + terms


def unpacked(row: bytes) -> Document:
    """The document of a row."""
    head = 2 + row[1]
    terms = {term.decode(): tf[0] for term, tf in _TERM.findall(row, head)}
    return Document(terms, frozenset(row[2:head]), row[0])


def mark(term: str) -> bytes:
    """What `entry` looks for."""
    return b"" if term == STOPS else _BEGIN + term.encode() + _END


def entry(row: bytes, mark: bytes, place: int) -> bytes:
    """What the postings would hold of the row under the term of a mark; empty where it has none."""
    if not mark:
        return bytes((place, row[1])) + row[2 : 2 + row[1]] if row[1] else b""
    at = row.find(mark)
    return b"" if at < 0 else bytes((place, row[at + len(mark)], row[0]))
