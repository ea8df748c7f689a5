"""The filters of a query: kinds, tags, times and attributes, applied before the cut to `limit`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta

from memhub.conformance.context import Context
from memhub.conformance.definition import rule
from memhub.conformance.expect import equal
from memhub.records import Attributes, Fact, Query

Asked = Mapping[str, object]


@rule(needs=["facts.kind", "filters.kinds", "listing"])
async def kinds_filter(ctx: Context) -> None:
    """A query for kinds finds these and no others."""
    for fact in (Fact("a fact"), Fact("likes tea", kind="preference"), Fact("is Ann", kind="profile")):
        await ctx.keep(fact)
    equal(await ctx.texts(Query(ctx.scope(), kinds=["profile"])), ["is Ann"], "profiles")
    both = sorted(await ctx.texts(Query(ctx.scope(), kinds=["preference", "fact"])))
    equal(both, ["a fact", "likes tea"], "facts and preferences")


@rule(needs=["facts.tags", "filters.tags", "listing"])
async def all_tags_must_match(ctx: Context) -> None:
    """A query for several tags finds records that have all of them."""
    for tags in (["a"], ["b"], ["b", "c", "a"], []):
        await ctx.keep(Fact(f"tagged {tags}", tags=tags))
    equal(await ctx.texts(Query(ctx.scope(), tags=["a", "b"])), ["tagged ['b', 'c', 'a']"], "tagged a and b")
    equal(await ctx.texts(Query(ctx.scope(), tags=["c", "d"])), [], "tagged c and d")


@rule(needs=["facts.tags", "filters.tags", "listing"])
async def a_tag_is_an_exact_text(ctx: Context) -> None:
    """Case, prefixes, wildcards, separators and Unicode forms of tags are not folded."""
    tags = ("tea", "Tea", "te", "te%", "t_a", "tea,x", "tea x", '"tea"', "\u00e9", "e\u0301", "*")
    for tag in tags:
        await ctx.keep(Fact(f"tagged {tag}", tags=[tag]))
    for tag in tags:
        equal(await ctx.texts(Query(ctx.scope(), tags=[tag])), [f"tagged {tag}"], f"contents tagged {tag!r}")


@rule(needs=["facts.observed_at", "filters.time", "listing"])
async def times_filter_from_since_until_before(ctx: Context) -> None:
    """`since` includes its instant, `until` does not."""
    start = ctx.clock()
    for n in range(4):
        await ctx.keep(Fact(f"hour {n}"), at=start + timedelta(hours=n))
    one, three = start + timedelta(hours=1), start + timedelta(hours=3)
    for since, until, promised in (
        (one, None, ["hour 3", "hour 2", "hour 1"]),
        (None, three, ["hour 2", "hour 1", "hour 0"]),
        (one, three, ["hour 2", "hour 1"]),
        (three, one, []),
        (three + timedelta(microseconds=1), None, []),
    ):
        query = Query(ctx.scope(), since=since, until=until)
        equal(await ctx.texts(query), promised, f"contents from {since} until {until}")


@rule(needs=["facts.attributes", "filters.eq", "listing"])
async def equality_minds_the_type(ctx: Context) -> None:
    """Numbers are equal by value; a boolean is no number, and a string never equals a number."""
    await _keep(ctx, text={"n": "1"}, whole={"n": 1}, real={"n": 1.0}, yes={"n": True}, no={"n": False})
    asks: tuple[tuple[object, list[str]], ...] = (
        (1, ["real", "whole"]),
        (1.0, ["real", "whole"]),
        ("1", ["text"]),
        (True, ["yes"]),
        (False, ["no"]),
        (0, []),
        ("true", []),
        ("True", []),
        (1.5, []),
    )
    for value, promised in asks:
        await _finds(ctx, {"n": value}, promised)


@rule(needs=["facts.attributes", "filters.eq", "listing"])
async def equality_of_texts_is_exact(ctx: Context) -> None:
    """Case, accents, wildcards, blanks and Unicode forms of values are not folded."""
    values = ("Porto", "porto", "Port", "Porto ", "%", "P_rto", "\u00e9", "e\u0301", "", "null", "it's", '"')
    await _keep(ctx, **{f"value {n}": {"city": value} for n, value in enumerate(values)})
    for n, value in enumerate(values):
        await _finds(ctx, {"city": value}, [f"value {n}"])


@rule(needs=["facts.attributes", "filters.eq", "listing"])
async def equality_keeps_every_digit(ctx: Context) -> None:
    """Neighbouring integers near 2^53, fractions and negative numbers are told apart."""
    top = 2**53
    await _keep(
        ctx, top={"n": top}, below={"n": top - 1}, minus={"n": -top}, tenth={"n": 0.1}, sum={"n": 0.1 + 0.2}
    )
    for value, promised in (
        (top, "top"),
        (top - 1, "below"),
        (-top, "minus"),
        (0.1, "tenth"),
        (0.1 + 0.2, "sum"),
    ):
        await _finds(ctx, {"n": value}, [promised])
    await _finds(ctx, {"n": 0.3}, [])


@rule(needs=["facts.attributes", "filters.eq", "listing"])
async def conditions_are_all_of(ctx: Context) -> None:
    """Several conditions must all hold: found on each, on both, and on no wrong one."""
    await _keep(ctx, one={"user": "u", "agent": "a"}, two={"user": "u", "agent": "b"}, three={"user": "v"})
    await _finds(ctx, {"user": "u"}, ["one", "two"])
    await _finds(ctx, {"agent": "a"}, ["one"])
    await _finds(ctx, {"user": "u", "agent": "a"}, ["one"])
    await _finds(ctx, {"user": "v", "agent": "a"}, [])


@rule(needs=["facts.attributes", "filters.eq", "listing"])
async def any_element_of_a_list_matches(ctx: Context) -> None:
    """A list attribute equals a value that one of its elements equals, by type."""
    await _keep(ctx, both={"t": ["x", "y"]}, one={"t": ["x"]}, plain={"t": "y"}, number={"t": [1, True]})
    for value, promised in (
        ("x", ["both", "one"]),
        ("y", ["both", "plain"]),
        (1, ["number"]),
        (True, ["number"]),
    ):
        await _finds(ctx, {"t": value}, promised)
    for value in ("1", "[1]", '["x", "y"]', "x,y", "xy"):
        await _finds(ctx, {"t": value}, [])


@rule(needs=["facts.attributes", "filters.ne", "listing"])
async def ne_is_the_exact_negation(ctx: Context) -> None:
    """`ne` finds what `eq` does not, records without the attribute included."""
    await _keep(
        ctx, same={"n": 1}, list={"n": [2, 1]}, other={"n": 2}, text={"n": "1"}, none={}, empty={"n": []}
    )
    await _finds(ctx, {"n": {"ne": 1}}, ["empty", "none", "other", "text"])


@rule(needs=["facts.attributes", "filters.in", "listing"])
async def in_finds_any_of_several(ctx: Context) -> None:
    """`in` finds records with one of the values, of mixed types, in an element or alone."""
    await _keep(
        ctx, porto={"c": "Porto"}, lists={"c": ["Rome", "Lisbon"]}, one={"c": 1}, yes={"c": True}, none={}
    )
    await _finds(ctx, {"c": {"in": ["Porto", "Lisbon"]}}, ["lists", "porto"])
    await _finds(ctx, {"c": {"in": [1.0, 7]}}, ["one"])
    await _finds(ctx, {"c": {"in": ["porto", "1"]}}, [])


@rule(needs=["facts.attributes", "filters.not_in", "listing"])
async def not_in_is_the_exact_negation(ctx: Context) -> None:
    """`not_in` finds what `in` does not, records without the attribute included."""
    await _keep(
        ctx, porto={"c": "Porto"}, lists={"c": ["Rome", "Porto"]}, one={"c": 1}, none={}, empty={"c": []}
    )
    await _finds(ctx, {"c": {"not_in": ["Porto", "Lisbon"]}}, ["empty", "none", "one"])


@rule(needs=["facts.attributes", "filters.exists", "listing"])
async def exists_takes_an_empty_list_for_absent(ctx: Context) -> None:
    """`exists` asks for presence whatever the value; an empty list counts as absent."""
    await _keep(
        ctx, no={"n": False}, zero={"n": 0}, blank={"n": ""}, list={"n": [0]}, empty={"n": []}, none={"m": 1}
    )
    await _finds(ctx, {"n": {"exists": True}}, ["blank", "list", "no", "zero"])
    await _finds(ctx, {"n": {"exists": False}}, ["empty", "none"])


@rule(needs=["facts.attributes", "filters.gt", "filters.gte", "filters.lt", "filters.lte", "listing"])
async def ranges_are_numeric(ctx: Context) -> None:
    """Ranges compare numbers by value, elements of lists too; texts and booleans never match."""
    await _keep(ctx, two={"n": 2}, ten={"n": 10}, half={"n": 2.5}, minus={"n": -3}, list={"n": [1, 20]})
    await _keep(ctx, text={"n": "5"}, yes={"n": True}, none={})
    await _finds(ctx, {"n": {"gt": 2}}, ["half", "list", "ten"])
    await _finds(ctx, {"n": {"gte": 2}}, ["half", "list", "ten", "two"])
    await _finds(ctx, {"n": {"lt": 2}}, ["list", "minus"])
    await _finds(ctx, {"n": {"lte": 2.5}}, ["half", "list", "minus", "two"])
    await _finds(ctx, {"n": {"gte": 2, "lt": 10}}, ["half", "list", "two"])


@rule(needs=["facts.attributes", "filters.eq", "listing"])
async def keys_in_where_are_plain_names(ctx: Context) -> None:
    """A key that means something to an engine filters like any other."""
    keys = ("a.b", "AND", "user_id", "$eq", "a b", "ключ", '"', "x'y", "a[0]", "*", "content", "id", "%")
    await _keep(ctx, **{f"has {key}": {key: "v"} for key in keys})
    for key in keys:
        await _finds(ctx, {key: "v"}, [f"has {key}"])


@rule(needs=["facts.tags", "facts.kind", "filters.tags", "filters.kinds", "listing"])
async def filters_come_before_the_limit(ctx: Context) -> None:
    """A filtered listing fills its limit however many newer records do not match."""
    for n in range(3):
        await ctx.keep(Fact(f"wanted {n}", tags=["wanted"], kind="profile"))
        ctx.clock.advance(seconds=1)
    for n in range(12):
        await ctx.keep(f"other {n}")
    for query in (Query(ctx.scope(), tags=["wanted"]), Query(ctx.scope(), kinds=["profile"])):
        hits = (await ctx.store.recall(replace(query, limit=2))).hits
        equal([hit.record.content for hit in hits], ["wanted 2", "wanted 1"], "contents of a page of 2")
        equal(await ctx.texts(replace(query, limit=1)), ["wanted 2", "wanted 1", "wanted 0"], "pages of 1")


@rule(needs=["facts.attributes", "facts.tags", "filters.eq", "filters.tags", "keyword"])
async def filters_apply_to_a_search(ctx: Context) -> None:
    """A filtered search fills its limit with matching records, however many rank above them."""
    for n in range(12):
        await ctx.keep(Fact(f"tea tea tea {n}", tags=["loud"], attributes={"n": n}))
    await ctx.keep(Fact("some tea among other things", tags=["quiet"], attributes={"n": "quiet"}))
    for query in (Query(ctx.scope(), tags=["quiet"]), Query(ctx.scope(), where={"n": "quiet"})):
        found = await ctx.texts(replace(query, text="tea", mode="keyword", limit=1))
        equal(found, ["some tea among other things"], "contents found")


async def _keep(ctx: Context, **rows: Attributes) -> None:
    """A fact a row, its name as content."""
    for name, attributes in rows.items():
        await ctx.keep(Fact(name, attributes=attributes))


async def _finds(ctx: Context, where: Asked, promised: Sequence[str]) -> None:
    found = sorted(await ctx.texts(Query(ctx.scope(), where=where)))
    equal(found, sorted(promised), f"contents where {dict(where)!r}")
