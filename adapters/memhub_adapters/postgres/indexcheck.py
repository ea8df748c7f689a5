"""The index against its records: checking it, building it anew."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from memhub.search import BLOCK, STOPS
from memhub.search.analyzer import fingerprint
from memhub.search.documents import LENGTHS, Document
from memhub.search.fresh import FRESH, unpacked
from memhub.search.indexing import Slot, is_turn, rebuilt
from memhub_adapters.postgres.book import Book, Change
from memhub_adapters.postgres.postings import Place, Stored, changes, split
from memhub_adapters.postgres.rows import SLOTS, Scopes, slot_of
from memhub_adapters.postgres.scopes import ROOM, Room
from memhub_adapters.postgres.session import Session, Statement

__all__ = ["index_faults", "reindex"]

BATCH: Final = 2_000
"""Records in memory at a time."""

_NUMBER: Final = 0xFFFFFFFF
_PLACES: Final = (1 << BLOCK) - 1


@dataclass(slots=True)
class _Tally:
    """What one scope's records demand of its index."""

    count: int = 0
    length: int = 0
    turns: int = 0
    entries: dict[Place, list[bytes]] = field(default_factory=dict)

    def add(self, slot: Slot, document: Document) -> None:
        self.count += 1
        self.length += LENGTHS[document.length]
        self.turns += is_turn(slot.record)

    def spread(self, number: int, document: Document) -> None:
        for term, entry in document.entries(number & _PLACES).items():
            self.entries.setdefault((term, number >> BLOCK), []).append(entry)


async def index_faults(session: Session) -> list[str]:
    """Where the index differs from what the records demand; empty when it is true to them."""
    faults: list[str] = []
    for room in await _rooms(session):
        wanted = _Tally()
        async for slot, document in _documents(session, room.number):
            wanted.add(slot, document)
            wanted.spread(slot.key & _NUMBER, document)
        faults += _faults(room, wanted, *await _held(session, room.number))
    return faults


def _faults(room: Room, wanted: _Tally, held: Mapping[Place, list[bytes]], fresh: int) -> Iterator[str]:
    for place in sorted(wanted.entries.keys() | held.keys()):
        if sorted(wanted.entries.get(place, ())) != sorted(held.get(place, ())):
            yield f"scope {room.number}: postings of block {place[1]} differ from its records"
    stored = (room.count, room.length, room.turns, room.fresh)
    demanded = (wanted.count, wanted.length, wanted.turns, fresh)
    if stored != demanded:
        yield f"scope {room.number}: its counts are {stored}, not {demanded}"


async def reindex(session: Session) -> int:
    """Rebuild the whole index from the records, in one transaction; returns how many records.

    Writers wait until it ends; what is recalled meanwhile is found by the old index.
    """
    await session.ask(
        ("SET LOCAL statement_timeout = 0", ()),
        ("LOCK TABLE scope IN EXCLUSIVE MODE", ()),
        ("DELETE FROM posting", ()),
        ("DELETE FROM fresh", ()),
    )
    count = 0
    for room in await _rooms(session):
        tally, fresh, batch = _Tally(), 0, Change()
        async for slot, document in _documents(session, room.number):
            tally.add(slot, document)
            batch.add(slot.key, document)
            if len(batch.added) == BATCH:
                await session.ask(*_written(room.number, batch)[0])
                batch = Change()
        statements, fresh = _written(room.number, batch)
        await session.ask(*statements, _counted(room.number, tally, fresh))
        count += tally.count
    now = ("UPDATE meta SET value = %s WHERE name = 'analyzer'", (fingerprint(),))
    await session.ask(now, commit=True)
    return count


def _written(scope: int, batch: Change) -> tuple[list[Statement], int]:
    """What stores these documents, and how many of them stay fresh: few, or none."""
    return changes(scope, batch, None if len(batch.added) <= FRESH else Stored())


def _counted(scope: int, tally: _Tally, fresh: int) -> Statement:
    sql = "UPDATE scope SET count = %s, length = %s, turns = %s, fresh = %s WHERE id = %s"
    return sql, (tally.count, tally.length, tally.turns, fresh, scope)


async def _rooms(session: Session) -> list[Room]:
    [rows] = await session.ask((f"SELECT {ROOM} FROM scope s ORDER BY s.id", ()))
    return [Room(*row) for row in rows]


async def _held(session: Session, scope: int) -> tuple[dict[Place, list[bytes]], int]:
    """What the index holds of a scope, entry by entry; and how many documents are fresh."""
    packed, fresh = await session.ask(
        ("SELECT term, block, entries FROM posting WHERE scope = %s", (scope,)),
        ("SELECT number, entries FROM fresh WHERE scope = %s", (scope,)),
    )
    tally = _Tally(entries={(term, block): [*split(row, stops=term == STOPS)] for term, block, row in packed})
    for number, row in fresh:
        tally.spread(number, unpacked(row))
    return tally.entries, len(fresh)


async def _documents(session: Session, scope: int) -> AsyncIterator[tuple[Slot, Document]]:
    """The slots of a scope, each with the document that it must have."""
    scopes, after, last = Scopes(), (scope << 32) - 1, scope << 32 | _NUMBER
    while True:
        [rows] = await session.ask(
            (f"{SLOTS} WHERE r.key > %s AND r.key <= %s ORDER BY r.key LIMIT %s", (after, last, BATCH))
        )
        if not rows:
            return
        after = rows[-1][0]
        slots = [slot_of(row, scopes) for row in rows]
        index = Book([], [*slots, *await _before(session, slots, scopes)], [], None)
        for slot in slots:
            yield slot, rebuilt(index, slot)


async def _before(session: Session, slots: Iterable[Slot], scopes: Scopes) -> list[Slot]:
    """The turns before the first ones of a batch."""
    slots = list(slots)
    wanted = {slot.previous for slot in slots if slot.previous is not None} - {slot.key for slot in slots}
    if not wanted:
        return []
    [rows] = await session.ask((f"{SLOTS} WHERE r.key = ANY(%s::bigint[])", (sorted(wanted),)))
    return [slot_of(row, scopes) for row in rows]
