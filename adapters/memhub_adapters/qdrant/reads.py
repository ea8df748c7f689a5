"""The verbs that only read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime

from memhub.adapter import Read
from memhub.changes import expired
from memhub.cursors import Place
from memhub.errors import InvalidInput
from memhub.records import Hit, Page, Recalled, Record, ScopeCount, Stats
from memhub.scope import Scope
from memhub.search import listing_key
from memhub_adapters.qdrant.collection import Collection
from memhub_adapters.qdrant.conditions import RECORDS, both, empty, in_range, scoped, selected
from memhub_adapters.qdrant.engine import Engine, Filter, Order
from memhub_adapters.qdrant.ordered import LISTING, WRITTEN, After, page
from memhub_adapters.qdrant.points import Stored, point_id, stored_of

__all__ = ["get", "listing", "scan", "stats"]


async def get(engine: Engine, ids: Sequence[str], *, now: datetime) -> list[Record]:
    """The held and unexpired records among these ids, in their order."""
    rows = await engine.read(list(dict.fromkeys(map(point_id, ids))))
    held = {stored.record.id: stored.record for row in rows if (stored := stored_of(row))}
    return [held[id] for id in ids if id in held and not expired(held[id], now)]


async def listing(collection: Collection, read: Read) -> Recalled:
    """A page of the newest records that the query admits."""
    engine, where = collection.engine, selected(read)
    place = Place.parse(read.cursor) if read.cursor else None
    after = None
    if place is not None:
        observed, created, position, _ = place.last
        after = After((observed.isoformat(), created.isoformat(), position), place.last)
        where = both(where, {"must": [in_range("seq", lte=place.newest)]})
    found = await page(engine, where, LISTING, read.limit + 1, after)
    records = [one.record for one in found[: read.limit]]
    more = None
    if len(found) > read.limit:
        newest = place.newest if place else await _newest(engine, where, found)
        more = Place(newest, listing_key(records[-1])).text()
    return Recalled(tuple(map(Hit, records)), more)


async def scan(engine: Engine, cursor: str | None, limit: int) -> Page:
    """A page of everything, in the order written."""
    found = await page(engine, RECORDS, WRITTEN, limit + 1, None if cursor is None else _place(cursor))
    shown = found[:limit]
    more = json.dumps([shown[-1].seq, shown[-1].record.id]) if len(found) > limit else None
    return Page(tuple(one.record for one in shown), more)


async def stats(engine: Engine, scope: Scope | None, *, by_scope: bool, now: datetime) -> Stats:
    """Counts of what a scope covers; bytes for the whole store only."""
    where = RECORDS if scope is None else {"must": scoped((scope,), exact=False)}
    gone = {"must": [in_range("expires_at", lte=now.isoformat())]}
    kept = {"must": [where], "must_not": [gone]}
    hidden = {"must": [kept], "must_not": [empty("invalid_at")]}
    live = {"must": [kept, empty("invalid_at")]}
    counts = [await engine.count(chosen) for chosen in (live, hidden, both(where, gone))]
    rows = await _by_scope(engine, live, hidden, both(where, gone)) if by_scope else ()
    size = await engine.size() if scope is None else None
    return Stats(live=counts[0], invalidated=counts[1], expired=counts[2], bytes=size, scopes=rows)


async def _by_scope(engine: Engine, live: Filter, hidden: Filter, gone: Filter) -> tuple[ScopeCount, ...]:
    facets = [await engine.facet("scope", chosen) for chosen in (live, hidden, gone)]
    return tuple(
        ScopeCount(
            scope=Scope.parse(canonical),
            live=facets[0].get(canonical, 0),
            invalidated=facets[1].get(canonical, 0),
            expired=facets[2].get(canonical, 0),
        )
        for canonical in sorted({name for facet in facets for name in facet})
    )


async def _newest(engine: Engine, where: Filter, found: Sequence[Stored]) -> int:
    """The highest number among what matches: later writes stay out of a listing."""
    rows = await engine.scroll(where, 1, order=Order("seq", descending=True))
    # What was found may have gone since.
    return max(one.seq for one in (*found, *map(stored_of, rows)) if one is not None)


def _place(cursor: str) -> After:
    try:
        seq, id = json.loads(cursor)
    except (ValueError, TypeError, RecursionError):
        seq, id = None, None
    if type(seq) is not int or not isinstance(id, str):
        raise InvalidInput("cursor: is not one that scan gave; pass it back unchanged")
    return After((seq,), (seq, id))
