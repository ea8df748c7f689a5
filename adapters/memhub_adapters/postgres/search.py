"""Search by words: postings in one round trip, then what ranking asks for, in the same snapshot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from memhub.adapter import Read
from memhub.records import Hit, Recalled
from memhub.search import (
    Candidate,
    Ranked,
    Scores,
    Totals,
    asked,
    lends,
    listing_key,
    question,
    ranking,
    score,
    why,
)
from memhub.search.indexing import Slot, is_turn
from memhub_adapters.postgres import postings
from memhub_adapters.postgres.conditions import conditions
from memhub_adapters.postgres.rows import SLOTS, Scopes, slot_of
from memhub_adapters.postgres.schema import check_guard
from memhub_adapters.postgres.scopes import GUARD, reached
from memhub_adapters.postgres.session import Session

__all__ = ["search"]

_CANDIDATES: Final = (
    "SELECT r.key, r.observed_at, r.created_at, r.position, r.id, r.session, r.previous, "
    "r.role IS NOT NULL AND r.invalid_at IS NULL AND r.expires_at IS NULL "
    "FROM record r WHERE r.key = ANY(%s::bigint[])"
)


async def search(session: Session, read: Read, text: str) -> Recalled:
    """The most relevant records that the query admits."""
    asks = question(text)
    terms = asked(asks)
    reach, scopes = reached(read.scopes, exact=read.exact)
    numbers = f"scope = ANY(ARRAY(SELECT s.id FROM scope s WHERE {reach}))"
    rooms, packed, fresh = await session.ask(
        (f"SELECT s.count, s.length, s.turns, {GUARD} FROM scope s WHERE {reach}", scopes),
        (
            f"SELECT scope, term, block, entries FROM posting WHERE {numbers} AND term = ANY(%s::text[])",
            (*scopes, terms),
        ),
        (f"SELECT scope, number, entries FROM fresh WHERE {numbers}", scopes),
    )
    for *_, guard in rooms[:1]:
        check_guard(guard)
    totals = Totals(sum(room[0] for room in rooms), sum(room[1] for room in rooms))
    scores = score(asks, postings.found(packed, fresh, terms), totals, explain=read.explain)
    turns = any(room[2] for room in rooms)
    seen = _Seen(session, read, whole=not turns)
    ranked = await _ranked(seen, scores, turns=turns)
    slots = await seen.slots([hit.key for hit in ranked])
    hits = []
    for hit in ranked:
        record = slots[hit.key].record
        hits.append(Hit(record, hit.score, why(hit, record, asks, scores) if read.explain else None))
    return Recalled(tuple(hits))


async def _ranked(seen: _Seen, scores: Scores, *, turns: bool) -> list[Ranked]:
    steps = ranking(scores, seen.read.limit, turns=turns)
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
        self.read = read
        self._session = session
        self._whole = whole
        self._slots: dict[int, Slot] = {}
        self._scopes = Scopes()

    async def candidates(self, keys: Sequence[int]) -> dict[int, Candidate]:
        """The admitted ones of these."""
        where, values = conditions(self.read)
        if self._whole:
            sql = f"{SLOTS} WHERE r.key = ANY(%s::bigint[]) AND {where}"
            [rows] = await self._session.ask((sql, (list(keys), *values)))
            slots = [slot_of(row, self._scopes) for row in rows]
            self._slots |= {slot.key: slot for slot in slots}
            return {slot.key: _candidate(slot) for slot in slots}
        [rows] = await self._session.ask((f"{_CANDIDATES} AND {where}", (list(keys), *values)))
        return {row[0]: Candidate(row[1:5], *row[5:]) for row in rows}

    async def slots(self, keys: Sequence[int]) -> dict[int, Slot]:
        """The records of these keys, which the query admits."""
        if keys and not self._whole:
            sql = f"{SLOTS} WHERE r.key = ANY(%s::bigint[])"
            [rows] = await self._session.ask((sql, (list(keys),)), commit=True)
            self._slots = {row[0]: slot_of(row, self._scopes) for row in rows}
        return self._slots


def _candidate(slot: Slot) -> Candidate:
    record = slot.record
    return Candidate(listing_key(record), slot.session, slot.previous, lends(record) and is_turn(record))
