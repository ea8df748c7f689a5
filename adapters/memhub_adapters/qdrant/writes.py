"""The verbs that add: observations and restored records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from memhub.adapter import Write
from memhub.changes import expired, new_records, superseded
from memhub.errors import Conflict
from memhub.records import Observed, Record, Restored
from memhub_adapters.qdrant.collection import Collection
from memhub_adapters.qdrant.conditions import BESIDE, placed
from memhub_adapters.qdrant.engine import Point, Put, Row
from memhub_adapters.qdrant.points import (
    PAST,
    Stored,
    bears,
    ledger_id,
    new_token,
    point_id,
    record_id,
    stored_of,
)
from memhub_adapters.qdrant.removing import finish, left
from memhub_adapters.qdrant.swaps import Swap, swapped, taken_back, unswapped
from memhub_adapters.qdrant.turns import Sessions, relend, relend_moved

__all__ = ["observe", "restore"]

ATTEMPTS: Final = 8
"""How often a write that others keep overtaking is begun anew."""


@dataclass(frozen=True, slots=True)
class _Plan:
    """What an observation writes: its ledger entry, its records, and the records that it corrects."""

    records: list[Record]
    points: list[Point]
    joined: list[Stored]
    token: str
    entry: str | None
    swaps: list[Swap]

    @property
    def ids(self) -> list[str]:
        """The points that are new."""
        return [point.id for point in self.points]


async def observe(collection: Collection, write: Write) -> Observed:
    """Store an observation, or answer a key that was seen before."""
    records = _records(write)
    meanings: list[list[float] | None] | None = None
    for _ in range(ATTEMPTS):
        held = await _held(collection, write, records)
        seen = await _seen(collection, write, held)
        if seen is not None:
            return seen
        swaps = _corrections(write, records, held)
        if meanings is None:
            meanings = await collection.embed([record.content for record in records])
        plan = await _planned(collection, write, records, meanings, swaps)
        if await _written(collection, plan):
            await relend(collection, [swap.old for swap in swaps])
            await relend_moved(collection, plan.joined)
            return Observed(records=tuple(records))
        # Ids that a key gives may be taken where its records were restored without the ledger.
        records = new_records(write)
    raise Conflict("the records that this corrects keep changing; repeat the observation")


async def restore(collection: Collection, records: Sequence[Record], *, now: datetime) -> Restored:
    """Write complete records under their own ids; those held already and equal are skipped."""
    for _ in range(ATTEMPTS):
        fresh = await _fresh(collection, records)
        if not fresh or await _restored(collection, fresh, now):
            return Restored({record.id: record.id for record in records})
    raise Conflict("these records keep changing; repeat the restore")


async def _fresh(collection: Collection, records: Sequence[Record]) -> list[Record]:
    """Those that are not held, once what deletes had left in their places has gone."""
    rows = await collection.engine.read(list(dict.fromkeys(point_id(record.id) for record in records)))
    gone = {row.id: stored for row in rows if (stored := left(row))}
    held = {
        row.id: stored.record if (stored := stored_of(row)) else None for row in rows if row.id not in gone
    }
    fresh: dict[str, Record] = {}
    for record in records:
        place = point_id(record.id)
        if (held[place] if place in held else fresh.get(place, record)) != record:
            raise Conflict(f"record {record.id!r} is held already and differs")
        if place not in held:
            fresh[place] = record
    for stored in gone.values():
        await finish(collection, stored)
    return list(fresh.values())


async def _restored(collection: Collection, records: list[Record], now: datetime) -> bool:
    """Write these in one request; whether they stand. Where others took a place they are taken back."""
    meanings = await collection.embed([record.content for record in records])
    token, first = new_token(), collection.sequence.take(now, len(records))
    points, joined = await _points(collection, records, meanings, first, token)
    await collection.write(Put(points=points))
    ids = [point.id for point in points]
    if not await _ours(collection, ids, token):
        await taken_back(collection, ids, token)
        return False
    await relend_moved(collection, joined)
    return True


def _records(write: Write) -> list[Record]:
    """The new records; under a key with ids that every process would give them."""
    records = new_records(write)
    key = write.idempotency_key
    if key is None:
        return records
    return [replace(record, id=record_id(write.scope, key, n)) for n, record in enumerate(records)]


async def _held(collection: Collection, write: Write, records: Sequence[Record]) -> dict[str, Row]:
    """What is held of the ledger entry and of the records to correct, by point id."""
    ids = [point_id(record.supersedes) for record in records if record.supersedes is not None]
    if write.idempotency_key is not None:
        ids.append(ledger_id(write.scope, write.idempotency_key))
    rows = await collection.engine.read(ids, vectors=collection.dense) if ids else []
    return {row.id: row for row in rows}


async def _seen(collection: Collection, write: Write, held: dict[str, Row]) -> Observed | None:
    """The answer to a key that was used before; None for a new one."""
    if write.idempotency_key is None:
        return None
    entry = held.get(ledger_id(write.scope, write.idempotency_key))
    if entry is None:
        return None
    if entry.payload["digest"] != write.digest:
        raise Conflict("idempotency_key: was used in this scope with another payload; use a new key")
    # Whoever wrote it may have been cut off before this.
    await relend(collection, [stored for row in held.values() if (stored := stored_of(row))])
    ids = entry.payload["ids"]
    rows = {row.id: row for row in await collection.engine.read(ids)}
    found = [stored.record for id in ids if id in rows and (stored := stored_of(rows[id]))]
    return Observed(records=tuple(one for one in found if not expired(one, write.now)), replayed=True)


def _corrections(write: Write, records: Sequence[Record], held: dict[str, Row]) -> list[Swap]:
    olds = {stored.record.id: (stored, row) for row in held.values() if (stored := stored_of(row))}
    changed = superseded(records, {id: stored.record for id, (stored, _) in olds.items()}, now=write.now)
    return [Swap.of(*olds[record.id], record) for record in changed]


async def _planned(
    collection: Collection,
    write: Write,
    records: list[Record],
    meanings: Sequence[list[float] | None],
    swaps: list[Swap],
) -> _Plan:
    token, entry = new_token(), None
    first = collection.sequence.take(write.now, len(records))
    points, joined = await _points(collection, records, meanings, first, token)
    if write.idempotency_key is not None:
        entry = ledger_id(write.scope, write.idempotency_key)
        points.append(Point(entry, _ledger(write, [point.id for point in points], token)))
    return _Plan(records, points, joined, token, entry, swaps)


async def _points(
    collection: Collection,
    records: Sequence[Record],
    meanings: Sequence[list[float] | None],
    first: int,
    token: str,
) -> tuple[list[Point], list[Stored]]:
    """The points of new records in the order written, and the held turns that they follow."""
    sessions, points = Sessions(collection), []
    for n, (record, meaning) in enumerate(zip(records, meanings, strict=True)):
        stored, before = await sessions.placed(record, first + n)
        points.append(collection.point(replace(stored, token=token), before, meaning))
    return points, sessions.joined


def _ledger(write: Write, ids: list[str], token: str) -> dict[str, object]:
    """A ledger entry: key, digest and ids, never content."""
    return {
        "type": "ledger",
        "key": write.idempotency_key,
        **placed(write.scope, BESIDE),
        "digest": write.digest,
        "ids": ids,
        "token": token,
    }


async def _written(collection: Collection, plan: _Plan) -> bool:
    """Write a plan in one request; whether it stands. One that was overtaken is taken back."""
    lost = await swapped(collection, plan.swaps, before=[Put(points=plan.points)])
    # Without a key the ids are random, and nobody else's.
    if not lost and (plan.entry is None or await _ours(collection, plan.ids, plan.token, plan.entry)):
        return True
    # In this order, so that one of the two is valid wherever it is cut off.
    await unswapped(collection, [swap for swap in plan.swaps if swap not in lost])
    await taken_back(collection, plan.ids, plan.token)
    return False


async def _ours(collection: Collection, ids: Sequence[str], token: str, *needed: str) -> bool:
    """Whether these points are what the write of this token made of them, but for those deleted since."""
    rows = {row.id: row for row in await collection.engine.read(ids, fields=PAST)}
    return all(id in rows for id in needed) and all(bears(row, token) for row in rows.values())
