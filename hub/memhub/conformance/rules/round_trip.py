"""What goes in comes out."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

from memhub import limits
from memhub.conformance.context import Context
from memhub.conformance.definition import rule
from memhub.conformance.expect import equal, raises, true
from memhub.conformance.rules.texts import EXACT
from memhub.errors import Conflict
from memhub.records import KINDS, Attributes, Fact, Json, Provenance
from memhub.scope import Scope


@rule(needs=["verbatim"], tier=1)
async def content_comes_back_exactly_as_given(ctx: Context) -> None:
    """Content is returned character by character: no trimming, folding, escaping or normalising."""
    for text in EXACT:
        record = await ctx.keep(text)
        equal((await ctx.store.get(record.id)).content, text, "content")


@rule(needs=["verbatim"], tier=1)
async def a_record_carries_its_scope_and_times(ctx: Context) -> None:
    """A record has the scope, the times and the revision that the contract gives it by default."""
    record = await ctx.keep("plain")
    equal(record.scope, ctx.scope(), "scope")
    equal([record.created_at, record.updated_at, record.observed_at], [ctx.clock()] * 3, "times")
    true(record.revision, "revision: must be non-empty")
    unset = (record.invalid_at, record.invalid_reason, record.supersedes, record.superseded_by)
    equal((*unset, record.expires_at), (None,) * 5, "fields of a new record that nobody set")


@rule(needs=["facts"])
async def a_plain_fact_gains_nothing(ctx: Context) -> None:
    """A fact without options is of kind fact, and has no tag, attribute, origin or reserved value."""
    record = await ctx.keep(Fact("plain"))
    equal(record.kind, "fact", "kind")
    equal((record.tags, dict(record.attributes)), ((), {}), "tags and attributes")
    equal(record.provenance, Provenance(), "provenance")
    equal((record.target, record.payload, record.supports), (None, None, ()), "target, payload and supports")


@rule(needs=["verbatim"], tier=1)
async def an_id_names_one_record(ctx: Context) -> None:
    """Every record has an id of its own, of 1 to 512 printable characters."""
    records = [await ctx.keep(text) for text in ("one", "two", "three")]
    equal(len({record.id for record in records}), 3, "different ids")
    for record in records:
        true(
            record.id.isprintable() and len(record.id) in range(1, limits.ID_CHARS + 1),
            f"id {record.id!r}: is no printable id",
        )
        equal((await ctx.store.get(record.id)).content, record.content, "what the id names")


@rule(needs=["verbatim"], tier=1)
async def get_returns_what_observe_returned(ctx: Context) -> None:
    """A record got by its id is the record that observe returned, field by field."""
    record = await ctx.keep("the same")
    equal(await ctx.store.get(record.id), record, "the record")


@rule(needs=["verbatim", "found"], tier=1)
async def recall_returns_what_observe_returned(ctx: Context) -> None:
    """A record that recall finds is the record that observe returned, field by field."""
    record = await ctx.keep("a memory that comes back")
    equal(await ctx.records(), [record], "the records")


@rule(needs=["verbatim"], tier=1)
async def get_keeps_the_order_asked_for(ctx: Context) -> None:
    """Several ids are answered in the order given, a repeated one each time."""
    one, two, three = [await ctx.keep(text) for text in ("one", "two", "three")]
    asked = [three.id, one.id, two.id, one.id]
    equal([record.id for record in await ctx.store.get(asked)], asked, "the ids, in order")


@rule(needs=["verbatim", "distinct"], tier=1)
async def equal_texts_are_two_records(ctx: Context) -> None:
    """Without a key, observing the same text twice stores it twice."""
    first, second = await ctx.keep("twice"), await ctx.keep("twice")
    true(first.id != second.id, "equal texts: share one id")
    equal([one.content for one in await ctx.store.get([first.id, second.id])], ["twice"] * 2, "both contents")


@rule(needs=["verbatim"], lacks=["distinct"])
async def an_equal_text_is_the_record_that_is_there(ctx: Context) -> None:
    """A store that merges equal texts returns the live twin, replayed; a twin that differs is Conflict."""
    first = await ctx.keep("once")
    ctx.clock.advance(seconds=1)
    again = await ctx.observe("once")
    equal((again.records, again.replayed), ((first,), True), "records, replayed")
    if "kind" in ctx.caps.fact_fields:
        await raises(Conflict, ctx.keep(Fact("once", kind="profile")), "a twin of another kind")
    equal(await ctx.store.get(first.id), first, "the record")


@rule(needs=["facts.kind"])
async def kinds_are_kept(ctx: Context) -> None:
    """Each of the four kinds is kept."""
    for kind in KINDS:
        record = await ctx.keep(Fact(f"a {kind}", kind=kind))
        equal((await ctx.store.get(record.id)).kind, kind, "kind")


@rule(needs=["facts.tags"])
async def tags_are_kept_in_order(ctx: Context) -> None:
    """Tags are exact texts, in the order given, without repeats."""
    record = await ctx.keep(Fact("tagged", tags=["zeta", "Alpha", "a b", "zeta", "über,x", "alpha", '"']))
    promised = ("zeta", "Alpha", "a b", "über,x", "alpha", '"')
    equal((await ctx.store.get(record.id)).tags, promised, "tags")


@rule(needs=["facts.attributes"])
async def attributes_keep_their_types(ctx: Context) -> None:
    """A string, a number, a boolean and a list of them come back as such; numbers to the last digit."""
    given: Attributes = {
        "text": "1",
        "empty": "",
        "whole": 1,
        "real": 0.1,
        "large": 2**53,
        "small": -(2**53),
        "far": 1e300,
        "yes": True,
        "no": False,
        "list": ["a", "1", 1, 2.5, True],
    }
    record = await ctx.keep(Fact("described", attributes=given))
    equal(_typed((await ctx.store.get(record.id)).attributes), _typed(given), "attributes")


@rule(needs=["facts.attributes"])
async def attribute_keys_are_plain_names(ctx: Context) -> None:
    """A key that means something to an engine is a name like any other."""
    keys = ("a.b", "AND", "user_id", "$eq", "a b", "ключ", '"', "x'y", "a[0]", "*", "content", "id", "__x__")
    record = await ctx.keep(Fact("keyed", attributes={key: f"value of {key}" for key in keys}))
    found = (await ctx.store.get(record.id)).attributes
    equal(dict(found), {key: f"value of {key}" for key in keys}, "attributes")


@rule(needs=["facts.target", "facts.payload", "facts.supports"])
async def reserved_fields_come_back_untouched(ctx: Context) -> None:
    """Target, payload and supports are stored and returned as they are, nested values included."""
    payload: Json = {"deep": [{"null": None, "half": 0.5, "no": False}, [], {}], "text": "→ 😀"}
    fact = Fact("reserved", target="npc:7", payload=payload, supports=["b", "a"])
    found = await ctx.store.get((await ctx.keep(fact)).id)
    equal((found.target, found.payload, found.supports), ("npc:7", payload, ("b", "a")), "reserved fields")


@rule(needs=["facts.provenance"])
async def provenance_is_kept(ctx: Context) -> None:
    """Conversation, run and author come back as given, each alone and all together."""
    for given in (
        Provenance(conversation_id="c/1"),
        Provenance(run_id="r:2"),
        Provenance(author="Ann Lee"),
        Provenance("c", "r", "a"),
    ):
        record = await ctx.keep(Fact(f"told {given}"), provenance=given)
        equal((await ctx.store.get(record.id)).provenance, given, "provenance")


@rule(needs=["facts.observed_at"])
async def times_are_kept_to_the_microsecond(ctx: Context) -> None:
    """A time comes back at the very instant given, also long ago and far ahead."""
    for given in (
        datetime(2024, 2, 29, 23, 59, 59, 999_999, UTC),
        datetime(1931, 7, 4, 1, 2, 3, 4, UTC),
        datetime(2199, 12, 31, tzinfo=UTC),
    ):
        record = await ctx.keep(Fact(f"dated {given}"), at=given)
        equal((await ctx.store.get(record.id)).observed_at, given, "observed_at")


@rule(needs=["facts.observed_at"])
async def times_come_back_in_utc(ctx: Context) -> None:
    """A time given in another zone is the same instant in UTC."""
    given = datetime(2025, 1, 1, 2, 30, tzinfo=timezone(timedelta(hours=5, minutes=30)))
    found = (await ctx.store.get((await ctx.keep(Fact("abroad"), at=given)).id)).observed_at
    equal((found, found.utcoffset()), (given, timedelta(0)), "observed_at and its offset")


@rule(needs=["facts", "expiry"])
async def an_expiry_is_kept(ctx: Context) -> None:
    """The instant at which a fact expires comes back as given."""
    expires = ctx.clock() + timedelta(days=1, microseconds=1)
    record = await ctx.keep(Fact("perishable", expires_at=expires))
    equal((await ctx.store.get(record.id)).expires_at, expires, "expires_at")


@rule(needs=["verbatim"], tier=1)
async def pairs_come_back_as_given(ctx: Context) -> None:
    """A scope of pairs comes back equal, whatever its keys are called."""
    for keys in (("tenant", "user"), ("user_id", "agent_id"), ("id", "scope"), ("tenant-id", "a.b")):
        scope = Scope({key: ctx.unique(key) for key in keys})
        record = await ctx.keep("in pairs", scope=scope)
        equal((await ctx.store.get(record.id)).scope, scope, "scope")


@rule(needs=["facts.attributes"])
async def a_returned_record_is_the_callers_own(ctx: Context) -> None:
    """Changing what a call returned changes nothing in the store."""
    record = await ctx.keep(Fact("safe", attributes={"moods": ["calm"]}))
    moods = record.attributes["moods"]
    if isinstance(moods, list):
        moods.append("changed by the caller")
    equal(dict((await ctx.store.get(record.id)).attributes), {"moods": ["calm"]}, "attributes")


def _typed(value: object) -> object:
    """Numbers by value, booleans apart from them."""
    if isinstance(value, list | tuple):
        return [_typed(item) for item in value]
    if hasattr(value, "items"):
        return {key: _typed(item) for key, item in value.items()}
    return (isinstance(value, bool), value)
