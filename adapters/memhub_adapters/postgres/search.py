"""Search by words, by meaning, or both: what the lists are made of, then what ranking asks for, in one snapshot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from memhub.adapter import Read
from memhub.records import Hit, Recalled, Why
from memhub.search import (
    Candidate,
    Question,
    Ranked,
    Scores,
    Totals,
    asked,
    blending,
    lends,
    listing_key,
    question,
    ranking,
    score,
    why,
)
from memhub.search.fusion import relative
from memhub.search.indexing import Slot, is_turn
from memhub.search.parameters import LEXICAL, POOL
from memhub.search.ranking import Steps
from memhub_adapters.postgres import postings
from memhub_adapters.postgres.conditions import conditions
from memhub_adapters.postgres.meaning import Nearby, near
from memhub_adapters.postgres.rows import CANDIDATE, SLOTS, Scopes, candidate_of, slot_of
from memhub_adapters.postgres.schema import check_guard
from memhub_adapters.postgres.scopes import GUARD, reached
from memhub_adapters.postgres.session import Row, Session, Statement

__all__ = ["search"]

_VECTORS: Final = "coalesce(pg_table_size(to_regclass('meaning')), 0)"


@dataclass(frozen=True, slots=True)
class _Reach:
    """The scopes that a query reaches, as a condition on `s`, and what is known of them in all.

    `vectors` is how many bytes those of every scope take.
    """

    where: Statement
    totals: Totals
    turns: bool
    vectors: int


async def search(session: Session, read: Read, text: str, nearby: Nearby | None) -> Recalled:
    """The most relevant records that the query admits."""
    if nearby is not None and nearby.alone:
        return await _by_meaning(session, read, nearby)
    asks = question(text)
    reach, scores = await _scored(session, read, asks)
    seen = _Seen(session, read, whole=nearby is None and not reach.turns)
    gains: dict[int, float] = {}
    steps = ranking(scores, read.limit, turns=reach.turns)
    if nearby is not None:
        meaning = await seen.near(nearby, reach, max(POOL, read.limit))
        gains = {key: (1 - LEXICAL) * gain for key, gain in relative(meaning).items()}
        steps = blending(scores, meaning, read.limit, turns=reach.turns)
    ranked = await _answered(steps, seen)
    slots = await seen.slots([hit.key for hit in ranked])
    hits = []
    for hit in ranked:
        record = slots[hit.key].record
        reason = why(hit, record, asks, scores) if read.explain else None
        hits.append(Hit(record, hit.score, reason and replace(reason, semantic=gains.get(hit.key, 0.0))))
    return Recalled(tuple(hits))


async def _scored(session: Session, read: Read, asks: Question) -> tuple[_Reach, Scores]:
    """What the scopes' postings say of a question: one round trip."""
    terms = asked(asks)
    where, scopes = reached(read.scopes, exact=read.exact)
    numbers = f"scope = ANY(ARRAY(SELECT s.id FROM scope s WHERE {where}))"
    rooms, packed, fresh = await session.ask(
        _rooms((where, scopes)),
        (
            f"SELECT scope, term, block, entries FROM posting WHERE {numbers} AND term = ANY(%s::text[])",
            (*scopes, terms),
        ),
        (f"SELECT scope, number, entries FROM fresh WHERE {numbers}", scopes),
    )
    reach = _reach(session, (where, scopes), rooms)
    return reach, score(asks, postings.found(packed, fresh, terms), reach.totals, explain=read.explain)


async def _by_meaning(session: Session, read: Read, nearby: Nearby) -> Recalled:
    where = reached(read.scopes, exact=read.exact)
    [rooms] = await session.ask(_rooms(where))
    seen = _Seen(session, read, whole=False)
    meaning = await seen.near(nearby, _reach(session, where, rooms), read.limit)
    slots = await seen.slots(list(meaning))
    best = sorted(
        slots.values(), key=lambda slot: (meaning[slot.key], listing_key(slot.record)), reverse=True
    )
    return Recalled(
        tuple(
            Hit(
                slot.record,
                meaning[slot.key],
                Why(semantic=meaning[slot.key]) if read.explain else None,
            )
            for slot in best
        )
    )


def _rooms(where: Statement) -> Statement:
    return f"SELECT s.count, s.length, s.turns, {GUARD}, {_VECTORS} FROM scope s WHERE {where[0]}", where[1]


def _reach(session: Session, where: Statement, rooms: Sequence[Row]) -> _Reach:
    for room in rooms[:1]:
        check_guard(room[3], session.terms.mark)
    totals = Totals(sum(room[0] for room in rooms), sum(room[1] for room in rooms))
    return _Reach(where, totals, any(room[2] for room in rooms), max((room[4] for room in rooms), default=0))


async def _answered(steps: Steps, seen: _Seen) -> list[Ranked]:
    """What ranking comes to, given what it asks for."""
    found: Mapping[int, Candidate] | None = None
    while True:
        try:
            keys = steps.send(found)
        except StopIteration as done:
            ranked: list[Ranked] = done.value
            return ranked
        found = await seen.candidates(keys)


class _Seen:
    """What ranking has asked for, filtered by the query.

    `whole`: fetch whole records at once, where ranking asks for no more than it returns.
    """

    def __init__(self, session: Session, read: Read, *, whole: bool) -> None:
        self._read = read
        self._session = session
        self._whole = whole
        self._known: dict[int, Candidate] = {}
        self._slots: dict[int, Slot] = {}
        self._scopes = Scopes()

    async def near(self, nearby: Nearby, reach: _Reach, limit: int) -> dict[int, float]:
        """The nearest of the admitted records, each with its cosine."""
        held, size = reach.totals.count, reach.vectors
        rows = await near(self._session, self._read, nearby, reach.where, limit=limit, held=held, size=size)
        self._known = {row[0]: candidate_of(row) for row in rows}
        return {row[0]: row[-1] for row in rows}

    async def candidates(self, keys: Sequence[int]) -> dict[int, Candidate]:
        """The admitted ones of these."""
        if self._known.keys() >= set(keys):
            return {key: self._known[key] for key in keys}
        where, values = conditions(self._read)
        if self._whole:
            sql = f"{SLOTS} WHERE r.key = ANY(%s::bigint[]) AND {where}"
            [rows] = await self._session.ask((sql, (list(keys), *values)))
            slots = [slot_of(row, self._scopes) for row in rows]
            self._slots |= {slot.key: slot for slot in slots}
            return {slot.key: _candidate(slot) for slot in slots}
        sql = f"SELECT {CANDIDATE} FROM record r WHERE r.key = ANY(%s::bigint[]) AND {where}"
        [rows] = await self._session.ask((sql, (list(keys), *values)))
        return {row[0]: candidate_of(row) for row in rows}

    async def slots(self, keys: Sequence[int]) -> dict[int, Slot]:
        """The records of these keys, which the query admits: the last that is asked."""
        if keys and not self._whole:
            sql = f"{SLOTS} WHERE r.key = ANY(%s::bigint[])"
            [rows] = await self._session.ask((sql, (list(keys),)), commit=True)
            self._slots = {row[0]: slot_of(row, self._scopes) for row in rows}
        return self._slots


def _candidate(slot: Slot) -> Candidate:
    record = slot.record
    return Candidate(listing_key(record), slot.session, slot.previous, lends(record) and is_turn(record))
