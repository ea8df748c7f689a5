"""Restore: complete records written as they are."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial

from memhub.conformance.context import Context
from memhub.conformance.definition import rule
from memhub.conformance.expect import equal, raises
from memhub.conformance.rules.refusing import invalid
from memhub.errors import Conflict, NotFound
from memhub.records import Provenance, Record

LONG_AGO = datetime(2021, 3, 4, 5, 6, 7, 8, UTC)


@rule(needs=["restore", "facts.all", "expiry"])
async def restored_records_are_complete(ctx: Context) -> None:
    """A restored record has its scope, kind, text, times, origin and every other field, but maybe a new id."""
    given = replace(
        _record(ctx, 0),
        kind="profile",
        tags=("z", "a"),
        attributes={"n": 1, "list": ["x", True]},
        provenance=Provenance("c", "r", "a", "user"),
        updated_at=LONG_AGO + timedelta(days=2),
        observed_at=LONG_AGO - timedelta(days=2),
        position=7,
        target="npc:1",
        payload={"k": [1, None]},
        supports=("x",),
        expires_at=ctx.clock() + timedelta(days=1),
    )
    equal(await _restored(ctx, [given]), [given], "the record")


@rule(needs=["restore"])
async def restoring_again_changes_nothing(ctx: Context) -> None:
    """Restoring what is held already, and equal, skips it and names the same ids."""
    records = [_record(ctx, n) for n in range(3)]
    first = await ctx.store.restore(records[:2])
    again = await ctx.store.restore(records)
    equal(list(again.ids), [record.id for record in records], "the ids given, in order")
    equal({id: again.ids[id] for id in first.ids}, dict(first.ids), "ids of those that were held")
    equal(len(await ctx.store.get(list(again.ids.values()))), 3, "records held")


@rule(needs=["restore", "verbatim", "listing"])
async def restoring_twice_lists_once(ctx: Context) -> None:
    """A record restored twice is listed once, in the place of its observed_at."""
    await ctx.keep("memory of today")
    for _ in range(2):
        await ctx.store.restore([_record(ctx, 1), _record(ctx, 0)])
    equal(await ctx.texts(), ["memory of today", "memory 1", "memory 0"], "contents, newest first")


@rule(needs=["restore"])
async def restoring_is_all_or_nothing(ctx: Context) -> None:
    """A record that is held and differs is Conflict, and none of the others is written."""
    held, new = _record(ctx, 0), _record(ctx, 1)
    ids = (await ctx.store.restore([held])).ids
    await raises(
        Conflict, ctx.store.restore([new, replace(held, content="differs")]), "restore of a changed record"
    )
    equal((await ctx.store.get(ids[held.id])).content, held.content, "content of the record that is held")
    if ids[held.id] == held.id:
        await raises(NotFound, ctx.store.get(new.id), "get of a record restored with one that conflicts")


@rule(needs=["restore"])
async def records_that_are_incomplete_are_refused(ctx: Context) -> None:
    """A record without an id, a time or a scope is InvalidInput, and none of the others is written."""
    whole = _record(ctx, 0)
    for bad in ({"id": ""}, {"created_at": None}, {"scope": None}, {"content": " "}, {"kind": "opinion"}):
        records = [whole, replace(_record(ctx, 1), **bad)]
        await invalid(ctx, next(iter(bad)), partial(ctx.store.restore, records))


@rule(needs=["restore", "supersede", "listing"])
async def restored_chains_hold_together(ctx: Context) -> None:
    """A restored chain has its links, in whatever order it is restored, and shows its head."""
    old, new = _record(ctx, 0), _record(ctx, 1)
    old = replace(old, superseded_by=new.id, invalid_at=new.observed_at)
    new = replace(new, supersedes=old.id)
    equal(await _restored(ctx, [new, old]), [new, old], "the chain")
    equal(await ctx.texts(), ["memory 1"], "contents")


@rule(needs=["restore", "invalidation", "listing"])
async def restored_history_stays_hidden(ctx: Context) -> None:
    """A restored record that was invalidated keeps its instant and reason, and stays hidden."""
    given = replace(_record(ctx, 0), invalid_at=LONG_AGO + timedelta(days=1), invalid_reason="moved")
    equal(await _restored(ctx, [given]), [given], "the record")
    equal(await ctx.texts(), [], "contents")


@rule(needs=["restore", "keyword"])
async def restored_records_are_found(ctx: Context) -> None:
    """A restored record is found by its words."""
    await ctx.store.restore([replace(_record(ctx, 0), content="jasmine tea")])
    equal(await ctx.search("jasmine"), ["jasmine tea"], "contents found")


@rule(needs=["restore", "neighbours", "keyword"])
async def restored_turns_are_neighbours(ctx: Context) -> None:
    """Restored turns of one conversation answer to each other's words, in the order restored."""
    said = [Provenance("chat", None, None, role) for role in ("user", "assistant")]
    texts = ("do you like pistachio", "yes very much")
    records = [
        replace(_record(ctx, n), kind="episode", content=text, provenance=who)
        for n, (text, who) in enumerate(zip(texts, said, strict=True))
    ]
    await ctx.store.restore(records)
    equal(await ctx.search("pistachio"), list(texts), "contents found")


@rule(needs=["restore", "verbatim", "purge", "listing"])
async def what_was_purged_can_be_restored(ctx: Context) -> None:
    """Records read from a store, purged and restored, are listed as before."""
    for n in range(3):
        await ctx.keep(f"memory {n}")
        ctx.clock.advance(seconds=1)
    kept = await ctx.listed()
    await ctx.store.purge(ctx.scope())
    ctx.clock.advance(days=1)
    await ctx.store.restore(kept[::-1])
    found = [(record.content, record.observed_at, record.created_at) for record in await ctx.listed()]
    equal(
        found,
        [(record.content, record.observed_at, record.created_at) for record in kept],
        "contents and times",
    )


def _record(ctx: Context, n: int) -> Record:
    moment = LONG_AGO + timedelta(hours=n)
    return Record(
        id=ctx.unique(f"restored-{n}"),
        scope=ctx.scope(),
        kind="fact",
        content=f"memory {n}",
        created_at=moment,
        updated_at=moment,
        observed_at=moment,
        revision=f"revision-{n}",
    )


async def _restored(ctx: Context, records: list[Record]) -> list[Record]:
    """The records as they are held after a restore, under the ids and revisions that they had."""
    ids = (await ctx.store.restore(records)).ids
    names = {here: given for given, here in ids.items()}
    found = await ctx.store.get([ids[record.id] for record in records])
    return [
        replace(
            record,
            id=names[record.id],
            revision=given.revision,
            supersedes=names.get(record.supersedes or ""),
            superseded_by=names.get(record.superseded_by or ""),
        )
        for given, record in zip(records, found, strict=True)
    ]
