"""BM25 over packed postings, with the statistics of exactly the scopes that a query matches.

Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), with
idf = ln(1 + (N - df + 0.5) / (df + 0.5)), which is never negative. A record is keyed by an integer,
scope number << 32 | number in its scope, so that one sum serves several scopes.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from memhub.search.analyzer import Question
from memhub.search.documents import AUTHOR, LENGTHS, STOPS
from memhub.search.parameters import K1, OWN, SPEAKER, B

__all__ = ["Postings", "Scores", "Totals", "asked", "score"]

Postings = Mapping[str, Sequence[tuple[int, bytes]]]
"""By term: (key of the block's first record, blob)."""

VECTOR: int = 4_000
"""Postings from which numpy, where installed, is faster; the sums are the same to the last bit."""


@dataclass(frozen=True, slots=True)
class Totals:
    """Of the scopes matched: how many records, and the sum of their lengths in words."""

    count: int
    length: int


@dataclass(slots=True)
class Scores:
    """The score of every record that holds a word of the question.

    `named` are the records whose author the question names: their scores are raised by SPEAKER.
    """

    base: dict[int, float]
    named: frozenset[int]
    parts: dict[str, dict[int, float]] = field(default_factory=dict)

    def raised(self, key: int, added: float = 0.0) -> float:
        """The record's score and what was added to it, its author considered."""
        found = self.base[key] + added
        return found * (1 + SPEAKER) if key in self.named else found

    def head(self, count: int) -> list[int]:
        """The `count` best, in no order, and all that equal the last of them."""
        values = self.base
        if count >= len(values):
            return list(values)
        if self.named:
            values = {key: self.raised(key) for key in values}
        floor = heapq.nlargest(count, values.values())[-1]
        return [key for key, value in values.items() if value >= floor]


def asked(question: Question) -> list[str]:
    """The terms to fetch from the index for a question."""
    named = [AUTHOR + word for word in sorted(question.words)]
    return [*(question.terms or (STOPS,)), *named]


def score(question: Question, postings: Postings, totals: Totals, *, explain: bool = False) -> Scores:
    """Score the fetched postings. With `explain`, keep what each word gave to each record."""
    named = frozenset(
        key for word in question.words for key, _, _ in _entries(postings.get(AUTHOR + word, ()))
    )
    if not question.terms:
        return _score_stops(question, postings, totals, named)
    norms = _norms(totals)
    base: dict[int, float] = {}
    parts: dict[str, dict[int, float]] = {}
    add = _vectorised if _many(question, postings) else _plain
    for term in question.terms:
        rows = postings.get(term, ())
        weight = _weight(sum(len(blob) for _, blob in rows) // 3, totals)
        if explain:
            parts[term] = {}
            _plain(parts[term], rows, weight, norms)
        add(base, rows, weight, norms)
    return Scores(base, named, parts)


def _plain(
    out: dict[int, float], rows: Sequence[tuple[int, bytes]], weight: float, norms: list[float]
) -> None:
    for first, blob in rows:
        for place, tf, code in zip(blob[::3], blob[1::3], blob[2::3], strict=True):
            key = first + place
            out[key] = out.get(key, 0.0) + weight * tf / (tf + norms[code])


def _vectorised(
    out: dict[int, float], rows: Sequence[tuple[int, bytes]], weight: float, norms: list[float]
) -> None:
    import numpy as np

    if not rows:
        return
    triples = np.frombuffer(b"".join([blob for _, blob in rows]), np.uint8).reshape(-1, 3)
    firsts = np.repeat([first for first, _ in rows], [len(blob) // 3 for _, blob in rows])
    tf = triples[:, 1].astype(np.float64)
    values = weight * tf / (tf + np.asarray(norms)[triples[:, 2]])
    for key, value in zip((firsts + triples[:, 0]).tolist(), values.tolist(), strict=True):
        out[key] = out.get(key, 0.0) + value


def _score_stops(question: Question, postings: Postings, totals: Totals, named: frozenset[int]) -> Scores:
    """A question of stop words alone: each present counts once, at the mean length."""
    holders: dict[int, list[int]] = {number: [] for number in question.stops}
    for key, numbers in _stop_entries(postings.get(STOPS, ())):
        for number in numbers:
            if number in holders:
                holders[number].append(key)
    base: dict[int, float] = {}
    parts: dict[str, dict[int, float]] = {}
    for number, word in question.stops.items():
        value = _weight(len(holders[number]), totals) * OWN / (OWN + OWN * K1)
        parts[word] = dict.fromkeys(holders[number], value)
        for key in holders[number]:
            base[key] = base.get(key, 0.0) + value
    return Scores(base, named, parts)


def _weight(df: int, totals: Totals) -> float:
    return (K1 + 1) * math.log(1 + (totals.count - df + 0.5) / (df + 0.5)) if df else 0.0


def _norms(totals: Totals) -> list[float]:
    mean = totals.length / totals.count if totals.length else 1.0
    return [OWN * K1 * (1 - B + B * length / mean) for length in LENGTHS]


def _many(question: Question, postings: Postings) -> bool:
    size = sum(len(blob) for term in question.terms for _, blob in postings.get(term, ()))
    if size < 3 * VECTOR:
        return False
    try:
        import numpy  # noqa: F401, ICN001
    except ImportError:
        return False
    return True


def _entries(rows: Sequence[tuple[int, bytes]]) -> Iterable[tuple[int, int, int]]:
    for first, blob in rows:
        for at in range(0, len(blob), 3):
            yield first + blob[at], blob[at + 1], blob[at + 2]


def _stop_entries(rows: Sequence[tuple[int, bytes]]) -> Iterable[tuple[int, bytes]]:
    for first, blob in rows:
        at = 0
        while at < len(blob):
            end = at + 2 + blob[at + 1]
            yield first + blob[at], blob[at + 2 : end]
            at = end
