"""Listings: newest first, page by page, steady while others write."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from memhub.conformance.context import Context
from memhub.conformance.definition import rule
from memhub.conformance.expect import equal, raises, true
from memhub.errors import InvalidInput
from memhub.records import Fact, Patch, Query, Record, Turn


@rule(needs=["verbatim", "listing"])
async def the_newest_come_first(ctx: Context) -> None:
    """A listing goes by observed_at, newest first, to the microsecond."""
    for n in range(3):
        await ctx.keep(f"memory {n}")
        ctx.clock.advance(microseconds=1)
    equal(await ctx.texts(), ["memory 2", "memory 1", "memory 0"], "contents, newest first")


@rule(needs=["facts.observed_at", "listing"])
async def what_was_observed_counts_before_what_was_written(ctx: Context) -> None:
    """A record observed earlier comes later, whenever it was written."""
    start = ctx.clock()
    for text, days in (("yesterday", -1), ("today", 0), ("last week", -7), ("tomorrow", 1)):
        ctx.clock.advance(seconds=1)
        await ctx.keep(Fact(text), at=start + timedelta(days=days))
    equal(await ctx.texts(), ["tomorrow", "today", "yesterday", "last week"], "contents, newest first")


@rule(needs=["facts.observed_at", "listing"])
async def equal_times_go_by_when_they_were_written(ctx: Context) -> None:
    """Of records observed at one instant, the one written later comes first."""
    start = ctx.clock()
    for n in range(3):
        ctx.clock.advance(minutes=1)
        await ctx.keep(Fact(f"memory {n}"), at=start)
    equal(await ctx.texts(), ["memory 2", "memory 1", "memory 0"], "contents observed at one instant")


@rule(needs=["facts", "several", "listing"])
async def the_last_of_an_observation_comes_first(ctx: Context) -> None:
    """Records of one observation are returned in the order given, and listed last first."""
    records = await ctx.keep_all("first", "between", "last")
    equal([record.content for record in records], ["first", "between", "last"], "contents as returned")
    equal([record.position for record in records], [0, 1, 2], "positions")
    equal(await ctx.texts(), ["last", "between", "first"], "contents as listed")


@rule(needs=["verbatim_turns", "several", "listing"])
async def the_last_turn_comes_first(ctx: Context) -> None:
    """Turns of one observation are returned in the order given, and listed last first."""
    turns = [Turn("user", "first"), Turn("assistant", "between"), Turn("user", "last")]
    records = await ctx.keep_all(*turns)
    equal([record.content for record in records], ["first", "between", "last"], "contents as returned")
    equal(await ctx.texts(), ["last", "between", "first"], "contents as listed")


@rule(needs=["verbatim", "listing"])
async def pages_show_everything_once(ctx: Context) -> None:
    """Pages of any size show every record once, in order; the last page has no cursor."""
    promised = [record.id for record in await _kept(ctx, 6)][::-1]
    for size in (1, 2, 4, 5, 6):
        query, before = Query(ctx.scope(), limit=min(size, ctx.page)), ctx.notes.calls
        equal([record.id for record in await ctx.listed(query)], promised, f"ids in pages of {query.limit}")
        equal(ctx.notes.calls - before, -(-6 // query.limit), f"pages of {query.limit}")


@rule(needs=["facts.observed_at", "listing"])
async def pages_split_records_of_one_instant(ctx: Context) -> None:
    """Pages lose and repeat nothing where all times are equal."""
    records = [await ctx.keep(Fact(f"memory {n}"), at=ctx.clock()) for n in range(7)]
    whole, pages = await ctx.listed(), await ctx.listed(Query(ctx.scope(), limit=2))
    equal({record.id for record in whole}, {record.id for record in records}, "ids in one page")
    equal([record.id for record in pages], [record.id for record in whole], "ids in pages of 2")


@rule(needs=["verbatim", "listing"])
async def a_page_may_grow_on_the_way(ctx: Context) -> None:
    """A cursor goes on with another limit."""
    promised = [record.content for record in await _kept(ctx, 5)][::-1]
    first = await ctx.store.recall(Query(ctx.scope(), limit=1))
    rest = await ctx.texts(Query(ctx.scope(), limit=min(3, ctx.page), cursor=first.cursor))
    equal([hit.record.content for hit in first.hits] + rest, promised, "contents over the pages")


@rule(needs=["verbatim", "listing"])
async def newer_writes_stay_out_of_a_listing(ctx: Context) -> None:
    """What is written while pages are turned does not appear, and displaces nothing."""
    promised = [record.content for record in await _kept(ctx, 4)][::-1]
    found, first = await _first_page(ctx, 2)
    ctx.clock.advance(seconds=1)
    await ctx.keep("memory that came later")
    equal(found + await ctx.texts(first), promised, "contents over the pages")


@rule(needs=["facts.observed_at", "listing"])
async def newer_writes_of_old_things_stay_out_of_a_listing(ctx: Context) -> None:
    """What is written while pages are turned does not appear, even if it was observed long ago."""
    promised = [record.content for record in await _kept(ctx, 4)][::-1]
    found, first = await _first_page(ctx, 2)
    await ctx.keep(Fact("written now, of long ago"), at=ctx.clock() - timedelta(days=900))
    equal(found + await ctx.texts(first), promised, "contents over the pages")


@rule(needs=["verbatim", "listing", "delete"])
async def deleted_records_are_skipped_between_pages(ctx: Context) -> None:
    """A record deleted while pages are turned is left out, and nothing else."""
    records = await _kept(ctx, 6)
    found, first = await _first_page(ctx, 2)
    for gone in (records[4], records[3], records[1]):
        await ctx.store.delete(gone.id)
    equal(
        found + await ctx.texts(first), [records[n].content for n in (5, 4, 2, 0)], "contents over the pages"
    )


@rule(needs=["verbatim", "listing", "patch.content"])
async def updated_records_keep_their_place(ctx: Context) -> None:
    """A record updated while pages are turned appears once, where it was."""
    records = await _kept(ctx, 5)
    found, first = await _first_page(ctx, 2)
    ctx.clock.advance(seconds=1)
    for n in (4, 1):
        await ctx.store.update(records[n].id, Patch(content=f"changed {n}"))
    promised = ["memory 4", "memory 3", "memory 2", "changed 1", "memory 0"]
    equal(found + await ctx.texts(first), promised, "contents over the pages")


@rule(needs=["verbatim", "listing"])
async def a_cursor_belongs_to_its_query(ctx: Context) -> None:
    """A cursor of another query, or no cursor at all, is InvalidInput."""
    await _kept(ctx, 3)
    _, first = await _first_page(ctx, 1)
    others = (
        Query(ctx.scope("other"), cursor=first.cursor),
        Query(ctx.scope(), exact=True, cursor=first.cursor),
    )
    for query in (*others, replace(first, cursor="no cursor"), replace(first, cursor=f"{first.cursor}x")):
        await raises(InvalidInput, ctx.store.recall(query), "recall with a cursor that is not the query's")


@rule(needs=["verbatim", "listing"], fresh=True)
async def a_cursor_survives_a_restart(ctx: Context) -> None:
    """A listing goes on where it was after the store has been closed and opened again."""
    promised = [record.content for record in await _kept(ctx, 4)][::-1]
    found, first = await _first_page(ctx, 2)
    await ctx.store.aclose()
    async with ctx.open_again() as again:
        rest = [hit.record.content for hit in (await again.recall(first)).hits]
    equal(found + rest, promised, "contents over the pages")


async def _kept(ctx: Context, count: int) -> list[Record]:
    """Records a second apart, oldest first."""
    records = []
    for n in range(count):
        ctx.clock.advance(seconds=1)
        records.append(await ctx.keep(f"memory {n}"))
    return records


async def _first_page(ctx: Context, size: int) -> tuple[list[str], Query]:
    """The contents of the first page, and the query for the next."""
    query = Query(ctx.scope(), limit=min(size, ctx.page))
    found = await ctx.store.recall(query)
    true(found.cursor, "a page that is not the last: has no cursor")
    return [hit.record.content for hit in found.hits], replace(query, cursor=found.cursor)
