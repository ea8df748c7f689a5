"""Invalidation, and what was valid at another time."""

from __future__ import annotations

from datetime import timedelta

from memhub.conformance.context import Context
from memhub.conformance.definition import rule
from memhub.conformance.expect import equal
from memhub.records import Fact, Patch, Query


@rule(needs=["verbatim", "invalidation"])
async def an_invalidated_record_is_kept_with_its_reason(ctx: Context) -> None:
    """Invalidating returns the record with its instant and reason; get still returns it."""
    record = await ctx.keep("was true")
    now = ctx.clock.advance(hours=1)
    hidden = await ctx.store.invalidate(record.id, "moved away")
    found = (hidden.invalid_at, hidden.invalid_reason, hidden.updated_at, hidden.content)
    equal(found, (now, "moved away", now, "was true"), "invalid_at, reason, updated_at, content")
    equal(await ctx.store.get(record.id), hidden, "the record as got")


@rule(needs=["verbatim", "invalidation", "found"])
async def an_invalidated_record_is_hidden(ctx: Context) -> None:
    """Recall leaves it out, and nothing else."""
    gone, _ = await ctx.keep("memory that was true"), await ctx.keep("memory that is true")
    await ctx.store.invalidate(gone.id)
    equal(await ctx.seen(), ["memory that is true"], "contents")


@rule(needs=["verbatim", "invalidation", "keyword"])
async def an_invalidated_record_is_not_searched(ctx: Context) -> None:
    """A search leaves an invalidated record out, unless asked to include it."""
    record = await ctx.keep("jasmine tea")
    await ctx.store.invalidate(record.id)
    equal(await ctx.search("jasmine"), [], "contents found")
    query = Query(ctx.scope(), text="jasmine", mode="keyword", include_invalidated=True)
    equal(await ctx.texts(query), ["jasmine tea"], "contents found with include_invalidated")


@rule(needs=["verbatim", "invalidation", "listing"])
async def include_invalidated_lists_everything(ctx: Context) -> None:
    """With include_invalidated, hidden records stand where they always stood."""
    records = []
    for n in range(3):
        records.append(await ctx.keep(f"memory {n}"))
        ctx.clock.advance(seconds=1)
    await ctx.store.invalidate(records[1].id)
    found = await ctx.texts(Query(ctx.scope(), include_invalidated=True))
    equal(found, ["memory 2", "memory 1", "memory 0"], "contents with include_invalidated")


@rule(needs=["verbatim", "invalidation"])
async def invalidating_again_changes_nothing(ctx: Context) -> None:
    """A repeat, with another reason and later, returns the record as it was."""
    record = await ctx.keep("was true")
    hidden = await ctx.store.invalidate(record.id, "first reason")
    ctx.clock.advance(hours=1)
    equal(await ctx.store.invalidate(record.id, "second reason"), hidden, "the record after a repeat")


@rule(needs=["facts.observed_at", "as_of", "invalidation", "listing"])
async def as_of_shows_what_was_valid_then(ctx: Context) -> None:
    """`as_of` shows what was observed by then and not invalid then, both instants included."""
    start = ctx.clock()
    record = await ctx.keep("true for an hour", at=start)
    ended = ctx.clock.advance(hours=1)
    await ctx.store.invalidate(record.id)
    tick = timedelta(microseconds=1)
    moments = (start - tick, start, ended - tick, ended, ended + timedelta(days=1))
    found = [bool(await ctx.texts(Query(ctx.scope(), as_of=moment))) for moment in moments]
    equal(found, [False, True, True, False, False], "shown before, from, until, at and after")


@rule(needs=["facts", "as_of", "supersede", "listing"])
async def as_of_shows_the_link_that_was_valid_then(ctx: Context) -> None:
    """`as_of` shows each link of a chain in its own time."""
    moments, old = [ctx.clock()], await ctx.keep("lives in Rome")
    for city in ("Oslo", "Porto"):
        moments.append(ctx.clock.advance(days=1))
        old = await ctx.keep(Fact(f"lives in {city}", supersedes=old.id))
    found = [await ctx.texts(Query(ctx.scope(), as_of=moment)) for moment in moments]
    equal(found, [["lives in Rome"], ["lives in Oslo"], ["lives in Porto"]], "contents, day by day")


@rule(needs=["facts.observed_at", "as_of", "expiry", "listing"])
async def as_of_leaves_out_what_had_expired_then(ctx: Context) -> None:
    """`as_of` a later time leaves out what will have expired by then; what has expired is gone for good."""
    start, expires = ctx.clock(), ctx.clock() + timedelta(hours=1)
    await ctx.keep(Fact("for an hour", expires_at=expires))
    found = [await ctx.texts(Query(ctx.scope(), as_of=moment)) for moment in (start, expires)]
    equal(found, [["for an hour"], []], "contents before, and at the instant of expiry")
    ctx.clock.advance(hours=1)
    equal(await ctx.texts(Query(ctx.scope(), as_of=start)), [], "contents as of then, once it has expired")


@rule(needs=["verbatim", "as_of", "patch.content", "listing"])
async def as_of_shows_the_text_of_today(ctx: Context) -> None:
    """An update keeps no old text: `as_of` shows the present one."""
    start, record = ctx.clock(), await ctx.keep("teh text")
    ctx.clock.advance(days=1)
    await ctx.store.update(record.id, Patch(content="the text"))
    equal(await ctx.texts(Query(ctx.scope(), as_of=start)), ["the text"], "contents as of then")


@rule(needs=["facts.observed_at", "as_of", "keyword"])
async def as_of_applies_to_a_search(ctx: Context) -> None:
    """A search as of an earlier time finds what had been observed by then."""
    start = ctx.clock()
    await ctx.keep("tea, early", at=start - timedelta(days=1))
    await ctx.keep("tea, late", at=start + timedelta(days=1))
    query = Query(ctx.scope(), text="tea", mode="keyword", as_of=start)
    equal(await ctx.texts(query), ["tea, early"], "contents found")
