"""Replacing a stored record only if nobody else has meanwhile: by a filter on its token, read back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from memhub.changes import new_revision
from memhub.records import Record
from memhub_adapters.qdrant.collection import Collection
from memhub_adapters.qdrant.conditions import any_of, of_ids
from memhub_adapters.qdrant.engine import Drop, Op, Put, Row
from memhub_adapters.qdrant.points import PAST, Stored, bears, stored_of
from memhub_adapters.qdrant.turns import predecessors, relend

__all__ = ["Swap", "swapped", "taken_back", "unswapped"]


@dataclass(frozen=True, slots=True)
class Swap:
    """A record as it was read, what it is to become, and the vector that it keeps or gets."""

    old: Stored
    new: Stored
    meaning: list[float] | None

    @classmethod
    def of(cls, old: Stored, row: Row, record: Record, meaning: list[float] | None = None) -> Swap:
        """From a row to a changed record, which keeps the row's vector where it gets no other."""
        held = next(iter(row.vectors.values()), None)
        return cls(old, old.again(record), meaning or held)


async def swapped(collection: Collection, swaps: Sequence[Swap], *, before: Sequence[Op] = ()) -> list[Swap]:
    """Write `before`, then these, in one request; those that another write had overtaken, or a delete since."""
    ops = list(before)
    if swaps:
        ops.append(await _put(collection, swaps))
    await collection.write(*ops)
    if not swaps:
        return []
    rows = {
        row.id: row for row in await collection.engine.read([one.new.point for one in swaps], fields=PAST)
    }
    return [
        one for one in swaps if one.new.point not in rows or not bears(rows[one.new.point], one.new.token)
    ]


async def unswapped(collection: Collection, swaps: Sequence[Swap]) -> None:
    """Make these records valid again that a correction had hidden, whatever else has changed in them."""
    for swap in swaps:
        while (back := await _back(collection, swap)) is not None:
            if not await swapped(collection, [back]):
                await relend(collection, [back.old])
                break


async def taken_back(collection: Collection, ids: Sequence[str], token: str) -> None:
    """Remove those of these points that the write of this token made, whatever others have made of them."""
    while True:
        rows = [row for row in await collection.engine.read(ids, fields=PAST) if bears(row, token)]
        if not rows:
            return
        tokens = any_of("token", [row.payload["token"] for row in rows])
        await collection.write(Drop({"must": [of_ids([row.id for row in rows]), tokens]}))


async def _back(collection: Collection, swap: Swap) -> Swap | None:
    """What takes a swap back; None where there is nothing of it any more."""
    rows = await collection.engine.read([swap.new.point], vectors=collection.dense)
    held = stored_of(rows[0]) if rows else None
    before, hidden = swap.old.record, swap.new.record
    if held is None or held.record.superseded_by != hidden.superseded_by:
        return None
    record = replace(
        held.record,
        invalid_at=before.invalid_at,
        superseded_by=before.superseded_by,
        updated_at=before.updated_at,
        revision=before.revision if held.record.revision == hidden.revision else new_revision(),
    )
    return Swap.of(held, rows[0], record)


async def _put(collection: Collection, swaps: Sequence[Swap]) -> Put:
    """The new points of these, each stored only where the point still has its old token."""
    lending = await predecessors(collection, [swap.new for swap in swaps])
    points = [
        collection.point(swap.new, lending.get(swap.new.previous or ""), swap.meaning) for swap in swaps
    ]
    # Tokens are drawn at random, so that one of the list can only be the point's own.
    return Put(
        points=points, new=False, where={"must": [any_of("token", [swap.old.token for swap in swaps])]}
    )
