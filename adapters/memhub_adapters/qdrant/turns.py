"""Who precedes whom: the session of a new turn, and what turns lend to the ones after them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from memhub.records import Record
from memhub.search import lent_terms
from memhub.search.indexing import continues, is_turn
from memhub_adapters.qdrant.collection import Collection, new_token
from memhub_adapters.qdrant.conditions import any_of, empty, match
from memhub_adapters.qdrant.engine import ALL, Order, Put, Row
from memhub_adapters.qdrant.points import Stored, stored_of

__all__ = ["Sessions", "predecessors", "relend"]


@dataclass(slots=True)
class Sessions:
    """The last turn of each session, as new ones come in."""

    collection: Collection
    last: dict[tuple[str, str | None], Stored | None] = field(default_factory=dict)

    async def placed(self, record: Record, seq: int) -> tuple[Stored, Record | None]:
        """A new record with its place in its session, and the turn before it."""
        stored = Stored(record, seq, new_token())
        if not is_turn(record):
            return stored, None
        entry = (record.scope.canonical, record.provenance.conversation_id)
        before = self.last[entry] if entry in self.last else await self._stored(record)
        if before is not None and continues(before.record, record):
            stored = replace(stored, session=before.session, previous=before.point)
        else:
            stored, before = replace(stored, session=stored.point), None
        self.last[entry] = stored
        return stored, before.record if before else None

    async def _stored(self, record: Record) -> Stored | None:
        """The last turn of this conversation that is held; of none, only one observation continues."""
        conversation = record.provenance.conversation_id
        if conversation is None and record.position == 0:
            return None
        same = empty("conversation") if conversation is None else match("conversation", conversation)
        where = {"must": [match("scope", record.scope.canonical), same], "must_not": [empty("session")]}
        rows = await self.collection.engine.scroll(where, 1, order=Order("seq", descending=True))
        return stored_of(rows[0]) if rows else None


async def predecessors(collection: Collection, stored: Iterable[Stored]) -> dict[str, Record]:
    """By point id, the turns before these, as they are held."""
    ids = list(dict.fromkeys(one.previous for one in stored if one.previous is not None))
    rows = await collection.engine.read(ids) if ids else []
    found = map(stored_of, rows)
    return {one.point: one.record for one in found if one is not None}


async def relend(collection: Collection, changed: Sequence[tuple[Stored, Record | None]]) -> None:
    """Index anew the turns after these, whose words or lending have changed; None: it has gone.

    What another process changes meanwhile is read again.
    """
    moved = [
        (old, new)
        for old, new in changed
        if is_turn(old.record) and (new is None or lent_terms(old.record) != lent_terms(new))
    ]
    pending = [row for old, _ in moved for row in await _followers(collection, old.point)]
    gone = {old.point: old.previous for old, new in moved if new is None}
    while pending:
        pending = await _relent(collection, pending, gone)


async def _relent(collection: Collection, rows: Sequence[Row], gone: dict[str, str | None]) -> list[Row]:
    """Store these anew after the turns before them; those that had changed meanwhile, as they are now."""
    found = [(stored, row) for row in rows if (stored := stored_of(row)) is not None]
    anew = {
        stored.point: replace(
            stored, previous=gone.get(stored.previous or "", stored.previous), token=new_token()
        )
        for stored, _ in found
    }
    before = await predecessors(collection, anew.values())
    points = [
        collection.point(one, before.get(one.previous or ""), row.vectors.get(_dense(collection)))
        for (_, row), one in zip(found, anew.values(), strict=True)
    ]
    where = {"must": [any_of("token", [stored.token for stored, _ in found])]}
    await collection.write(Put(points=points, new=False, where=where))
    held = await collection.engine.read(list(anew), vectors=collection.dense)
    return [row for row in held if row.payload.get("token") != anew[row.id].token and stored_of(row)]


async def _followers(collection: Collection, point: str) -> list[Row]:
    where = {"must": [match("previous", point)]}
    return await collection.engine.scroll(where, ALL, vectors=collection.dense)


def _dense(collection: Collection) -> str:
    return collection.makers.meaning or ""
