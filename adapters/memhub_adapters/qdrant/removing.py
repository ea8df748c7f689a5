"""Taking a record's point away, in steps that another call can finish.

A delete empties the point first, which is what makes it happen: of several at once one empties it.
What is left to do then (links to the record, words that it lent) is noted in the emptied point.
"""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from memhub.changes import unlinked
from memhub.records import Provenance, Record
from memhub_adapters.qdrant.collection import Collection
from memhub_adapters.qdrant.conditions import BESIDE, empty, match, of_ids, placed
from memhub_adapters.qdrant.engine import Drop, Point, Put, Row
from memhub_adapters.qdrant.points import Stored, new_token, payload_of, point_id, stored_of
from memhub_adapters.qdrant.swaps import Swap, swapped
from memhub_adapters.qdrant.turns import relend

__all__ = ["LINGER", "emptied", "finish", "finish_left", "left"]

LINGER: Final = timedelta(minutes=5)
"""How long an emptied point is its delete's alone: that still has to read it, to learn that it was first."""


async def emptied(collection: Collection, stored: Stored, now: datetime) -> bool:
    """Replace a point by one that holds nothing of the record's content; whether it was us who did."""
    token = new_token()
    await collection.write(
        Put(
            points=[Point(stored.point, _payload(stored, token, now))],
            new=False,
            where={"must": [match("token", stored.token)]},
        )
    )
    rows = await collection.engine.read([stored.point], fields=("token",))
    return bool(rows) and rows[0].payload.get("token") == token


async def finish(collection: Collection, stored: Stored) -> None:
    """Take an emptied point away, after all that names the record or was lent by it."""
    await _let_go(collection, stored)
    await _take_away(collection, stored)


async def finish_left(collection: Collection, row: Row, now: datetime) -> None:
    """Do what an emptied point's delete has left to do, which may have been cut off or be under way."""
    stored = left(row)
    if stored is None:
        return
    await _let_go(collection, stored)
    if now - datetime.fromisoformat(row.payload["emptied_at"]) >= LINGER:
        await _take_away(collection, stored)


def left(row: Row) -> Stored | None:
    """What an emptied point still says of its record; None for any other point."""
    if row.payload.get("type") != "emptied":
        return None
    return stored_of(Row(row.id, json.loads(row.payload["left"])))


def _payload(stored: Stored, token: str, now: datetime) -> dict[str, object]:
    record = stored.record
    role = record.provenance.role
    bare = replace(
        record,
        content="",
        tags=(),
        attributes={},
        invalid_reason=None,
        target=None,
        payload=None,
        supports=(),
        provenance=Provenance(role=role),
    )
    return {
        "type": "emptied",
        "token": token,
        "earlier": list(stored.past),
        "emptied_at": now.isoformat(),
        # As one text, so that no filter of a query can see into it.
        "left": json.dumps(payload_of(replace(stored, record=bare))),
        **placed(record.scope, BESIDE),
    }


async def _let_go(collection: Collection, stored: Stored) -> None:
    gone = stored.record
    for link in (gone.supersedes, gone.superseded_by):
        if link is not None:
            await _unlink(collection, link, gone)
    await relend(collection, [stored], gone=True)


async def _take_away(collection: Collection, stored: Stored) -> None:
    """Remove a point if it is still an emptied one: its id may have been restored meanwhile."""
    await collection.write(Drop({"must": [empty("seq"), of_ids([stored.point])]}))


async def _unlink(collection: Collection, link: str, gone: Record) -> None:
    """Take a deleted record's name out of one that it was linked with."""
    while True:
        rows = await collection.engine.read([point_id(link)], vectors=collection.dense)
        stored = stored_of(rows[0]) if rows else None
        if stored is None:
            return
        changed = unlinked(gone, {link: stored.record})
        if not changed or not await swapped(collection, [Swap.of(stored, rows[0], changed[0])]):
            return
