"""From scores to hits: filters before the cut, then the boosts that reorder and never add."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from memhub.records import Record, Why
from memhub.search.analyzer import Question
from memhub.search.documents import document
from memhub.search.fusion import fused
from memhub.search.parameters import FOLLOWING, POOL, SESSION, SESSION_BEST, SPEAKER
from memhub.search.scores import PlainScores, Scores, raised

__all__ = ["Candidate", "Ranked", "Steps", "blending", "listing_key", "rank", "ranking", "why"]


class Candidate(NamedTuple):
    """What ranking must know of a record that the query's filters admit.

    `order` sorts as `listing_key` does, in whatever form the adapter has it. A stand-alone record
    has no `session`. `previous` is the key of the turn before it, None for the first; `lends` says
    whether neighbours gain from it.
    """

    order: tuple[Any, ...]
    session: int | None = None
    previous: int | None = None
    lends: bool | int = True


@dataclass(frozen=True, slots=True)
class Ranked:
    """A hit: its key, its score, and what the boosts added to it."""

    key: int
    score: float
    following: float = 0.0
    speaker: float = 0.0
    session: float = 0.0


Fetch = Callable[[Sequence[int]], Mapping[int, Candidate]]
"""Of these keys, the admitted ones."""

Steps = Generator[Sequence[int], Any, list[Ranked]]
"""Yields keys, is sent what `Fetch` would give for them; begun by sending None."""


def listing_key(record: Record) -> tuple[datetime, datetime, int, str]:
    """The order of a listing, largest first."""
    return (record.observed_at, record.created_at, record.position, record.id)


def rank(scores: Scores, limit: int, fetch: Fetch, *, turns: bool) -> list[Ranked]:
    """The `limit` most relevant records that `fetch` admits.

    `turns`: whether the scopes hold any; where they hold none, no boost applies and only the
    best are fetched.
    """
    steps = ranking(scores, limit, turns=turns)
    found: Mapping[int, Candidate] | None = None
    while True:
        try:
            found = fetch(steps.send(found))
        except StopIteration as done:
            ranked: list[Ranked] = done.value
            return ranked


def ranking(scores: Scores, limit: int, *, turns: bool) -> Steps:
    """`rank` for those who cannot fetch in between: yields keys, is sent the admitted ones of them."""
    pool = yield from _pool(scores, max(POOL, limit) if turns else limit)
    return _boosted(pool, scores, limit, turns=turns)


def blending(scores: Scores, meaning: Mapping[int, float], limit: int, *, turns: bool) -> Steps:
    """`ranking` by words and meaning, fused by relative scores.

    `meaning` holds how near the nearest records are, POOL of them or `limit`, of those admitted.
    """
    size = max(POOL, limit)
    pool = dict((yield from _pool(scores, size)))
    words = {key: scores.base(key) for key in pool}
    if others := [key for key in meaning if key not in pool]:
        pool |= yield others
    blend = fused(words, {key: near for key, near in meaning.items() if key in pool})
    best = {key: pool[key] for key in _best(pool, blend, size)}
    return _boosted(best, PlainScores(blend, scores.named), limit, turns=turns)


def _boosted(pool: Mapping[int, Candidate], scores: Scores, limit: int, *, turns: bool) -> list[Ranked]:
    """The best of a pool, once turns have gained from those around them."""
    following = _following(pool, scores) if turns else {}
    values = {key: raised(scores, key, following.get(key, 0.0)) for key in pool}
    session = _session_gains(pool, values) if turns else {}
    if session:
        values = {key: value + session[key] for key, value in values.items()}
    return [
        Ranked(
            key,
            values[key],
            following=following.get(key, 0.0),
            speaker=(scores.base(key) + following.get(key, 0.0)) * SPEAKER if key in scores.named else 0.0,
            session=session.get(key, 0.0),
        )
        for key in _best(pool, values, limit)
    ]


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


def _pool(scores: Scores, size: int) -> Generator[Sequence[int], Any, Mapping[int, Candidate]]:
    """The best admitted records: fetches on until `size` are found or none is left."""
    admitted: dict[int, Candidate] = {}
    seen: set[int] = set()
    count = size
    while True:
        head = scores.head(count)
        fresh = [key for key in head if key not in seen]
        seen.update(fresh)
        if fresh:
            admitted.update((yield fresh))
        if len(admitted) >= size or len(head) == len(scores):
            break
        count *= 4
    if len(admitted) <= size:
        return admitted
    values = {key: raised(scores, key) for key in admitted}
    return {key: admitted[key] for key in _best(admitted, values, size)}


def _best(pool: Mapping[int, Candidate], values: Mapping[int, float], count: int) -> Iterable[int]:
    """The keys of the highest values, equal ones in the order of a listing."""
    return heapq.nlargest(count, pool, key=lambda key: (values[key], pool[key].order))


def _following(pool: Mapping[int, Candidate], scores: Scores) -> dict[int, float]:
    """What each turn gains from the turn after it."""
    return {
        candidate.previous: FOLLOWING * scores.base(key)
        for key, candidate in pool.items()
        if candidate.previous is not None and candidate.lends and candidate.previous in pool
    }


def _session_gains(pool: Mapping[int, Candidate], values: Mapping[int, float]) -> dict[int, float]:
    """What each record gains from the best of its session.

    A stand-alone record is a session of its own, so that turns gain nothing over it by being turns.
    """
    sessions: dict[int, list[float]] = {}
    for key, candidate in pool.items():
        sessions.setdefault(key if candidate.session is None else candidate.session, []).append(values[key])
    gains = {
        session: SESSION * sum(sorted(found, reverse=True)[:SESSION_BEST]) / SESSION_BEST
        for session, found in sessions.items()
    }
    return {
        key: gains[key if candidate.session is None else candidate.session] for key, candidate in pool.items()
    }
