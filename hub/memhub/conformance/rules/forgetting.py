"""Delete and purge: what is forgotten is gone from every call, and from the files."""

from __future__ import annotations

from typing import Final

from memhub.conformance.context import Context
from memhub.conformance.definition import rule
from memhub.conformance.expect import equal, raises, true
from memhub.errors import NotFound
from memhub.records import Fact, Provenance, Query, Turn
from memhub.scope import Scope

MARK: Final = "qzxvkj"
"""A word that no language has, and no stemmer changes."""


@rule(needs=["verbatim", "delete"])
async def a_deleted_record_is_not_found(ctx: Context) -> None:
    """Get and delete of a deleted record are NotFound."""
    record = await ctx.keep("forget me")
    await ctx.store.delete(record.id)
    await raises(NotFound, ctx.store.get(record.id), "get of a deleted record")
    await raises(NotFound, ctx.store.delete(record.id), "a second delete")


@rule(needs=["verbatim", "delete", "distinct", "found"])
async def a_deleted_record_is_not_recalled(ctx: Context) -> None:
    """Recall finds what was left, and not what was deleted; a twin with the same text stays."""
    gone, twin = await ctx.keep("memory, twice"), await ctx.keep("memory, twice")
    await ctx.store.delete(gone.id)
    equal([record.id for record in await ctx.records()], [twin.id], "ids")


@rule(needs=["verbatim", "delete", "keyword"])
async def a_deleted_record_is_not_searched(ctx: Context) -> None:
    """A search finds neither a deleted record nor an old score of it."""
    gone, stays = await ctx.keep("jasmine tea"), await ctx.keep("green tea")
    await ctx.store.delete(gone.id)
    found = [await ctx.search("jasmine"), await ctx.search("tea")]
    equal(found, [[], [stays.content]], "contents found for jasmine, and for tea")


@rule(needs=["verbatim", "delete", "invalidation", "listing"])
async def an_invalidated_record_can_be_deleted(ctx: Context) -> None:
    """A deleted record is gone from include_invalidated too."""
    record = await ctx.keep("forget me")
    await ctx.store.invalidate(record.id)
    await ctx.store.delete(record.id)
    equal(await ctx.texts(Query(ctx.scope(), include_invalidated=True)), [], "contents")


@rule(needs=["verbatim", "delete", "as_of", "listing"])
async def a_deleted_record_has_no_past(ctx: Context) -> None:
    """`as_of` an earlier time shows nothing that has been deleted since."""
    start, record = ctx.clock(), await ctx.keep("forget me")
    ctx.clock.advance(days=1)
    await ctx.store.delete(record.id)
    equal(await ctx.texts(Query(ctx.scope(), as_of=start)), [], "contents as of then")


@rule(needs=["verbatim", "delete", "complete_erasure"])
async def a_delete_leaves_no_trace(ctx: Context) -> None:
    """After a delete the store's own files, index included, hold none of the record's texts."""
    before = await ctx.leftovers(MARK)
    for what in _marked(ctx):
        record = await ctx.keep(what, provenance=_author(ctx, what))
        true(
            await ctx.leftovers(MARK) > before, "leftovers: the hook finds nothing while the record is there"
        )
        await ctx.store.delete(record.id)
        equal(await ctx.leftovers(MARK), before, f"traces of {what!r} after the delete")


@rule(needs=["verbatim", "purge", "complete_erasure"])
async def a_purge_leaves_no_trace(ctx: Context) -> None:
    """After a purge the store's own files hold none of the records' texts, nor the scope's name."""
    before, scope = await ctx.leftovers(MARK), ctx.scope(f"of {MARK}")
    for what in _marked(ctx):
        await ctx.keep(what, scope=scope, provenance=_author(ctx, what))
    true(await ctx.leftovers(MARK) > before, "leftovers: the hook finds nothing while the records are there")
    await ctx.store.purge(scope)
    equal(await ctx.leftovers(MARK), before, "traces after the purge")


@rule(needs=["verbatim", "purge", "found"])
async def purge_empties_one_scope(ctx: Context) -> None:
    """Purge removes and counts what its scope holds; another scope stays, listed and found."""
    a, b = ctx.scope("a"), ctx.scope("b")
    await ctx.keep("memory of a", scope=a)
    stays = await ctx.keep("memory of b", scope=b)
    equal(await ctx.store.purge(a), 1, "records purged")
    equal([await ctx.seen(a), await ctx.seen(b)], [[], ["memory of b"]], "contents of a, and of b")
    equal((await ctx.store.get(stays.id)).content, stays.content, "content of the record in b")


@rule(needs=["verbatim", "purge", "found"])
async def purge_is_no_pattern(ctx: Context) -> None:
    """Purging a scope leaves scopes alone that look like it, or that it would match as a pattern."""
    names = ("john_doe", "john-doe", "john", "john%", "%", "John", "john/x")
    for name in names:
        await ctx.keep(f"memory of {name}", scope=ctx.scope(name))
    for name in ("john%", "john_doe", "%", "john"):
        equal(await ctx.store.purge(ctx.scope(name)), 1, f"records purged from {name!r}")
    left = [name for name in names if await ctx.seen(ctx.scope(name))]
    equal(left, ["john-doe", "John", "john/x"], "scopes that hold something")


@rule(needs=["verbatim", "purge", "listing"])
async def purge_of_250_is_whole(ctx: Context) -> None:
    """A scope of 250 records is purged whole, and all of them are counted."""
    await _fill(ctx, 250)
    equal(await ctx.store.purge(ctx.scope()), 250, "records purged")
    equal(await ctx.texts(), [], "contents")


@rule(needs=["verbatim", "purge", "invalidation"])
async def purge_counts_the_invalidated(ctx: Context) -> None:
    """Purge removes invalidated records and counts them."""
    record, other = await ctx.keep("memory one"), await ctx.keep("memory two")
    await ctx.store.invalidate(record.id)
    equal(await ctx.store.purge(ctx.scope()), 2, "records purged")
    for one in (record, other):
        await raises(NotFound, ctx.store.get(one.id), "get after a purge")


@rule(needs=["verbatim", "purge", "subset_scopes", "listing"])
async def purge_covers_more_specific_scopes(ctx: Context) -> None:
    """Purging pairs removes all that a query for them would reach; with `exact` that very scope alone."""
    acme = ctx.unique("acme")
    tenant, ann, bob = Scope(tenant=acme), Scope(tenant=acme, user="ann"), Scope(tenant=acme, user="bob")
    for n, scope in enumerate((tenant, ann, ann, bob, Scope(acme))):
        await ctx.keep(f"memory {n}", scope=scope)
    equal(await ctx.store.purge(tenant, exact=True), 1, "records purged with exact")
    equal(await ctx.store.purge(ann), 2, "records purged of one user")
    equal(sorted(await ctx.texts(Query(tenant))), ["memory 3"], "contents of the tenant")
    equal(await ctx.store.purge(tenant), 1, "records purged of the tenant")
    equal(await ctx.texts(Query(Scope(acme))), ["memory 4"], "contents of the name")


@rule(needs=["verbatim", "purge"])
async def purge_of_nothing_is_zero(ctx: Context) -> None:
    """Purging a scope that holds nothing, never did or no longer does, counts 0."""
    equal(await ctx.store.purge(ctx.scope("nobody")), 0, "records purged from an unknown scope")
    await ctx.keep("once")
    equal([await ctx.store.purge(ctx.scope()) for _ in range(2)], [1, 0], "records purged, twice")


@rule(needs=["verbatim", "purge", "found"])
async def a_purged_scope_starts_anew(ctx: Context) -> None:
    """After a purge a scope can be written to, and finds the new records alone."""
    await ctx.keep("memory, old")
    await ctx.store.purge(ctx.scope())
    await ctx.keep("memory, new")
    equal(await ctx.seen(), ["memory, new"], "contents")


def _marked(ctx: Context) -> list[str | Fact | Turn]:
    """One thing a field, each with MARK in that field."""
    caps, found = ctx.caps, list[str | Fact | Turn]([f"{MARK} in the content"])
    if "tags" in caps.fact_fields:
        found.append(Fact("tagged", tags=[MARK]))
    if "attributes" in caps.fact_fields:
        found.append(Fact("described", attributes={MARK: f"a {MARK}"}))
    if "payload" in caps.fact_fields and "target" in caps.fact_fields:
        found.append(Fact("reserved", payload={MARK: [MARK]}, target=MARK))
    return found


def _author(ctx: Context, what: str | Fact | Turn) -> Provenance | None:
    known = ctx.caps.fact_fields if isinstance(what, Fact) or ctx.caps.facts == "verbatim" else frozenset()
    return Provenance(MARK, MARK, MARK) if "provenance" in known else None


async def _fill(ctx: Context, count: int) -> None:
    size = min(ctx.caps.atomic_facts, count)
    for start in range(0, count, size):
        await ctx.keep_all(*(f"memory {n}" for n in range(start, min(start + size, count))))
