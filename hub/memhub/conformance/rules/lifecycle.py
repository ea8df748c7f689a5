"""Answering, closing, and what a store tells those who watch."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from queue import Empty, SimpleQueue
from typing import Final

from memhub.conformance.context import Context
from memhub.conformance.definition import rule
from memhub.conformance.expect import Broken, equal, raises, true
from memhub.errors import Closed, Conflict, HubError, NotFound
from memhub.events import Event, MemoryDeleted, MemoryInvalidated, MemorySearched, MemoryWritten
from memhub.records import Fact, Patch, Query

SECRET: Final = "the safe is behind the painting"  # noqa: S105 - a memory, no password
PATIENCE: Final = 10.0
"""Seconds within which an event must have been told."""


@rule(tier=1)
async def an_open_store_answers(ctx: Context) -> None:
    """Ping returns."""
    await ctx.store.ping()


@rule(tier=1, fresh=True)
async def closing_twice_is_harmless(ctx: Context) -> None:
    """A store can be closed without having been used, and closed again; so can its adapter."""
    for _ in range(2):
        await ctx.store.aclose()
        await ctx.adapter.aclose()


@rule(tier=1, fresh=True)
async def a_closed_store_says_so(ctx: Context) -> None:
    """Every verb of a closed store raises Closed, and reaches no adapter."""
    scope, store = ctx.scope(), ctx.store
    await store.aclose()
    before = ctx.notes.calls
    calls: tuple[Callable[[], Awaitable[object]], ...] = (
        lambda: ctx.keep("x"),
        lambda: store.recall(Query(scope)),
        lambda: store.recall(Query(scope, text="?")),
        lambda: store.get("id"),
        store.ping,
    )
    for call in calls:
        await raises(Closed, call(), "a call to a closed store")
    equal(ctx.notes.calls, before, "calls that reached the adapter")


@rule(needs=["verbatim", "listing"], lacks=["operations"])
async def writes_and_reads_are_told(ctx: Context) -> None:
    """Who watches a store learns of each write and read: store, provider, how many, how long the texts."""
    told: SimpleQueue[Event] = SimpleQueue()
    ctx.store.subscribe(told.put)
    await ctx.keep(SECRET)
    await ctx.texts()
    written, searched = [await _next(told) for _ in range(2)]
    _expect(ctx, written, MemoryWritten, count=1, characters=len(SECRET), replayed=False)
    _expect(ctx, searched, MemorySearched, count=1, characters=len(SECRET), text=False)


@rule(needs=["verbatim", "patch.content", "invalidation", "delete"])
async def changes_are_told(ctx: Context) -> None:
    """Who watches a store learns of each update, invalidation and delete."""
    record, told = await ctx.keep("old"), SimpleQueue[Event]()
    ctx.store.subscribe(told.put)
    await ctx.store.update(record.id, Patch(content="newer"))
    await ctx.store.invalidate(record.id)
    await ctx.store.delete(record.id)
    updated, invalidated, deleted = [await _next(told) for _ in range(3)]
    _expect(ctx, updated, MemoryWritten, count=1, characters=5, operation="update")
    _expect(ctx, invalidated, MemoryInvalidated, count=1)
    _expect(ctx, deleted, MemoryDeleted, count=1)


@rule(needs=["verbatim", "purge"])
async def a_purge_is_told(ctx: Context) -> None:
    """Who watches a store learns how many records a purge removed."""
    told: SimpleQueue[Event] = SimpleQueue()
    for n in range(2):
        await ctx.keep(f"memory {n}")
    ctx.store.subscribe(told.put)
    await ctx.store.purge(ctx.scope())
    _expect(ctx, await _next(told), MemoryDeleted, count=2, operation="purge")


@rule(needs=["verbatim"], tier=1)
async def an_error_says_where_it_arose(ctx: Context) -> None:
    """An error carries its code, its provider, its store and the operation."""
    error = await raises(NotFound, ctx.store.get(ctx.unique("unknown")), "get of an unknown id")
    promised = ("not_found", ctx.caps.provider, ctx.store.name, "get")
    found = (error.code, error.provider, error.store, error.operation)
    equal(found, promised, "code, provider, store and operation")
    true(not error.retryable, "retryable: repeating will not find it")


@rule(needs=["facts", "idempotency", "supersede", "revisions", "patch.content"])
async def errors_do_not_quote_memories(ctx: Context) -> None:
    """No error quotes what is remembered, nor what was to be."""
    old = await ctx.keep(SECRET, key="k")
    await ctx.keep(Fact(f"{SECRET}, no longer", supersedes=old.id))
    calls: tuple[Callable[[], Awaitable[object]], ...] = (
        lambda: ctx.keep(f"{SECRET}!", key="k"),
        lambda: ctx.keep(Fact(f"{SECRET}?", supersedes=old.id)),
        lambda: ctx.store.update(old.id, Patch(content=f"{SECRET}."), revision="stale"),
    )
    for call in calls:
        error: HubError = await raises(Conflict, call(), "a call that conflicts")
        while error is not None:
            true(SECRET not in f"{error} {error.args!r}", "the error: quotes a memory")
            error = error.__cause__ or error.__context__  # type: ignore[assignment]


async def _next(told: SimpleQueue[Event]) -> Event:
    try:
        return await asyncio.to_thread(told.get, timeout=PATIENCE)
    except Empty:
        raise Broken(f"an event: has not been told within {PATIENCE:g} s") from None


def _expect(ctx: Context, event: Event, kind: type[Event], **facts: object) -> None:
    promised = {"store": ctx.store.name, "provider": ctx.caps.provider, "at": ctx.clock(), **facts}
    equal(type(event), kind, "kind of the event")
    equal({name: getattr(event, name) for name in promised}, promised, f"fields of {kind.__name__}")
    true(SECRET not in repr(event), "the event: quotes a memory")
