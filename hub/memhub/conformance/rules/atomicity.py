"""All or nothing, and read your writes."""

from __future__ import annotations

import asyncio

from memhub.conformance.context import Context
from memhub.conformance.definition import rule
from memhub.conformance.expect import equal, raises, true
from memhub.errors import NotFound
from memhub.records import Fact, Patch


@rule(needs=["facts", "several", "supersede", "found"])
async def an_observation_is_all_or_nothing(ctx: Context) -> None:
    """When one fact of an observation is refused, none is stored, and what others correct stays valid."""
    old = await ctx.keep("memory of tea")
    facts = (
        Fact("memory of coffee", supersedes=old.id),
        Fact("memory of cocoa"),
        Fact("memory of milk", supersedes=ctx.unique("absent")),
    )
    await raises(NotFound, ctx.keep_all(*facts), "an observation with one unknown supersedes")
    equal(await ctx.seen(), ["memory of tea"], "contents afterwards")


@rule(needs=["facts", "several", "found"])
async def a_cancelled_write_is_whole_or_absent(ctx: Context) -> None:
    """However early a write is cancelled, all of it is there or nothing."""
    for moment in range(6):
        scope = ctx.scope(f"moment {moment}")
        task = asyncio.create_task(ctx.observe(*(f"memory {n}" for n in range(3)), scope=scope))
        for _ in range(moment):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        count = len(await ctx.seen(scope))
        true(count in (0, 3), f"a write cancelled at step {moment}: {count} of 3 records are there")


@rule(needs=["verbatim", "found"], tier=1)
async def a_write_is_seen_at_once(ctx: Context) -> None:
    """What observe has returned for, the next recall and get see."""
    for n in range(5):
        record = await ctx.keep(f"memory {n}")
        equal(len(await ctx.records()), n + 1, "records after a write")
        equal((await ctx.store.get(record.id)).id, record.id, "id")


@rule(needs=["verbatim", "found", "patch.content", "delete"])
async def a_change_is_seen_at_once(ctx: Context) -> None:
    """What update and delete have returned for, the next recall sees."""
    record = await ctx.keep("memory 0")
    for n in (1, 2):
        await ctx.store.update(record.id, Patch(content=f"memory {n}"))
        equal(await ctx.seen(), [f"memory {n}"], "contents after an update")
    await ctx.store.delete(record.id)
    equal(await ctx.seen(), [], "contents after a delete")


@rule(needs=["facts", "immediate", "listing", "patch.content", "delete"])
async def writes_are_seen_by_others(ctx: Context) -> None:
    """What one process has been told is written, changed or deleted, another sees so."""
    async with ctx.open_again() as other:
        record = await ctx.keep("memory")
        equal((await other.get(record.id)).content, "memory", "content, seen by another adapter")
        await other.update(record.id, Patch(content="changed"))
        equal(await ctx.texts(), ["changed"], "contents after the other's update")
        await ctx.store.delete(record.id)
        await raises(NotFound, other.get(record.id), "get by another adapter after a delete")


@rule(needs=["verbatim", "found"], fresh=True)
async def records_survive_a_restart(ctx: Context) -> None:
    """What was stored is there, field by field, after the store has been closed and opened again."""
    record = await ctx.keep("a lasting memory")
    await ctx.store.aclose()
    async with ctx.open_again() as again:
        equal(await again.get(record.id), record, "the record after a restart")
