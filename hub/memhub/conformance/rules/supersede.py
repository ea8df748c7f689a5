"""Corrections: a fact supersedes an earlier one, and the chain has one head."""

from __future__ import annotations

from datetime import timedelta

from memhub.conformance.context import Context
from memhub.conformance.definition import rule
from memhub.conformance.expect import equal, raises
from memhub.errors import Conflict, NotFound
from memhub.records import Fact, Query, Record
from memhub.scope import Scope


@rule(needs=["facts", "supersede"])
async def a_correction_links_both_ways(ctx: Context) -> None:
    """The old record names the new one and the new one the old, and the old one is hidden from then on."""
    old = await ctx.keep("tea")
    now = ctx.clock.advance(days=1)
    new = await ctx.keep(Fact("coffee", supersedes=old.id))
    equal(new.supersedes, old.id, "supersedes of the new record")
    found = await ctx.store.get(old.id)
    equal(
        (found.superseded_by, found.invalid_at, found.updated_at), (new.id, now, now), "the old record's link"
    )
    equal(found.content, "tea", "content of the old record")


@rule(needs=["facts", "supersede", "listing"])
async def a_chain_shows_its_head(ctx: Context) -> None:
    """Recall shows the head of a chain alone; with include_invalidated the whole chain."""
    await _chain(ctx, "tea", "coffee", "cocoa")
    equal(await ctx.texts(), ["cocoa"], "contents")
    everything = Query(ctx.scope(), include_invalidated=True)
    equal(await ctx.texts(everything), ["cocoa", "coffee", "tea"], "contents with include_invalidated")


@rule(needs=["facts", "supersede", "keyword"])
async def a_search_finds_the_head(ctx: Context) -> None:
    """A search does not find what has been superseded."""
    await _chain(ctx, "drinks tea", "drinks coffee")
    equal(await ctx.search("drinks tea"), ["drinks coffee"], "contents found")


@rule(needs=["facts.observed_at", "supersede"])
async def a_link_ends_at_the_later_observation(ctx: Context) -> None:
    """`invalid_at` is the later of the two observed_at, also when the correction is of an earlier time."""
    start = ctx.clock()
    for days, ends in ((2, 2), (-2, 0)):
        old = await ctx.keep(f"old {days}", at=start)
        await ctx.keep(Fact(f"new {days}", supersedes=old.id), at=start + timedelta(days=days))
        equal((await ctx.store.get(old.id)).invalid_at, start + timedelta(days=ends), "invalid_at")


@rule(needs=["facts", "supersede", "found"])
async def superseding_what_is_absent_is_not_found(ctx: Context) -> None:
    """Correcting a record that the store does not hold is NotFound, and stores nothing."""
    await raises(
        NotFound, ctx.keep(Fact("memory", supersedes=ctx.unique("absent"))), "supersede of an unknown id"
    )
    equal(await ctx.seen(), [], "contents afterwards")


@rule(needs=["facts", "supersede"])
async def superseding_across_scopes_is_not_found(ctx: Context) -> None:
    """Correcting a record of another scope, also a wider or narrower one, is NotFound and changes nothing."""
    acme = ctx.unique("acme")
    home, ann = Scope(tenant=acme), Scope(tenant=acme, user="ann")
    for there, here in ((home, ann), (ann, home), (home, Scope(acme)), (ctx.scope("a"), ctx.scope("b"))):
        old = await ctx.keep("elsewhere", scope=there)
        call = ctx.keep(Fact("corrected", supersedes=old.id), scope=here)
        await raises(NotFound, call, f"supersede of a record in {there!r} from {here!r}")
        equal(await ctx.store.get(old.id), old, "the record elsewhere")


@rule(needs=["facts", "supersede"])
async def superseding_twice_is_conflict(ctx: Context) -> None:
    """Correcting what has been superseded already is Conflict, and the chain stays as it was."""
    old, new = await _chain(ctx, "tea", "coffee")
    before = await ctx.store.get(old.id)
    await raises(Conflict, ctx.keep(Fact("cocoa", supersedes=old.id)), "a second supersede")
    equal(await ctx.store.get([old.id, new.id]), [before, new], "the chain")


@rule(needs=["facts", "supersede", "several", "found"])
async def superseding_twice_at_once_is_conflict(ctx: Context) -> None:
    """Two facts of one observation that correct one record are Conflict, and nothing is stored."""
    old = await ctx.keep("memory of tea")
    facts = Fact("memory of coffee", supersedes=old.id), Fact("memory of cocoa", supersedes=old.id)
    await raises(Conflict, ctx.keep_all(*facts), "two supersedes of one record")
    equal(await ctx.seen(), ["memory of tea"], "contents afterwards")


@rule(needs=["facts", "supersede", "invalidation"])
async def what_is_only_invalidated_can_be_superseded(ctx: Context) -> None:
    """Correcting an invalidated record links it and keeps its invalid_at and reason."""
    old = await ctx.keep("tea")
    hidden = await ctx.store.invalidate(old.id, "wrong")
    ctx.clock.advance(days=1)
    new = await ctx.keep(Fact("coffee", supersedes=old.id))
    found = await ctx.store.get(old.id)
    promised = (new.id, hidden.invalid_at, "wrong")
    equal((found.superseded_by, found.invalid_at, found.invalid_reason), promised, "the old record")


@rule(needs=["facts", "supersede", "distinct", "found"])
async def superseding_touches_one_record(ctx: Context) -> None:
    """Other records stay as they are: the same text, and the same text in another scope."""
    old, twin = await ctx.keep("memory of tea"), await ctx.keep("memory of tea")
    elsewhere = await ctx.keep("memory of tea", scope=ctx.scope("elsewhere"))
    await ctx.keep(Fact("memory of coffee", supersedes=old.id))
    equal(await ctx.store.get([twin.id, elsewhere.id]), [twin, elsewhere], "records with the same text")
    equal(await ctx.seen(), ["memory of coffee", "memory of tea"], "contents")


@rule(needs=["facts", "supersede", "delete", "listing"])
async def deleting_a_head_brings_nothing_back(ctx: Context) -> None:
    """When the head is deleted, what it superseded stays hidden and no longer names it."""
    old, new = await _chain(ctx, "tea", "coffee")
    ends = (await ctx.store.get(old.id)).invalid_at
    await ctx.store.delete(new.id)
    equal(await ctx.texts(), [], "contents")
    found = await ctx.store.get(old.id)
    equal(
        (found.superseded_by, found.invalid_at),
        (None, ends),
        "superseded_by and invalid_at of the old record",
    )


@rule(needs=["facts", "supersede", "delete", "listing"])
async def deleting_a_link_unlinks_its_neighbours(ctx: Context) -> None:
    """When a link between two is deleted, neither side names it, and only the head is shown."""
    old, between, head = await _chain(ctx, "tea", "coffee", "cocoa")
    await ctx.store.delete(between.id)
    found = await ctx.store.get([old.id, head.id])
    links = [(record.supersedes, record.superseded_by) for record in found]
    equal(links, [(None, None), (None, None)], "links of the first and the last")
    equal(await ctx.texts(), ["cocoa"], "contents")


async def _chain(ctx: Context, *texts: str) -> list[Record]:
    """A chain of corrections a second apart, the first one first."""
    records = [await ctx.keep(Fact(texts[0]))]
    for text in texts[1:]:
        ctx.clock.advance(seconds=1)
        records.append(await ctx.keep(Fact(text, supersedes=records[-1].id)))
    return records
