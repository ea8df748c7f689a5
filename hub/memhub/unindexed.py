"""Listing and searching records that are simply there, for adapters without an index of their own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from memhub.adapter import Read
from memhub.cursors import Place
from memhub.filters import admits
from memhub.records import Hit, Recalled, Record
from memhub.search import BLOCK, Candidate, Totals, asked, document, listing_key, question, rank, score, why
from memhub.search.documents import LENGTHS

__all__ = ["listed", "searched"]


def listed(rows: Iterable[tuple[int, Record]], read: Read, *, newest: int) -> Recalled:
    """The page of `rows` that `read` asks for: newest first, and later pages keep out later writes.

    Each row is a record with its number in the order written; `newest` is the last number given.
    """
    place = Place.parse(read.cursor) if read.cursor else None
    last = place.newest if place else newest
    shown = (
        (listing_key(record), record) for number, record in rows if number <= last and admits(record, read)
    )
    left = sorted((row for row in shown if place is None or row[0] < place.last), key=lambda row: row[0])
    page = left[: -read.limit - 1 : -1]
    more = Place(last, page[-1][0]).text() if len(left) > len(page) else None
    return Recalled(tuple(Hit(record) for _, record in page), more)


def searched(records: Sequence[Record], read: Read) -> Recalled:
    """What `read` finds by its words among the records that its scopes reach, most relevant first.

    The order is that of every adapter that searches by words, neighbours left out. Every record is
    analysed anew in each call, some 50 microseconds a record, so this suits small stores.
    """
    asks = question(read.text or "")
    postings: dict[str, list[tuple[int, bytes]]] = {}
    length = 0
    for number, record in enumerate(records):
        found = document(record)
        length += LENGTHS[found.length]
        for term, entry in found.entries(number & 127).items():
            postings.setdefault(term, []).append((number >> BLOCK << BLOCK, entry))
    wanted = {term: postings.get(term, ()) for term in asked(asks)}
    scores = score(asks, wanted, Totals(len(records), length), explain=read.explain)

    def fetch(keys: Sequence[int]) -> dict[int, Candidate]:
        return {key: Candidate(listing_key(records[key])) for key in keys if admits(records[key], read)}

    hits = []
    for hit in rank(scores, read.limit, fetch, turns=False):
        reason = why(hit, records[hit.key], asks, scores) if read.explain else None
        hits.append(Hit(records[hit.key], hit.score, reason))
    return Recalled(tuple(hits))
