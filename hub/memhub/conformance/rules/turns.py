"""Conversations: turns kept word by word, or turned into facts by the provider."""

from __future__ import annotations

from datetime import timedelta

from memhub.conformance.context import Context
from memhub.conformance.definition import rule
from memhub.conformance.expect import equal, raises, true
from memhub.errors import NotFound
from memhub.records import ROLES, Provenance, Turn


@rule(needs=["verbatim_turns"])
async def turns_become_episodes(ctx: Context) -> None:
    """Each turn is kept as an episode, word by word."""
    record = await ctx.keep(Turn("user", "I moved to Porto\nlast week"))
    found = await ctx.store.get(record.id)
    equal((found.kind, found.content), ("episode", "I moved to Porto\nlast week"), "kind and content")


@rule(needs=["verbatim_turns"])
async def roles_are_kept(ctx: Context) -> None:
    """The role of a turn comes back in its provenance."""
    for role in ROLES:
        record = await ctx.keep(Turn(role, f"said by {role}"))
        equal((await ctx.store.get(record.id)).provenance.role, role, "role")


@rule(needs=["verbatim_turns", "turns.speaker"])
async def a_speaker_is_the_author(ctx: Context) -> None:
    """Who spoke a turn comes back as its author."""
    record = await ctx.keep(Turn("user", "hello", speaker="Ann Lee"))
    equal((await ctx.store.get(record.id)).provenance.author, "Ann Lee", "author")


@rule(needs=["verbatim_turns", "turns.at"])
async def a_turn_is_observed_when_it_was_said(ctx: Context) -> None:
    """The time of a turn is the record's observed_at; without one it is the present."""
    said = ctx.clock() - timedelta(days=3, microseconds=7)
    record, undated = await ctx.keep(Turn("user", "then", at=said)), await ctx.keep(Turn("user", "now"))
    times = [one.observed_at for one in await ctx.store.get([record.id, undated.id])]
    equal(times, [said, ctx.clock()], "observed_at")


@rule(needs=["verbatim_turns", "turns.attributes", "turns.tags"])
async def a_turn_keeps_tags_and_attributes(ctx: Context) -> None:
    """Tags and attributes of a turn come back as given."""
    record = await ctx.keep(Turn("tool", "done", tags=["z", "a"], attributes={"ok": True, "n": [1, 2]}))
    found = await ctx.store.get(record.id)
    equal((found.tags, dict(found.attributes)), (("z", "a"), {"ok": True, "n": [1, 2]}), "tags, attributes")


@rule(needs=["verbatim_turns", "turns.provenance"])
async def a_turn_keeps_its_conversation(ctx: Context) -> None:
    """Conversation and run of an observation are on each of its turns."""
    record = await ctx.keep(Turn("user", "hi"), provenance=Provenance("chat-1", "run-1"))
    found = (await ctx.store.get(record.id)).provenance
    equal((found.conversation_id, found.run_id, found.role), ("chat-1", "run-1", "user"), "provenance")


@rule(needs=["extracted_turns"], tier=1)
async def extracted_facts_are_accounted_for(ctx: Context) -> None:
    """What a provider makes of turns is returned, or found once the operation has been waited for."""
    done = await ctx.observe(Turn("user", "My name is Ann and I am allergic to peanuts."))
    true(done.operation is None or done.operation.status == "succeeded", "operation: must be done after wait")
    for record in done.records:
        equal(record.scope, ctx.scope(), "scope of an extracted record")
        equal((await ctx.store.get(record.id)).content, record.content, "content of an extracted record")


@rule(needs=["operations"])
async def an_unknown_operation_is_not_found(ctx: Context) -> None:
    """Waiting for an operation that the store never gave is NotFound."""
    await raises(NotFound, ctx.store.wait(ctx.unique("no such operation")), "wait for an unknown operation")


@rule(needs=["operations", "verbatim"])
async def a_finished_operation_holds_its_records(ctx: Context) -> None:
    """Waiting for an observation, once or again, gives the records that it stored."""
    done = await ctx.observe("a memory that takes its time")
    equal([one.content for one in done.records], ["a memory that takes its time"], "contents after wait")
    if done.operation is not None:
        again = await ctx.store.wait(done.operation.id)
        equal([one.id for one in again.records], [one.id for one in done.records], "ids after a second wait")
