"""Who precedes whom: the session of a new turn, and what turns lend to the ones after them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from memhub.records import Record
from memhub.search.indexing import continues, is_turn
from memhub_adapters.qdrant.collection import Collection
from memhub_adapters.qdrant.conditions import any_of, empty, match
from memhub_adapters.qdrant.engine import ALL, Order, Put, Row
from memhub_adapters.qdrant.points import Stored, new_token, stored_of

__all__ = ["Sessions", "predecessors", "relend", "relend_moved"]


@dataclass(slots=True)
class Sessions:
    """The last turn of each session, as new ones come in. `joined` were held before any of these."""

    collection: Collection
    last: dict[tuple[str, str | None], Stored | None] = field(default_factory=dict)
    joined: list[Stored] = field(default_factory=list)

    async def placed(self, record: Record, seq: int) -> tuple[Stored, Record | None]:
        """A new record with its place in its session, and the turn before it."""
        stored = Stored(record, seq, new_token())
        if not is_turn(record):
            return stored, None
        entry = (record.scope.canonical, record.provenance.conversation_id)
        known = entry in self.last
        before = self.last[entry] if known else await self._stored(record)
        if before is not None and continues(before.record, record):
            stored = replace(stored, session=before.session, previous=before.point)
            self.joined += [] if known else [before]
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


async def relend(collection: Collection, changed: Sequence[Stored], *, gone: bool = False) -> None:
    """Index anew the turns after these, which may have changed, or have `gone`.

    What another process changes meanwhile is read again. Done whether or not words have changed, so
    that a repeat of a call that was cut off before this makes up for it.
    """
    turns = [one for one in changed if is_turn(one.record)]
    pending = [row for one in turns for row in await _followers(collection, one.point)]
    passed = {one.point: one.previous for one in turns} if gone else {}
    while pending:
        pending = await _relent(collection, pending, passed)


async def relend_moved(collection: Collection, joined: Sequence[Stored]) -> None:
    """Index anew the turns after those of these that others have changed, or deleted, since they were read.

    Whoever changes a turn looks for the ones after it; what was written after that look is found here.
    """
    rows = (
        await collection.engine.read([one.point for one in joined], fields=("type", "token"))
        if joined
        else []
    )
    types = {row.id: row.payload["type"] for row in rows}
    tokens = {row.id: row.payload["token"] for row in rows}
    gone = [one for one in joined if types.get(one.point) != "record"]
    moved = [one for one in joined if one not in gone and tokens[one.point] != one.token]
    await relend(collection, gone, gone=True)
    await relend(collection, moved)


async def _relent(collection: Collection, rows: Sequence[Row], passed: dict[str, str | None]) -> list[Row]:
    """Store these anew after the turns before them; those that had changed meanwhile, as they are now."""
    found = [(stored, row) for row in rows if (stored := stored_of(row)) is not None]
    anew = {
        stored.point: replace(
            stored.again(stored.record), previous=passed.get(stored.previous or "", stored.previous)
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
