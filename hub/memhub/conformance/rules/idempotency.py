"""Idempotency keys: the same observation again writes nothing."""

from __future__ import annotations

import asyncio
from datetime import timedelta

from memhub.conformance.context import Context
from memhub.conformance.definition import rule
from memhub.conformance.expect import equal, raises, true
from memhub.errors import Conflict, NotFound
from memhub.records import Fact, Patch, Turn
from memhub.scope import Scope


@rule(needs=["verbatim", "idempotency", "found"])
async def a_key_seen_three_times_writes_once(ctx: Context) -> None:
    """The same key and payload three times is one record, and the reply says that it was there."""
    runs = [await ctx.observe("a memory, once", key="k") for _ in range(3)]
    equal([run.replayed for run in runs], [False, True, True], "replayed")
    equal([run.records for run in runs], [runs[0].records] * len(runs), "the records returned")
    equal(await ctx.seen(), ["a memory, once"], "contents")


@rule(needs=["verbatim", "idempotency", "found"])
async def a_key_with_another_payload_is_conflict(ctx: Context) -> None:
    """Another payload under a known key is Conflict, and nothing is stored."""
    await ctx.keep("memory one", key="k")
    await raises(Conflict, ctx.keep("memory two", key="k"), "another payload under the same key")
    equal(await ctx.seen(), ["memory one"], "contents")


@rule(needs=["verbatim", "idempotency", "found"])
async def another_key_is_another_observation(ctx: Context) -> None:
    """The same text under another key, or under none, is stored again."""
    runs = [await ctx.observe("a memory", key=key) for key in ("k", "K", "k ", None)]
    equal([run.replayed for run in runs], [False] * 4, "replayed")
    equal(len(await ctx.records()), 4, "records found")


@rule(needs=["verbatim", "idempotency"])
async def a_key_belongs_to_its_exact_scope(ctx: Context) -> None:
    """The same key in another scope, a wider or narrower one too, is another key."""
    acme = ctx.unique("acme")
    scopes = (Scope(tenant=acme), Scope(tenant=acme, user="ann"), Scope(acme), ctx.scope())
    runs = [await ctx.observe(f"memory {n}", scope=scope, key="k") for n, scope in enumerate(scopes)]
    equal([run.replayed for run in runs], [False] * 4, "replayed")


@rule(needs=["verbatim", "idempotency", "purge", "restore", "found"])
async def a_key_is_new_where_its_records_were_restored(ctx: Context) -> None:
    """A key whose records came back after a purge, by a restore, is a new one: what it brings is stored."""
    record = await ctx.keep("memory one", key="k")
    await ctx.store.purge(ctx.scope())
    await ctx.store.restore([record])
    done = await ctx.observe("memory two", key="k")
    equal(done.replayed, False, "replayed")
    equal(await ctx.seen(), ["memory one", "memory two"], "contents")
    equal(await ctx.store.get([one.id for one in done.records]), list(done.records), "the records returned")


@rule(needs=["facts", "idempotency", "found"])
async def defaults_add_nothing_to_a_key(ctx: Context) -> None:
    """A replay is recognised later too, when the present, which the caller did not give, has moved."""
    first = await ctx.observe(Fact("a memory"), key="k")
    ctx.clock.advance(days=2)
    again = await ctx.observe(Fact("a memory"), key="k")
    equal((again.replayed, again.records), (True, first.records), "replayed, and the records")


@rule(needs=["facts", "idempotency", "several", "found"])
async def a_whole_observation_is_replayed(ctx: Context) -> None:
    """A replay returns all records of the observation in order; a longer observation is Conflict."""
    first = await ctx.observe("memory 1", "memory 2", key="k")
    again = await ctx.observe("memory 1", "memory 2", key="k")
    equal((again.replayed, again.records), (True, first.records), "replayed, and the records")
    longer = ctx.observe("memory 1", "memory 2", "memory 3", key="k")
    await raises(Conflict, longer, "a longer observation under the same key")


@rule(needs=["verbatim_turns", "idempotency", "several", "found"])
async def turns_are_replayed(ctx: Context) -> None:
    """A conversation sent again under its key is stored once."""
    turns = Turn("user", "a memory?"), Turn("assistant", "a memory!")
    first, again = [await ctx.observe(*turns, key="k") for _ in range(2)]
    equal((again.replayed, again.records), (True, first.records), "replayed, and the records")
    equal(len(await ctx.records()), 2, "records found")


@rule(needs=["verbatim", "idempotency", "patch.content"])
async def a_replay_returns_the_records_as_they_are(ctx: Context) -> None:
    """A replay returns what has become of the records since."""
    record = await ctx.keep("old text", key="k")
    changed = await ctx.store.update(record.id, Patch(content="new text"))
    equal((await ctx.observe("old text", key="k")).records, (changed,), "records of the replay")


@rule(needs=["facts", "idempotency", "delete", "several", "found"])
async def a_replay_leaves_out_the_deleted(ctx: Context) -> None:
    """A replay returns what is left, and stores nothing anew."""
    gone, stays = await ctx.keep_all("memory 1", "memory 2", key="k")
    await ctx.store.delete(gone.id)
    again = await ctx.observe("memory 1", "memory 2", key="k")
    equal((again.replayed, again.records), (True, (stays,)), "replayed, and the records")
    equal(await ctx.seen(), ["memory 2"], "contents")


@rule(needs=["facts", "idempotency", "expiry"])
async def a_replay_leaves_out_the_expired(ctx: Context) -> None:
    """A record that has expired is not returned by a replay."""
    fact = Fact("perishable", expires_at=ctx.clock() + timedelta(hours=1))
    await ctx.keep(fact, key="k")
    ctx.clock.advance(hours=2)
    again = await ctx.observe(fact, key="k")
    equal((again.replayed, again.records), (True, ()), "replayed, and the records")


@rule(needs=["facts", "idempotency", "supersede"])
async def a_correction_is_replayed(ctx: Context) -> None:
    """A correction sent again under its key is a replay, not a second successor."""
    fact = Fact("coffee", supersedes=(await ctx.keep("tea")).id)
    first, again = [await ctx.observe(fact, key="k") for _ in range(2)]
    equal((again.replayed, again.records), (True, first.records), "replayed, and the records")


@rule(needs=["facts", "idempotency", "supersede", "found"])
async def a_failed_observation_spends_no_key(ctx: Context) -> None:
    """After an observation that failed, its key is free."""
    failing = ctx.keep(Fact("memory", supersedes=ctx.unique("absent")), key="k")
    await raises(NotFound, failing, "supersede of an unknown id")
    equal((await ctx.observe("another memory", key="k")).replayed, False, "replayed")
    equal(await ctx.seen(), ["another memory"], "contents")


@rule(needs=["verbatim", "idempotency", "purge"])
async def purge_forgets_keys(ctx: Context) -> None:
    """After a purge of its scope a key is free."""
    await ctx.keep("memory one", key="k")
    await ctx.store.purge(ctx.scope())
    equal((await ctx.observe("memory two", key="k")).replayed, False, "replayed")


@rule(needs=["verbatim", "idempotency", "found"])
async def one_key_from_two_tasks_writes_once(ctx: Context) -> None:
    """The same observation from two tasks at once is one record; one of them is the replay."""
    runs = await asyncio.gather(*(ctx.observe("a memory, once", key="k") for _ in range(2)))
    equal(sorted(run.replayed for run in runs), [False, True], "replayed")
    equal([run.records for run in runs], [runs[0].records] * len(runs), "the records returned")
    equal(len(await ctx.records()), 1, "records found")


@rule(needs=["facts", "idempotency"])
async def a_key_holds_between_processes(ctx: Context) -> None:
    """A key that one process used is known to another."""
    first = await ctx.observe("a memory, once", key="k")
    async with ctx.open_again() as again:
        replay = await again.observe(ctx.observation("a memory, once", key="k"))
    true(replay.replayed, "the key: is unknown to a second adapter")
    equal(replay.records, first.records, "the records returned")
