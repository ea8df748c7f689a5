"""One adapter, used from several tasks, threads and event loops."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from dataclasses import replace
from typing import Final

from memhub.conformance.context import Context
from memhub.conformance.definition import rule
from memhub.conformance.expect import equal
from memhub.errors import Conflict, HubError
from memhub.records import Fact, Patch, Record, Restored

_TRIES: Final = 100
"""More than there are others who could come first."""


@rule(needs=["verbatim", "found"], tier=1)
async def three_threads_share_an_adapter(ctx: Context) -> None:
    """An adapter serves three threads at once, each with an event loop of its own."""

    def work(n: int) -> list[str]:
        return asyncio.run(_write_and_read(ctx, f"memory of thread {n}"))

    seen = await asyncio.gather(*(asyncio.to_thread(work, n) for n in range(3)))
    promised = [f"memory of thread {n}" for n in range(3)]
    equal([promised[n] in found for n, found in enumerate(seen)], [True] * 3, "own write seen by each thread")
    equal(await ctx.seen(), promised, "contents")


@rule(needs=["verbatim", "found"], tier=1)
async def two_event_loops_in_turn_share_an_adapter(ctx: Context) -> None:
    """An adapter serves one event loop after another, the first one closed."""

    def work() -> list[list[str]]:
        return [asyncio.run(_write_and_read(ctx, f"memory of loop {n}")) for n in range(2)]

    seen = await asyncio.to_thread(work)
    promised = ["memory of loop 0", "memory of loop 1"]
    equal(seen, [promised[:1], promised], "contents, loop by loop")


@rule(needs=["verbatim", "found"], tier=1)
async def many_tasks_write_at_once(ctx: Context) -> None:
    """Twenty writes at once are all there, each once."""
    await asyncio.gather(*(ctx.keep(f"memory {n}") for n in range(20)))
    equal(await ctx.seen(), sorted(f"memory {n}" for n in range(20)), "contents")


@rule(needs=["verbatim", "revisions", "patch.content"])
async def of_two_conditional_updates_one_wins(ctx: Context) -> None:
    """Of updates at once with one revision, one is applied and the others are Conflict."""
    record = await ctx.keep("start")
    texts = [f"text {n}" for n in range(4)]
    outcomes = await _outcomes(
        *(ctx.store.update(record.id, Patch(content=text), revision=record.revision) for text in texts)
    )
    won = [done.content for done in outcomes if isinstance(done, Record)]
    equal([type(done) for done in outcomes].count(Conflict), 3, "updates that are Conflict")
    equal(won, [(await ctx.store.get(record.id)).content], "content")


@rule(needs=["verbatim", "revisions", "patch.set_attributes"])
async def increments_at_once_are_all_counted(ctx: Context) -> None:
    """Of tasks that add one to a number, and begin again on Conflict, each has added one in the end."""
    record = await ctx.keep("a counter")
    tasks = range(5)
    added = await asyncio.gather(*(_added_one(ctx, record.id) for _ in tasks))
    held = (await ctx.store.get(record.id)).attributes.get("n")
    equal((sum(added), held), (len(tasks), len(tasks)), "increments that returned, and the number held")


@rule(needs=["verbatim", "restore", "delete", "immediate"])
async def of_restores_at_once_that_differ_one_wins(ctx: Context) -> None:
    """Of restores at once of one id with different texts, one is held and the others are Conflict."""
    record = await ctx.keep("memory 0")
    await ctx.store.delete(record.id)
    given = [replace(record, content=f"memory {n}") for n in range(4)]
    outcomes = await _outcomes(*(ctx.store.restore([one]) for one in given))
    equal([type(done) for done in outcomes].count(Conflict), 3, "restores that are Conflict")
    won = [(one, done) for one, done in zip(given, outcomes, strict=True) if isinstance(done, Restored)]
    held = [(await ctx.store.get(done.ids[one.id])).content for one, done in won]
    equal(held, [one.content for one, _ in won], "the text of the one that returned")


@rule(needs=["facts", "supersede"])
async def of_two_corrections_one_wins(ctx: Context) -> None:
    """Of facts at once that correct one record, one is stored and the others are Conflict."""
    old = await ctx.keep("tea")
    outcomes = await _outcomes(*(ctx.keep(Fact(f"drink {n}", supersedes=old.id)) for n in range(4)))
    won = [done.id for done in outcomes if isinstance(done, Record)]
    equal([type(done) for done in outcomes].count(Conflict), 3, "corrections that are Conflict")
    equal(won, [(await ctx.store.get(old.id)).superseded_by], "the successor")


@rule(needs=["verbatim", "delete"])
async def of_two_deletes_one_wins(ctx: Context) -> None:
    """Of deletes at once of one record, one returns and the others are NotFound."""
    for n in range(5):
        record = await ctx.keep(f"gone soon {n}")
        outcomes = await _outcomes(*(ctx.store.delete(record.id) for _ in range(4)))
        equal(sorted(type(done).__name__ for done in outcomes), ["NoneType"] + 3 * ["NotFound"], "outcomes")


async def _added_one(ctx: Context, id: str) -> bool:
    """Whether one was added to the record's number; each Conflict means that somebody else has."""
    for _ in range(_TRIES):
        record = await ctx.store.get(id)
        number = record.attributes.get("n", 0)
        patch = Patch(set_attributes={"n": number + 1 if isinstance(number, int) else 0})
        try:
            await ctx.store.update(id, patch, revision=record.revision)
        except Conflict:
            continue
        return True
    return False


async def _write_and_read(ctx: Context, text: str) -> list[str]:
    await ctx.keep(text)
    return await ctx.seen()


async def _outcomes(*calls: Awaitable[object]) -> list[object]:
    """What each call returned, or the HubError that it raised."""
    return list(await asyncio.gather(*map(_outcome, calls)))


async def _outcome(call: Awaitable[object]) -> object:
    try:
        return await call
    except HubError as error:
        return error
