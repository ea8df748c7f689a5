"""What hosts ask: counts, scans and sweeps."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta

from memhub.conformance.context import Context
from memhub.conformance.definition import rule
from memhub.conformance.expect import Skipped, equal, raises, true
from memhub.errors import InvalidInput
from memhub.records import Fact, Page, Record, ScopeCount
from memhub.scope import Scope

MOST_SCANNED = 20
"""Pages of a store in use that are read through; a larger one is left alone."""


@rule(needs=["verbatim", "stats"])
async def stats_count_one_scope(ctx: Context) -> None:
    """Stats of a scope count its records, and nothing of others; an unknown one has none."""
    for n, label in enumerate("aab"):
        await ctx.keep(f"memory {n}", scope=ctx.scope(label))
    counts = [(await ctx.store.stats(ctx.scope(label))).live for label in ("a", "b", "nobody")]
    equal(counts, [2, 1, 0], "live records in a, in b, and in an unknown scope")


@rule(needs=["facts", "stats", "invalidation", "expiry"])
async def stats_tell_live_from_gone(ctx: Context) -> None:
    """Stats count live, invalidated and expired records; one that is both counts as expired."""
    expires = ctx.clock() + timedelta(hours=1)
    records = [
        await ctx.keep(Fact(f"memory {n}", expires_at=expires if n in (3, 4, 5) else None)) for n in range(6)
    ]
    for n in (2, 3):
        await ctx.store.invalidate(records[n].id)
    ctx.clock.advance(hours=1)
    found = await ctx.store.stats(ctx.scope())
    equal((found.live, found.invalidated, found.expired), (2, 1, 3), "live, invalidated, expired")


@rule(needs=["facts", "stats", "invalidation", "subset_scopes"])
async def stats_list_scopes(ctx: Context) -> None:
    """With `by_scope` each exact scope that is covered is listed with its counts; without, none is."""
    acme = ctx.unique("acme")
    tenant, ann = Scope(tenant=acme), Scope(tenant=acme, user="ann")
    for n, scope in enumerate((tenant, ann, ann)):
        record = await ctx.keep(f"memory {n}", scope=scope)
    await ctx.store.invalidate(record.id)
    found = await ctx.store.stats(tenant, by_scope=True)
    rows = {row.scope: row for row in found.scopes}
    promised = {tenant: ScopeCount(scope=tenant, live=1), ann: ScopeCount(scope=ann, live=1, invalidated=1)}
    equal(rows, promised, "counts by scope")
    equal((await ctx.store.stats(tenant)).scopes, (), "scopes when not asked for")


@rule(needs=["verbatim", "stats", "purge"])
async def a_purged_scope_is_listed_no_more(ctx: Context) -> None:
    """After a purge, stats of the whole store do not know the scope."""
    await ctx.keep("memory")
    await ctx.store.purge(ctx.scope())
    found = await ctx.store.stats(by_scope=True)
    true(ctx.scope() not in {row.scope for row in found.scopes}, "stats: list a purged scope")


@rule(needs=["verbatim", "stats"])
async def stats_of_everything_add_up(ctx: Context) -> None:
    """Stats without a scope count every scope, and list this run's with their counts."""
    before = await ctx.store.stats(by_scope=True)
    for n, label in enumerate("abb"):
        await ctx.keep(f"memory {n}", scope=ctx.scope(label))
    found = await ctx.store.stats(by_scope=True)
    counts = {row.scope: row.live for row in found.scopes}
    equal((counts.get(ctx.scope("a")), counts.get(ctx.scope("b"))), (1, 2), "live records in a, and in b")
    if not ctx.live:
        equal(found.live - before.live, 3, "live records more than before")


@rule(needs=["facts", "scan", "invalidation", "expiry"])
async def scan_shows_everything_once(ctx: Context) -> None:
    """Scan shows every record once, those of a scope in the order written, invalidated and expired ones too."""
    expires = ctx.clock() + timedelta(hours=1)
    kept = [await ctx.keep(Fact(f"memory {n}", expires_at=expires if n == 1 else None)) for n in range(4)]
    await ctx.store.invalidate(kept[2].id)
    ctx.clock.advance(hours=1)
    promised = [record.id for record in kept]
    equal([record.id for record in await _scanned(ctx, 1_000)], promised, "ids in one page")
    if not ctx.live:
        equal([record.id for record in await _scanned(ctx, 2)], promised, "ids in pages of 2")
        equal([record.id for record in await _scanned(ctx, 1)], promised, "ids in pages of 1")


@rule(needs=["verbatim", "scan"])
async def scan_shows_whole_records(ctx: Context) -> None:
    """A scanned record is the record that get returns, of whichever scope."""
    kept = [await ctx.keep("memory", scope=ctx.scope(label)) for label in ("a", "b")]
    equal(await _scanned(ctx, 1_000), kept, "the records")


@rule(needs=["verbatim", "scan", "delete"])
async def scan_shows_nothing_deleted(ctx: Context) -> None:
    """A deleted record is not scanned."""
    gone, stays = await ctx.keep("memory one"), await ctx.keep("memory two")
    await ctx.store.delete(gone.id)
    equal([record.id for record in await _scanned(ctx, 1_000)], [stays.id], "ids")


@rule(needs=["scan"])
async def a_cursor_that_scan_never_gave_is_refused(ctx: Context) -> None:
    """A scan refuses a cursor that is not its own, and does not begin anew."""
    await raises(InvalidInput, ctx.store.scan("no cursor", 1), "scan with a cursor of nobody")


@rule(needs=["scan"])
async def a_scan_from_beyond_every_number_is_refused_or_finds_nothing(ctx: Context) -> None:
    """A cursor that is a number larger than any engine's own is refused, or is past the end."""
    with suppress(InvalidInput):
        equal(await ctx.store.scan("9" * 40, 1), Page(), "a scan from a number that no record has")


@rule(needs=["facts", "expiry", "scan", "delete", "found"], fresh=True)
async def sweep_removes_the_expired_alone(ctx: Context) -> None:
    """Sweep deletes what has expired, counts it, and leaves the rest."""
    for hours in (1, 2, 3):
        await ctx.keep(Fact(f"memory for {hours} h", expires_at=ctx.clock() + timedelta(hours=hours)))
    await ctx.keep("memory that lasts")
    ctx.clock.advance(hours=2)
    equal([await ctx.store.sweep() for _ in range(2)], [2, 0], "records swept, twice")
    equal(
        [one.content for one in await _scanned(ctx, 10)], ["memory for 3 h", "memory that lasts"], "contents"
    )


async def _scanned(ctx: Context, size: int) -> list[Record]:
    """The records of this run, as a scan of everything shows them."""
    records: list[Record] = []
    cursor = None
    for _ in range(MOST_SCANNED):
        page = await ctx.store.scan(cursor, size)
        records += [record for record in page.records if record.scope in ctx.notes.scopes]
        cursor = page.cursor
        if cursor is None:
            return records
    raise Skipped(f"the store holds more than {MOST_SCANNED} pages of a scan")
