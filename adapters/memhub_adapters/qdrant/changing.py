"""The verbs that change or remove what is held."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from memhub.changes import check_revision, expired, invalidated, patched
from memhub.errors import NotFound
from memhub.records import Patch, Record, Unset
from memhub.scope import Scope
from memhub_adapters.qdrant.collection import Collection
from memhub_adapters.qdrant.conditions import BESIDE, scoped
from memhub_adapters.qdrant.engine import Drop, Row
from memhub_adapters.qdrant.points import Stored, point_id, stored_of
from memhub_adapters.qdrant.removing import emptied, finish, finish_left
from memhub_adapters.qdrant.swaps import Swap, swapped
from memhub_adapters.qdrant.turns import relend

__all__ = ["delete", "invalidate", "purge", "update"]

Step = Callable[[Record], Record]


async def update(
    collection: Collection, id: str, patch: Patch, *, revision: str | None, now: datetime
) -> Record:
    """Apply a patch."""
    anew = not isinstance(patch.content, Unset)
    return await _changed(
        collection, id, lambda record: patched(record, patch, now=now), revision, now, anew=anew
    )


async def invalidate(
    collection: Collection, id: str, reason: str | None, *, revision: str | None, now: datetime
) -> Record:
    """Hide a record and keep it."""
    return await _changed(collection, id, lambda record: invalidated(record, reason, now=now), revision, now)


async def delete(collection: Collection, id: str, *, revision: str | None, now: datetime) -> None:
    """Forget a record: empty its point, then unlink it, then take the point away.

    Of several deletes at once one empties the point; for the others there is no record any more.
    """
    while True:
        stored, _ = await _held(collection, id, now)
        check_revision(stored.record, revision)
        if await emptied(collection, stored, now):
            await finish(collection, stored)
            return


async def purge(collection: Collection, scope: Scope, *, exact: bool) -> int:
    """Remove all that a scope covers, in one step; returns how many records there were."""
    records = {"must": scoped((scope,), exact=exact)}
    ledger = {"must": scoped((scope,), exact=exact, prefix=BESIDE)}
    count = await collection.engine.count(records)
    await collection.write(Drop({"should": [records, ledger]}))
    return count


async def _changed(
    collection: Collection, id: str, step: Step, revision: str | None, now: datetime, *, anew: bool = False
) -> Record:
    """Apply a step; `anew`: to be embedded anew, so that the old vector is not needed."""
    meanings: list[list[float] | None] = []
    while True:
        stored, row = await _alive(collection, id, revision, now, vectors=() if anew else collection.dense)
        record = step(stored.record)
        if record is stored.record:
            await relend(collection, [stored])
            return record
        if anew and not meanings:
            meanings = await collection.embed([record.content])
        if not await swapped(collection, [Swap.of(stored, row, record, *meanings)]):
            await relend(collection, [stored])
            return record


async def _alive(
    collection: Collection, id: str, revision: str | None, now: datetime, *, vectors: Sequence[str]
) -> tuple[Stored, Row]:
    stored, row = await _held(collection, id, now, vectors)
    if expired(stored.record, now):
        raise NotFound(f"no record {id!r}")
    check_revision(stored.record, revision)
    return stored, row


async def _held(
    collection: Collection, id: str, now: datetime, vectors: Sequence[str] = ()
) -> tuple[Stored, Row]:
    rows = await collection.engine.read([point_id(id)], vectors=vectors)
    stored = stored_of(rows[0]) if rows else None
    if stored is None or stored.record.id != id:
        for row in rows:
            await finish_left(collection, row, now)
        raise NotFound(f"no record {id!r}")
    return stored, rows[0]
