"""Sizes at the limits of the contract are kept whole."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from memhub import limits
from memhub.conformance.context import Context
from memhub.conformance.definition import rule
from memhub.conformance.expect import equal, raises, true
from memhub.errors import InvalidInput
from memhub.records import Fact, Patch, Provenance, Query
from memhub.scope import Scope

LONGEST: Final = limits.CONTENT_CHARS


@rule(needs=["verbatim"], tier=1)
async def the_longest_content_is_kept(ctx: Context) -> None:
    """Content of 65,536 characters comes back whole, also when each takes four bytes."""
    for text in ("memory " * 20_000, "\U0001d49c" * LONGEST):
        record = await ctx.keep(text[:LONGEST])
        true((await ctx.store.get(record.id)).content == text[:LONGEST], f"content of {LONGEST:,} characters")


@rule(needs=["verbatim"], tier=1)
async def contents_of_many_sizes_are_kept(ctx: Context) -> None:
    """Content of 1 to 10,000 characters is never shortened, around the sizes where stores cut."""
    for size in (1, 255, 256, 1_024, 2_000, 2_001, 4_096, 8_192, 10_000):
        record = await ctx.keep("x" * size)
        equal(len((await ctx.store.get(record.id)).content), size, "length of the content")


@rule(needs=["verbatim", "found"], tier=1)
async def the_longest_scope_is_kept(ctx: Context) -> None:
    """Two scopes of 512 bytes that differ in their last character hold their own records."""
    ends = [_scope_of(ctx, limits.SCOPE_BYTES, end) for end in "xy"]
    for scope in ends:
        await ctx.keep(f"memory of {scope.name}", scope=scope)
    equal([await ctx.seen(scope) for scope in ends], [[f"memory of {s.name}"] for s in ends], "contents")


@rule(needs=["facts.tags"])
async def the_most_tags_are_kept(ctx: Context) -> None:
    """64 tags of 128 characters each come back."""
    tags = tuple(f"{n:0>{limits.TAG_CHARS}}" for n in range(limits.TAGS))
    equal((await ctx.store.get((await ctx.keep(Fact("tagged", tags=tags))).id)).tags, tags, "tags")


@rule(needs=["facts.attributes"])
async def the_most_attributes_are_kept(ctx: Context) -> None:
    """64 attributes of nearly 16 KiB come back."""
    given = {f"{n:0>100}": "v" * 140 for n in range(limits.ATTRIBUTE_KEYS)}
    record = await ctx.keep(Fact("described", attributes=given))
    equal(dict((await ctx.store.get(record.id)).attributes), given, "attributes")


@rule(needs=["facts.provenance"])
async def the_longest_names_are_kept(ctx: Context) -> None:
    """Conversation, run and author of 512 characters come back whole."""
    long = Provenance(*(end * limits.NAME_CHARS for end in "abc"))
    equal((await ctx.store.get((await ctx.keep("named", provenance=long)).id)).provenance, long, "provenance")


@rule(needs=["facts", "batches", "full_listing"])
async def the_largest_observation_is_kept(ctx: Context) -> None:
    """1,000 facts in one observation are stored and returned in order, and listed last first."""
    texts = [f"memory {n}" for n in range(limits.ITEMS)]
    records = await ctx.keep_all(*texts)
    equal([record.content for record in records], texts, "contents as returned")
    equal(await ctx.texts(Query(ctx.scope(), limit=limits.LIMIT)), texts[::-1], "contents as listed")


@rule(needs=["verbatim", "keyword"])
async def the_longest_question_is_answered(ctx: Context) -> None:
    """A query text of 65,536 characters finds what its words find."""
    await ctx.keep("jasmine tea")
    padding = "coffee milk sugar " * 4_000
    equal(await ctx.search(padding[: limits.QUERY_CHARS - 8] + " jasmine"), ["jasmine tea"], "contents found")


@rule(needs=["union", "verbatim", "listing"])
async def the_most_scopes_are_searched(ctx: Context) -> None:
    """A query may name 100 scopes."""
    scopes = [ctx.scope(f"room {n}") for n in range(limits.SCOPES)]
    for n in (0, 50, 99):
        await ctx.keep(f"memory {n}", scope=scopes[n])
    equal(sorted(await ctx.texts(Query(scopes))), ["memory 0", "memory 50", "memory 99"], "contents found")


@rule(needs=["facts.attributes", "filters.eq", "filters.in", "listing"])
async def the_most_conditions_are_answered(ctx: Context) -> None:
    """A query may have 64 conditions, and 64 values in one of them."""
    given = {f"k{n}": n for n in range(limits.CONDITIONS)}
    await ctx.keep(Fact("meets them all", attributes=given))
    await ctx.keep(Fact("misses one", attributes={**given, "k63": -1}))
    equal(
        await ctx.texts(Query(ctx.scope(), where=given)), ["meets them all"], "contents under 64 conditions"
    )
    values = list(range(-1, limits.CONDITIONS - 1))
    found = await ctx.texts(Query(ctx.scope(), where={"k63": {"in": values}}))
    equal(found, ["misses one"], "contents under a condition of 64 values")


@rule(needs=["verbatim", "idempotency"])
async def the_longest_keys_are_told_apart(ctx: Context) -> None:
    """Two keys of 512 characters that differ in their last one are two keys."""
    keys = [f"{end:->{limits.ID_CHARS}}" for end in "ab"]
    runs = [await ctx.observe(f"memory {key[-1]}", key=key) for key in (*keys, *keys)]
    equal([run.replayed for run in runs], [False, False, True, True], "replayed")


@rule(needs=["verbatim", "found"], tier=1)
async def a_limit_is_honoured(ctx: Context) -> None:
    """A query returns at most `limit` records, and nothing for 0."""
    for n in range(4):
        await ctx.keep(f"memory {n}")
    query = Query(ctx.scope()) if ctx.caps.listing else Query(ctx.scope(), text="memory")
    for limit in (0, 1, 3):
        found = await ctx.store.recall(replace(query, limit=limit))
        equal(len(found.hits), limit, f"records under limit={limit}")


@rule(needs=["verbatim", "patch.set_attributes", "facts.attributes"])
async def an_update_cannot_outgrow_the_limits(ctx: Context) -> None:
    """Attributes that an update would make too many are refused, and nothing changes."""
    record = await ctx.keep(Fact("full", attributes={f"k{n}": n for n in range(limits.ATTRIBUTE_KEYS)}))
    await raises(InvalidInput, ctx.store.update(record.id, Patch(set_attributes={"more": 1})), "update")
    equal(await ctx.store.get(record.id), record, "the record")


def _scope_of(ctx: Context, size: int, end: str) -> Scope:
    """A scope of that many bytes as canonical text, quotes included."""
    name = ctx.unique("long ")
    return Scope(name + "é" * ((size - 3 - len(name)) // 2) + "-" * ((size - 3 - len(name)) % 2) + end)
