"""Neighbours: a turn also answers to the words of the turn before it, in its scope and session."""

from __future__ import annotations

from datetime import timedelta

from memhub.conformance.context import Context
from memhub.conformance.definition import rule
from memhub.conformance.expect import equal
from memhub.records import Fact, Patch, Provenance, Query, Record, Turn

NEEDS = ("neighbours", "verbatim_turns", "keyword")
QUESTION, ANSWER, LATER = "do you like pistachio", "yes very much", "me too"


@rule(needs=[*NEEDS, "several"])
async def a_turn_answers_to_the_words_before_it(ctx: Context) -> None:
    """A turn is found by its predecessor's words, after the predecessor itself."""
    await ctx.keep_all(Turn("user", QUESTION), Turn("assistant", ANSWER), Turn("user", LATER))
    equal(await ctx.search("pistachio"), [QUESTION, ANSWER], "contents found")


@rule(needs=[*NEEDS, "turns.provenance"])
async def turns_of_a_conversation_are_neighbours_across_calls(ctx: Context) -> None:
    """Turns that arrive one call at a time are neighbours within their conversation."""
    await _talk(ctx, "chat", QUESTION, ANSWER, LATER)
    equal(await ctx.search("pistachio"), [QUESTION, ANSWER], "contents found")


@rule(needs=[*NEEDS, "turns.provenance"])
async def neighbours_do_not_cross_conversations(ctx: Context) -> None:
    """The first turn of another conversation does not answer to the last turn of this one."""
    await _talk(ctx, "one", QUESTION)
    await _talk(ctx, "two", ANSWER)
    equal(await ctx.search("pistachio"), [QUESTION], "contents found")


@rule(needs=NEEDS)
async def neighbours_do_not_cross_observations(ctx: Context) -> None:
    """Without a conversation a session is one observation: the next one is no neighbour."""
    await ctx.keep(Turn("user", QUESTION))
    await ctx.keep(Turn("assistant", ANSWER))
    equal(await ctx.search("pistachio"), [QUESTION], "contents found")


@rule(needs=[*NEEDS, "turns.provenance"])
async def neighbours_do_not_cross_scopes(ctx: Context) -> None:
    """The same conversation id in another scope is another conversation."""
    here, there = ctx.scope("here"), ctx.scope("there")
    await ctx.keep(Turn("user", QUESTION), scope=here, provenance=Provenance("chat"))
    await ctx.keep(Turn("assistant", ANSWER), scope=there, provenance=Provenance("chat"))
    equal(await ctx.search("pistachio", scope=there), [], "contents found in the other scope")


@rule(needs=[*NEEDS, "facts", "several"])
async def facts_have_no_neighbours(ctx: Context) -> None:
    """A fact does not answer to the fact before it."""
    await ctx.keep_all(Fact(QUESTION), Fact(ANSWER))
    equal(await ctx.search("pistachio"), [QUESTION], "contents found")


@rule(needs=[*NEEDS, "turns.provenance", "delete"])
async def a_deleted_turn_lends_nothing(ctx: Context) -> None:
    """Deleting a turn takes its words back from the next one."""
    records = await _talk(ctx, "chat", QUESTION, ANSWER)
    await ctx.store.delete(records[0].id)
    equal(await ctx.search("pistachio"), [], "contents found")


@rule(needs=[*NEEDS, "turns.provenance", "delete"])
async def a_deleted_turn_makes_others_neighbours(ctx: Context) -> None:
    """Deleting the turn between two makes them neighbours."""
    records = await _talk(ctx, "chat", QUESTION, "let me think", ANSWER)
    await ctx.store.delete(records[1].id)
    equal(await ctx.search("pistachio"), [QUESTION, ANSWER], "contents found")


@rule(needs=[*NEEDS, "several", "delete"])
async def a_deleted_turn_leaves_the_others_as_they_were(ctx: Context) -> None:
    """What a turn was found by, and how well, is the same once a later one has come and gone."""
    await ctx.keep_all(Turn("user", QUESTION), Turn("assistant", ANSWER))
    query = Query(ctx.scope(), text="pistachio yes", mode="keyword", explain=True)
    before = (await ctx.store.recall(query)).hits
    last = await ctx.keep(Turn("user", LATER))
    await ctx.store.delete(last.id)
    equal((await ctx.store.recall(query)).hits, before, "hits")


@rule(needs=[*NEEDS, "turns.provenance", "patch.content"])
async def an_updated_turn_lends_its_new_words(ctx: Context) -> None:
    """Updating a turn takes its old words back from the next one, and lends the new ones."""
    records = await _talk(ctx, "chat", QUESTION, ANSWER)
    await ctx.store.update(records[0].id, Patch(content="do you like hazelnut"))
    equal(await ctx.search("pistachio"), [], "contents found by the old word")
    equal(await ctx.search("hazelnut"), ["do you like hazelnut", ANSWER], "contents found by the new word")


@rule(needs=[*NEEDS, "turns.provenance", "invalidation"])
async def an_invalidated_turn_lends_nothing(ctx: Context) -> None:
    """Invalidating a turn takes its words back from the next one."""
    records = await _talk(ctx, "chat", QUESTION, ANSWER)
    await ctx.store.invalidate(records[0].id)
    equal(await ctx.search("pistachio"), [], "contents found")


@rule(needs=[*NEEDS, "turns.provenance", "expiry", "patch.expires_at"])
async def a_turn_that_will_expire_lends_nothing(ctx: Context) -> None:
    """A turn that has been given an expiry lends nothing, before that instant and after."""
    records = await _talk(ctx, "chat", QUESTION, ANSWER)
    expires = ctx.clock() + timedelta(days=1)
    await ctx.store.update(records[0].id, Patch(expires_at=expires))
    equal(await ctx.search("pistachio"), [QUESTION], "contents found before it expires")
    ctx.clock.advance(days=2)
    equal(await ctx.search("pistachio"), [], "contents found after it has expired")


@rule(needs=[*NEEDS, "turns.provenance"])
async def explain_tells_neighbours_apart(ctx: Context) -> None:
    """With `explain`, words that only the turn before holds are named as the neighbour's."""
    await _talk(ctx, "chat", QUESTION, ANSWER)
    query = Query(ctx.scope(), text="pistachio", mode="keyword", explain=True)
    whys = [hit.why for hit in (await ctx.store.recall(query)).hits]
    found = [(set(why.words), set(why.neighbour)) for why in whys if why]
    equal(found, [({"pistachio"}, set()), (set(), {"pistachio"})], "words of each hit, and of its neighbour")


async def _talk(ctx: Context, conversation: str, *texts: str) -> list[Record]:
    """Turns of one conversation, one call each."""
    records = []
    for text in texts:
        ctx.clock.advance(seconds=1)
        records.append(await ctx.keep(Turn("user", text), provenance=Provenance(conversation)))
    return records
