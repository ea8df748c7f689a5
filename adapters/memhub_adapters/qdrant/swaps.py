"""Replacing a stored record only if nobody else has meanwhile: by a filter on its token, read back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from memhub.records import Record
from memhub_adapters.qdrant.collection import Collection, new_token
from memhub_adapters.qdrant.conditions import any_of
from memhub_adapters.qdrant.engine import Op, Put, Row
from memhub_adapters.qdrant.points import Stored
from memhub_adapters.qdrant.turns import predecessors

__all__ = ["Swap", "swapped", "unswapped"]


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
        return cls(old, replace(old, record=record, token=new_token()), meaning or held)


async def swapped(collection: Collection, swaps: Sequence[Swap], *, before: Sequence[Op] = ()) -> list[Swap]:
    """Write `before`, then these, in one request; those that another write had overtaken."""
    ops = list(before)
    if swaps:
        ops.append(await _put(collection, [(swap.old.token, swap.new, swap.meaning) for swap in swaps]))
    await collection.write(*ops)
    if not swaps:
        return []
    rows = await collection.engine.read([swap.new.point for swap in swaps], fields=("token",))
    tokens = {row.id: row.payload.get("token") for row in rows}
    return [swap for swap in swaps if tokens.get(swap.new.point) != swap.new.token]


async def unswapped(collection: Collection, swaps: Sequence[Swap]) -> None:
    """Put back what these replaced, unless it has been changed again."""
    if swaps:
        await collection.write(
            await _put(collection, [(swap.new.token, swap.old, swap.meaning) for swap in swaps])
        )


async def _put(collection: Collection, changes: Sequence[tuple[str, Stored, list[float] | None]]) -> Put:
    """The points of these, each stored only where the point still has the token beside it."""
    lending = await predecessors(collection, [stored for _, stored, _ in changes])
    points = [
        collection.point(stored, lending.get(stored.previous or ""), meaning)
        for _, stored, meaning in changes
    ]
    # Tokens are drawn at random, so that one of the list can only be the point's own.
    return Put(
        points=points, new=False, where={"must": [any_of("token", [token for token, _, _ in changes])]}
    )
