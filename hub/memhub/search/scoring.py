"""BM25 over packed postings, with the statistics of exactly the scopes that a query matches.

Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), with
idf = ln(1 + (N - df + 0.5) / (df + 0.5)), which is never negative. A record is keyed by an integer,
scope number << 32 | number in its scope, so that one sum serves several scopes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from memhub.search.analyzer import Question
from memhub.search.documents import AUTHOR, LENGTHS, STOPS
from memhub.search.parameters import K1, OWN, B
from memhub.search.scores import PlainScores, Rows, Scores, add_up, parts_of

__all__ = ["Postings", "Totals", "asked", "score"]

Postings = Mapping[str, Rows]
"""The rows of each term."""

VECTOR: int = 20_000
"""Postings from which numpy, where installed, sums; fewer are not worth importing it for."""


@dataclass(frozen=True, slots=True)
class Totals:
    """Of the scopes matched: how many records, and the sum of their lengths in words."""

    count: int
    length: int


def asked(question: Question) -> list[str]:
    """The terms to fetch from the index for a question."""
    named = [AUTHOR + word for word in sorted(question.words)]
    return [*(question.terms or (STOPS,)), *named]


def score(question: Question, postings: Postings, totals: Totals, *, explain: bool = False) -> Scores:
    """Score the fetched postings. With `explain`, keep what each word gave to each record."""
    named = frozenset(
        first + place
        for word in question.words
        for first, blob in postings.get(AUTHOR + word, ())
        for place in blob[::3]
    )
    if not question.terms:
        return _score_stops(question, postings, totals, named)
    norms = _norms(totals)
    found = [(term, postings.get(term, ())) for term in question.terms]
    weighted = [(term, rows, _weight(_count(rows), totals)) for term, rows in found if rows]
    parts = {term: parts_of(rows, weight, norms) for term, rows, weight in weighted} if explain else {}
    if sum(_count(rows) for _, rows, _ in weighted) >= VECTOR and _numpy():
        return add_up([(rows, weight) for _, rows, weight in weighted], norms, named, parts)
    base: dict[int, float] = {}
    for _, rows, weight in weighted:
        _add(base, rows, weight, norms)
    return PlainScores(base, named, parts)


def _add(base: dict[int, float], rows: Rows, weight: float, norms: Sequence[float]) -> None:
    for first, blob in rows:
        for place, tf, code in zip(blob[::3], blob[1::3], blob[2::3], strict=True):
            key = first + place
            base[key] = base.get(key, 0.0) + weight * tf / (tf + norms[code])


def _count(rows: Rows) -> int:
    return sum([len(blob) for _, blob in rows]) // 3


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
    return PlainScores(base, named, parts)


def _weight(df: int, totals: Totals) -> float:
    return (K1 + 1) * math.log(1 + (totals.count - df + 0.5) / (df + 0.5)) if df else 0.0


@lru_cache(64)
def _norms(totals: Totals) -> tuple[float, ...]:
    """What BM25 adds to a frequency in the denominator, by length code."""
    mean = totals.length / totals.count if totals.length else 1.0
    return tuple(OWN * K1 * (1 - B + B * length / mean) for length in LENGTHS)


@lru_cache(1)
def _numpy() -> bool:
    """Whether numpy can be imported; it is, here, on the first question that it speeds."""
    try:
        import numpy  # noqa: F401, ICN001
    except ImportError:
        return False
    return True


def _stop_entries(rows: Sequence[tuple[int, bytes]]) -> Iterable[tuple[int, bytes]]:
    for first, blob in rows:
        at = 0
        while at < len(blob):
            end = at + 2 + blob[at + 1]
            yield first + blob[at], blob[at + 2 : end]
            at = end
