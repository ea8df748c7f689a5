"""From scores to hits: filters before the cut, then the boosts that reorder and never add."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from memhub.records import Record, Why
from memhub.search.analyzer import Question
from memhub.search.documents import document
from memhub.search.parameters import FOLLOWING, POOL, SESSION, SESSION_BEST, SPEAKER
from memhub.search.scoring import Scores

__all__ = ["Candidate", "Ranked", "listing_key", "rank", "why"]


@dataclass(frozen=True, slots=True)
class Candidate:
    """What ranking must know of a record that the query's filters admit.

    `order` is its `listing_key`. A stand-alone record has no `session`. `previous` is the key of
    the turn before it, None for the first; `lends` says whether neighbours gain from it.
    """

    order: tuple[datetime, datetime, int, str]
    session: int | None = None
    previous: int | None = None
    lends: bool = True


@dataclass(slots=True)
class Ranked:
    """A hit: its key, its score, and what the boosts added to it."""

    key: int
    score: float
    following: float = 0.0
    speaker: float = 0.0
    session: float = 0.0


Fetch = Callable[[Sequence[int]], dict[int, Candidate]]
"""Of these keys, the admitted ones."""


def listing_key(record: Record) -> tuple[datetime, datetime, int, str]:
    """The order of a listing, largest first."""
    return (record.observed_at, record.created_at, record.position, record.id)


def rank(scores: Scores, limit: int, fetch: Fetch, *, turns: bool) -> list[Ranked]:
    """The `limit` most relevant records that `fetch` admits.

    `turns`: whether the scopes hold any; where they hold none, no boost applies and only the
    best are fetched.
    """
    pool = _pool(scores, max(POOL, limit) if turns else limit, fetch)
    hits = {key: Ranked(key, scores.value(key)) for key, _ in pool}
    admitted = dict(pool)
    if turns:
        _boost_following(hits, admitted, scores)
        _boost_session(hits, admitted)
    ordered = sorted(hits.values(), key=lambda hit: admitted[hit.key].order, reverse=True)
    ordered.sort(key=lambda hit: -hit.score)
    for hit in ordered[:limit]:
        if hit.key in scores.named:
            hit.speaker = (scores.base[hit.key] + hit.following) * SPEAKER
    return ordered[:limit]


def why(hit: Ranked, record: Record, question: Question, scores: Scores) -> Why:
    """What brought a record here, for `explain`: needs scores made with `explain`."""
    own = document(record).terms
    words: dict[str, float] = {}
    neighbour: dict[str, float] = {}
    for term, gained in scores.parts.items():
        if hit.key in gained:
            found = words if term in own or not question.terms else neighbour
            found[question.terms.get(term, term)] = gained[hit.key]
    return Why(
        words=words,
        neighbour=neighbour,
        following=hit.following,
        speaker=hit.speaker,
        session=hit.session,
    )


def _pool(scores: Scores, size: int, fetch: Fetch) -> list[tuple[int, Candidate]]:
    """The best admitted records: fetches on until `size` are found or none is left."""
    admitted: dict[int, Candidate] = {}
    seen: set[int] = set()
    count = size
    while True:
        head = scores.head(count)
        fresh = [key for key, _ in head if key not in seen]
        seen.update(fresh)
        admitted.update(fetch(fresh) if fresh else {})
        if len(admitted) >= size or len(head) == len(scores.base):
            break
        count *= 4
    ordered = sorted(admitted.items(), key=lambda item: item[1].order, reverse=True)
    ordered.sort(key=lambda item: -scores.value(item[0]))
    return ordered[:size]


def _boost_following(hits: dict[int, Ranked], admitted: dict[int, Candidate], scores: Scores) -> None:
    for key, candidate in admitted.items():
        earlier = hits.get(candidate.previous) if candidate.previous is not None else None
        if earlier is not None and candidate.lends:
            earlier.following = FOLLOWING * scores.base[key]
            factor = 1 + SPEAKER if earlier.key in scores.named else 1.0
            earlier.score = (scores.base[earlier.key] + earlier.following) * factor


def _boost_session(hits: dict[int, Ranked], admitted: dict[int, Candidate]) -> None:
    sessions: dict[int, list[float]] = {}
    for key, hit in hits.items():
        sessions.setdefault(_session(admitted[key], key), []).append(hit.score)
    gains = {
        session: SESSION * sum(heapq.nlargest(SESSION_BEST, values)) / SESSION_BEST
        for session, values in sessions.items()
    }
    for key, hit in hits.items():
        hit.session = gains[_session(admitted[key], key)]
        hit.score += hit.session


def _session(candidate: Candidate, key: int) -> int:
    """A stand-alone record is a session of its own, so that turns gain nothing over it by being turns."""
    return key if candidate.session is None else candidate.session
