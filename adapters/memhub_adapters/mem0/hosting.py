"""What hosts ask: everything in the order written, counts, complete records, whole scopes away."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from itertools import count

from memhub.changes import expired, new_revision
from memhub.errors import Conflict, InvalidInput
from memhub.records import Page, Record, Restored, ScopeCount, Stats
from memhub.scope import Scope
from memhub.upkeep import Progress
from memhub_adapters.failure import Failure
from memhub_adapters.mem0.fields import Held
from memhub_adapters.mem0.locators import place_of
from memhub_adapters.mem0.locks import Locks
from memhub_adapters.mem0.memories import Memories, each, of_scope
from memhub_adapters.mem0.reading import written_at
from memhub_adapters.mem0.scopes import user_of

__all__ = ["purged", "reembedded", "restored", "scanned", "statistics"]


async def scanned(memories: Memories, cursor: str | None, limit: int) -> Page:
    """Every record after the cursor, in the order in which the service made their rows."""
    after = _place(cursor)
    places = sorted((written_at(one), one.record.id, one) for one in await memories.everywhere())
    left = [one for at, id, one in places if (at, id) > after]
    page = left[:limit]
    more = f"{written_at(page[-1])} {page[-1].record.id}" if len(left) > limit else None
    return Page(tuple(one.record for one in page), more)


async def statistics(memories: Memories, scope: Scope | None, *, by_scope: bool, now: datetime) -> Stats:
    """Counts of what `scope` covers, of every scope of ours when None."""
    one_scope = scope is not None and scope.name is not None
    found = await (memories.within(scope) if scope and one_scope else memories.everywhere())
    rows: dict[Scope, list[int]] = {}
    for one in found:
        record = one.record
        if scope is None or scope.covers(record.scope):
            row = rows.setdefault(record.scope, [0, 0, 0])
            row[2 if expired(record, now) else 1 if record.invalid_at else 0] += 1
    live, invalidated, gone = (sum(row[n] for row in rows.values()) for n in range(3))
    counts = [
        ScopeCount(scope=one, live=row[0], invalidated=row[1], expired=row[2])
        for one, row in sorted(rows.items(), key=lambda item: item[0].canonical)
    ]
    return Stats(live=live, invalidated=invalidated, expired=gone, scopes=tuple(counts) if by_scope else ())


async def purged(memories: Memories, scope: Scope) -> int:
    """Delete what exactly this scope holds, round by round until nothing is left; how many there were."""
    user, done, gone = user_of(scope), set[str](), 0
    while True:
        left = [one for one in of_scope(await memories.gateway.some(user), scope) if one.row.id not in done]
        if not left:
            return gone
        gone += sum(await each(left, memories.remove))
        done |= {one.row.id for one in left}


async def reembedded(memories: Memories, locks: Locks, progress: Progress | None) -> int:
    """Write every record's text again, unchanged: Mem0 embeds what it is given, with what embeds now.

    Each is read anew under its scope's lock, so that what has changed meanwhile stays changed.
    """
    everything, done = await memories.everywhere(), count()

    async def again(one: Held) -> None:
        async with locks.holding(place_of(one.user)):
            row = await memories.gateway.get(one.row.id)
            if row is not None:
                await memories.gateway.put(row.id, row.text, row.metadata)
        if progress is not None:
            progress(next(done) + 1, len(everything))

    await each(everything, again)
    return len(everything)


async def restored(memories: Memories, records: Sequence[Record]) -> Restored:
    """Write complete records under ids of the service; what is held already and equal is skipped.

    Conflicts are found before anything is written; when a write fails, those before it are taken
    back. The caller holds the locks of the scopes.
    """
    ids, fresh = await _fresh(memories, records)
    made: list[Held] = []

    async def add(record: Record) -> None:
        made.append(await _added(memories, record))
        ids[record.id] = made[-1].record.id

    try:
        await each(fresh, add)
        await each(made, lambda one: _linked(memories, one, ids))
    except Exception:
        # What cannot be taken back is found by its origin when the call is repeated.
        with suppress(Failure):
            await each(made, memories.remove)
        raise
    return Restored({record.id: ids[record.id] for record in records})


async def _fresh(memories: Memories, records: Sequence[Record]) -> tuple[dict[str, str], list[Record]]:
    """The ids of those that are held already, and the others. Raises Conflict for one that differs."""
    scopes = list(dict.fromkeys(record.scope for record in records))
    there = [one for some in await each(scopes, memories.within) for one in some]
    ids = {name: one.record.id for one in there for name in (one.origin, one.record.id) if name is not None}
    known = {one.record.id: one.record for one in there}
    fresh: dict[str, Record] = {}
    for record in records:
        other = known[ids[record.id]] if record.id in ids else fresh.get(record.id)
        if other is not None and _compared(other) != _compared(record):
            raise Conflict(f"record {record.id!r} is held already and differs")
        if other is None:
            fresh[record.id] = record
    return ids, list(fresh.values())


async def _added(memories: Memories, record: Record) -> Held:
    stored = await memories.add(replace(record, revision=new_revision()), origin=record.id)
    if stored is None:
        raise Conflict(
            f"record {record.id!r}: its scope holds this very text, and the service merges equal texts"
        )
    return stored


async def _linked(memories: Memories, one: Held, ids: Mapping[str, str]) -> None:
    """Let the links of a restored record name what they linked by its id here."""
    record = one.record
    before, after = (ids.get(link or "", link) for link in (record.supersedes, record.superseded_by))
    if (before, after) != (record.supersedes, record.superseded_by):
        await memories.change(
            one, replace(record, supersedes=before, superseded_by=after, revision=new_revision())
        )


def _compared(record: Record) -> Record:
    """What must be equal for two records to be one: ids, links and revisions are each store's own."""
    return replace(record, id="", revision="", supersedes=None, superseded_by=None)


def _place(cursor: str | None) -> tuple[int, str]:
    at, _, id = (cursor or "0 ").partition(" ")
    if not at.isdecimal():
        raise InvalidInput("cursor: is not one that scan gave; pass it back unchanged")
    return int(at), id
