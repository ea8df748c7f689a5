"""The other direction, changing: verbs that are not declared are refused before any I/O, by name."""

from __future__ import annotations

from functools import partial
from typing import Final

from memhub.conformance.context import Context
from memhub.conformance.definition import rule
from memhub.conformance.expect import equal, raises
from memhub.conformance.rules.refusing import refused
from memhub.errors import NotFound
from memhub.records import Patch, Query

PATCHES: Final = {
    "content": Patch(content="x"),
    "kind": Patch(kind="profile"),
    "tags": Patch(tags=["a"]),
    "set_attributes": Patch(set_attributes={"a": 1}),
    "remove_attributes": Patch(remove_attributes=["a"]),
    "expires_at": Patch(expires_at=None),
}


@rule(lacks=["update"])
async def undeclared_update_is_refused(ctx: Context) -> None:
    """A store that changes nothing refuses to update."""
    await refused(ctx, "update", "", lambda: ctx.store.update("some-id", Patch(content="x")))


@rule(needs=["update"], lacks=["patch.all"])
async def undeclared_fields_of_patches_are_refused(ctx: Context) -> None:
    """What a store cannot change of a record is refused, and the rest of the patch with it."""
    for name, patch in PATCHES.items():
        if name not in ctx.caps.patch:
            await refused(ctx, "update", name, partial(ctx.store.update, "some-id", patch))


@rule(lacks=["delete"])
async def undeclared_delete_is_refused(ctx: Context) -> None:
    """A store that forgets nothing refuses to delete."""
    await refused(ctx, "delete", "", lambda: ctx.store.delete("some-id"))


@rule(lacks=["invalidation"])
async def undeclared_invalidation_is_refused(ctx: Context) -> None:
    """A store that hides nothing refuses to invalidate."""
    await refused(ctx, "invalidate", "", lambda: ctx.store.invalidate("some-id"))


@rule(needs=["changes"], lacks=["revisions"])
async def undeclared_revisions_are_refused(ctx: Context) -> None:
    """A store without conditional writes refuses a revision, in each verb that it has."""
    store, caps = ctx.store, ctx.caps
    if caps.delete:
        await refused(ctx, "delete", "revision", lambda: store.delete("some-id", revision="r"))
    if caps.invalidation:
        await refused(ctx, "invalidate", "revision", lambda: store.invalidate("some-id", revision="r"))
    for name in sorted(caps.patch):
        call = partial(store.update, "some-id", PATCHES[name], revision="r")
        await refused(ctx, "update", "revision", call)


@rule(lacks=["operations"])
async def undeclared_operations_are_refused(ctx: Context) -> None:
    """A store whose writes are done when they return refuses to wait."""
    await refused(ctx, "wait", "", lambda: ctx.store.wait("some-operation"))


@rule(lacks=["scan"])
async def undeclared_scan_is_refused(ctx: Context) -> None:
    """A store that cannot be scanned refuses to scan, and to sweep."""
    await refused(ctx, "scan", "", ctx.store.scan)
    await refused(ctx, "sweep", "", ctx.store.sweep)


@rule(needs=["scan"], lacks=["delete"])
async def sweep_is_refused_where_nothing_is_deleted(ctx: Context) -> None:
    """A store that forgets nothing refuses to sweep."""
    await refused(ctx, "sweep", "", ctx.store.sweep)


@rule(lacks=["semantic"])
async def undeclared_reembed_is_refused(ctx: Context) -> None:
    """A store without vectors refuses to make them anew."""
    await refused(ctx, "reembed", "", ctx.store.reembed)


@rule(lacks=["restore"])
async def undeclared_restore_is_refused(ctx: Context) -> None:
    """A store that cannot take complete records refuses to restore."""
    await refused(ctx, "restore", "", lambda: ctx.store.restore([]))


@rule(lacks=["stats"])
async def undeclared_stats_are_refused(ctx: Context) -> None:
    """A store that cannot count refuses to."""
    await refused(ctx, "stats", "", lambda: ctx.store.stats(ctx.scope()))


@rule(lacks=["purge"])
async def undeclared_purge_is_refused(ctx: Context) -> None:
    """A store that cannot empty a scope refuses to, and removes nothing."""
    await refused(ctx, "purge", "", lambda: ctx.store.purge(ctx.scope()))


@rule(needs=["verbatim"], lacks=["update", "delete", "invalidation", "supersede", "purge"])
async def an_append_only_store_keeps_everything(ctx: Context) -> None:
    """A store that only appends refuses every change by name, and the record stays as it was."""
    record = await ctx.keep("for good")
    await refused(ctx, "update", "", lambda: ctx.store.update(record.id, Patch(content="changed")))
    await refused(ctx, "invalidate", "", lambda: ctx.store.invalidate(record.id))
    await refused(ctx, "delete", "", lambda: ctx.store.delete(record.id))
    await refused(ctx, "purge", "", lambda: ctx.store.purge(ctx.scope()))
    ctx.clock.advance(days=1)
    equal(await ctx.store.get(record.id), record, "the record")


@rule(lacks=["persistent"])
async def a_store_that_keeps_nothing_says_so(ctx: Context) -> None:
    """A store that keeps nothing takes every observation, says that nothing was kept, and finds nothing."""
    done = await ctx.observe("a memory") if ctx.caps.facts != "no" or ctx.caps.turns != "no" else None
    if done is not None:
        equal(
            (done.persisted, done.records, done.operation), (False, (), None), "persisted, records, operation"
        )
    await raises(NotFound, ctx.store.get("some-id"), "get")
    if ctx.caps.listing:
        equal((await ctx.store.recall(Query(ctx.scope()))).hits, (), "hits of a listing")
    for mode in ctx.caps.modes:
        query = Query(ctx.scope(), text="a memory", mode=mode)
        equal((await ctx.store.recall(query)).hits, (), f"hits of a {mode} search")


@rule(lacks=["persistent"])
async def a_store_that_keeps_nothing_has_nothing_to_change(ctx: Context) -> None:
    """Where nothing is kept, every change that is declared is NotFound, and purge counts 0."""
    store, caps = ctx.store, ctx.caps
    for name in sorted(caps.patch):
        await raises(NotFound, store.update("some-id", PATCHES[name]), f"update of {name}")
    if caps.invalidation:
        await raises(NotFound, store.invalidate("some-id"), "invalidate")
    if caps.delete:
        await raises(NotFound, store.delete("some-id"), "delete")
    if caps.purge:
        equal(await store.purge(ctx.scope()), 0, "records purged")
    if caps.stats:
        equal((await store.stats()).live, 0, "live records")
