"""Expiry: from its very instant a record is gone from reads and writes, without a sweep."""

from __future__ import annotations

from collections.abc import Awaitable
from datetime import datetime, timedelta

from memhub.conformance.context import Context
from memhub.conformance.definition import rule
from memhub.conformance.expect import equal, raises
from memhub.errors import NotFound
from memhub.records import Fact, Patch, Query, Record


@rule(needs=["facts", "expiry"])
async def an_expired_record_is_not_found(ctx: Context) -> None:
    """Get finds a record until the microsecond before it expires, and from that instant no more."""
    record = await _perishable(ctx, hours=1)
    ctx.clock.advance(hours=1, microseconds=-1)
    equal((await ctx.store.get(record.id)).content, record.content, "content just before it expires")
    ctx.clock.advance(microseconds=1)
    await raises(NotFound, ctx.store.get(record.id), "get at the instant of expiry")


@rule(needs=["facts", "expiry", "listing"])
async def an_expired_record_is_not_listed(ctx: Context) -> None:
    """A listing shows a record until just before it expires, and from that instant no more."""
    await ctx.keep("lasting")
    await _perishable(ctx, hours=1)
    ctx.clock.advance(hours=1, microseconds=-1)
    equal(len(await ctx.texts()), 2, "records just before one expires")
    ctx.clock.advance(microseconds=1)
    past = ctx.caps.invalidation or ctx.caps.supersede
    query = Query(ctx.scope(), include_invalidated=past)
    equal(await ctx.texts(query), ["lasting"], "contents at that instant")


@rule(needs=["facts", "expiry", "keyword"])
async def an_expired_record_is_not_searched(ctx: Context) -> None:
    """A search finds a record until just before it expires, and from that instant no more."""
    record = await _perishable(ctx, hours=1)
    ctx.clock.advance(hours=1, microseconds=-1)
    equal(await ctx.search("perishable"), [record.content], "contents just before it expires")
    ctx.clock.advance(microseconds=1)
    equal(await ctx.search("perishable"), [], "contents at that instant")


@rule(needs=["facts", "expiry", "patch.content"])
async def an_expired_record_is_not_updated(ctx: Context) -> None:
    """Updating an expired record is NotFound, with a stale revision too where there are revisions."""
    record = await _perishable(ctx, hours=1)
    ctx.clock.advance(hours=1)
    await raises(NotFound, ctx.store.update(record.id, Patch(content="x")), "update of an expired record")
    if ctx.caps.revisions:
        call = ctx.store.update(record.id, Patch(content="x"), revision="stale")
        await raises(NotFound, call, "update of an expired record with a stale revision")


@rule(needs=["facts", "expiry", "invalidation"])
async def an_expired_record_is_not_invalidated(ctx: Context) -> None:
    """Invalidating an expired record is NotFound."""
    record = await _perishable(ctx, hours=1)
    ctx.clock.advance(hours=1)
    await raises(NotFound, ctx.store.invalidate(record.id), "invalidate of an expired record")


@rule(needs=["facts", "expiry", "supersede"])
async def an_expired_record_is_not_superseded(ctx: Context) -> None:
    """Correcting an expired record is NotFound."""
    record = await _perishable(ctx, hours=1)
    ctx.clock.advance(hours=1)
    await raises(NotFound, ctx.keep(Fact("x", supersedes=record.id)), "supersede of an expired record")


@rule(needs=["facts", "expiry", "delete"])
async def an_expired_record_can_be_deleted(ctx: Context) -> None:
    """Deleting an expired record forgets it; once is enough."""
    record = await _perishable(ctx, hours=1)
    ctx.clock.advance(hours=1)
    await ctx.store.delete(record.id)
    await raises(NotFound, ctx.store.delete(record.id), "delete of an expired record, repeated")


@rule(needs=["facts", "expiry", "purge"])
async def purge_counts_the_expired(ctx: Context) -> None:
    """Purge removes expired records and counts them."""
    await _perishable(ctx, hours=1)
    await ctx.keep("lasting")
    ctx.clock.advance(hours=1)
    equal(await ctx.store.purge(ctx.scope()), 2, "records purged")


@rule(needs=["facts", "expiry", "found"])
async def a_fact_may_arrive_expired(ctx: Context) -> None:
    """A fact whose expiry has passed is never found."""
    await ctx.keep("lasting memory")
    record = await _perishable(ctx, hours=0)
    equal(await ctx.seen(), ["lasting memory"], "contents")
    await raises(NotFound, ctx.store.get(record.id), "get of a fact that arrived expired")


@rule(needs=["facts", "expiry", "patch.expires_at"])
async def an_expiry_can_be_moved_and_cleared(ctx: Context) -> None:
    """A later expiry keeps the record longer, an earlier one less; without one it lasts."""
    start = ctx.clock()
    moved: tuple[datetime | None, ...] = (start + timedelta(days=2), start + timedelta(hours=1), None)
    expires = start + timedelta(days=1)
    records = [await ctx.keep(Fact(f"until {moment}", expires_at=expires)) for moment in moved]
    for record, moment in zip(records, moved, strict=True):
        await ctx.store.update(record.id, Patch(expires_at=moment))
    for hours in (2, 28):
        ctx.clock.advance(hours=hours)
        held = [await _held(ctx.store.get(record.id)) for record in records]
        equal(held, [True, False, True], "held: until day 2, until hour 1, for good")


async def _perishable(ctx: Context, hours: float) -> Record:
    expires = ctx.clock() + timedelta(hours=hours)
    return await ctx.keep(Fact("a perishable memory", expires_at=expires))


async def _held(call: Awaitable[object]) -> bool:
    try:
        await call
    except NotFound:
        return False
    return True
