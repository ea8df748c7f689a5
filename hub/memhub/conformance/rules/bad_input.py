"""What is no valid call is refused before any I/O, naming the field."""

from __future__ import annotations

import math
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from memhub import limits
from memhub.conformance.context import Context
from memhub.conformance.definition import rule
from memhub.conformance.rules.refusing import Call, invalid
from memhub.records import Fact, Observation, Patch, Provenance, Query, Turn
from memhub.scope import Scope

NO_TEXTS: Final = ("", " \t\r\n", "nul \0 inside", "lone \ud800 surrogate")
CONDITIONS: Final[tuple[object, ...]] = (
    *(None, ["a"], {}, {"eq": None}, {"eq": ["a"]}, {"in": []}, {"not_in": []}, {"in": "a"}),
    *({"like": "a%"}, {"gt": "3"}, {"gt": True}, {"exists": 1}),
)
NO_TIME: Final = datetime(2026, 1, 1)  # noqa: DTZ001 - a time without a zone is the point


@rule(tier=1)
async def text_that_is_no_text_is_refused(ctx: Context) -> None:
    """Blank text, NUL and lone surrogates are InvalidInput as content and as a question."""
    for text in NO_TEXTS:
        await invalid(ctx, "content", _observing(ctx, Fact(text)))
        await invalid(ctx, "content", _observing(ctx, Turn("user", text)))
        await invalid(ctx, "text", _asking(ctx, text=text))


@rule(tier=1)
async def facts_above_the_limits_are_refused(ctx: Context) -> None:
    """A fact with too long a text, too many tags or attributes, is InvalidInput, never shortened."""
    large: dict[str, int | str] = {f"k{n}": n for n in range(limits.ATTRIBUTE_KEYS + 1)}
    facts = (
        ("content", Fact("x" * (limits.CONTENT_CHARS + 1))),
        ("tags", Fact("x", tags=[str(n) for n in range(limits.TAGS + 1)])),
        ("tags", Fact("x", tags=["x" * (limits.TAG_CHARS + 1)])),
        ("attributes", Fact("x", attributes=large)),
        ("attributes", Fact("x", attributes={"k": "v" * limits.ATTRIBUTE_BYTES})),
        ("payload", Fact("x", payload="v" * limits.ATTRIBUTE_BYTES)),
        ("target", Fact("x", target="t" * (limits.NAME_CHARS + 1))),
    )
    for field, fact in facts:
        await invalid(ctx, field, _observing(ctx, fact))


@rule(tier=1)
async def observations_above_the_limits_are_refused(ctx: Context) -> None:
    """1,001 facts or turns, facts and turns at once, and neither, are InvalidInput."""
    scope, many = ctx.scope(), limits.ITEMS + 1
    observations = (
        ("facts", Observation(scope, facts=[Fact("x")] * many)),
        ("turns", Observation(scope, turns=[Turn("user", "x")] * many)),
        ("facts", Observation(scope, facts=[Fact("x")], turns=[Turn("user", "x")])),
        ("facts", Observation(scope)),
        ("author", Observation(scope, facts=[Fact("x")], provenance=Provenance(author="a" * 513))),
        ("key", Observation(scope, facts=[Fact("x")], idempotency_key="k" * 513)),
    )
    for field, observation in observations:
        await invalid(ctx, field, partial(ctx.store.observe, observation))


@rule(tier=1)
async def scopes_above_the_limit_are_refused(ctx: Context) -> None:
    """A scope of 513 bytes, or with NUL or a lone surrogate, is InvalidInput to write and to read."""
    for name in ("é" * (limits.SCOPE_BYTES // 2), "nul \0", "lone \udfff"):
        await invalid(ctx, "scope", partial(ctx.keep, "x", scope=Scope(name)))
        await invalid(ctx, "scope", partial(ctx.store.recall, Query(Scope(name))))


@rule(tier=1)
async def questions_above_the_limits_are_refused(ctx: Context) -> None:
    """Too long a text, a limit outside 0 to 1,000 and 101 scopes are InvalidInput, never cut."""
    await invalid(ctx, "text", _asking(ctx, text="x" * (limits.QUERY_CHARS + 1)))
    for limit in (-1, limits.LIMIT + 1, 10_000):
        await invalid(ctx, "limit", partial(ctx.store.recall, Query(ctx.scope(), limit=limit)))
    scopes = [ctx.scope(str(n)) for n in range(limits.SCOPES + 1)]
    await invalid(ctx, "scope", lambda: ctx.store.recall(Query(scopes)))
    await invalid(ctx, "scope", lambda: ctx.store.recall(Query([])))


@rule(tier=1)
async def times_without_a_zone_are_refused(ctx: Context) -> None:
    """A naive datetime is InvalidInput wherever a time goes."""
    await invalid(ctx, "observed_at", lambda: ctx.keep("x", at=NO_TIME))
    await invalid(ctx, "expires_at", _observing(ctx, Fact("x", expires_at=NO_TIME)))
    await invalid(ctx, "at", _observing(ctx, Turn("user", "x", at=NO_TIME)))
    for field in ("since", "until", "as_of"):
        query = Query(ctx.scope(), **{field: NO_TIME})  # type: ignore[arg-type]
        await invalid(ctx, field, partial(ctx.store.recall, query))


@rule(tier=1)
async def numbers_that_json_loses_are_refused(ctx: Context) -> None:
    """NaN, infinities and integers beyond 2^53 are InvalidInput as attributes and in `where`."""
    for number in (math.nan, math.inf, -math.inf, limits.INTEGER + 1):
        await invalid(ctx, "attributes", _observing(ctx, Fact("x", attributes={"n": number})))
        await invalid(ctx, "where", partial(ctx.store.recall, Query(ctx.scope(), where={"n": number})))


@rule(tier=1)
async def conditions_without_a_meaning_are_refused(ctx: Context) -> None:
    """A bare list, an empty `in`, a None, an unknown operator: InvalidInput, never ignored."""
    for condition in CONDITIONS:
        await invalid(ctx, "where", partial(ctx.store.recall, Query(ctx.scope(), where={"n": condition})))


@rule(tier=1)
async def ids_that_are_no_ids_are_refused(ctx: Context) -> None:
    """An id is 1 to 512 printable characters; anything else is InvalidInput for every verb."""
    for id in ("", "a\nb", "nul \0", "x" * (limits.ID_CHARS + 1)):
        await invalid(ctx, "id", partial(ctx.store.get, id))
        await invalid(ctx, "id", partial(ctx.store.update, id, Patch(content="x")))
        await invalid(ctx, "id", partial(ctx.store.invalidate, id))
        await invalid(ctx, "id", partial(ctx.store.delete, id))


@rule(tier=1)
async def nothing_works_without_a_scope(ctx: Context) -> None:
    """A call without a scope is InvalidInput; it never means everything."""
    no_scopes: tuple[object, ...] = (None, "", "player:42", [], {})
    for scope in no_scopes:
        observation = Observation(scope, facts=[Fact("x")])  # type: ignore[arg-type]
        await invalid(ctx, "scope", partial(ctx.store.observe, observation))
        await invalid(ctx, "scope", partial(ctx.store.recall, Query(scope)))  # type: ignore[arg-type]
        await invalid(ctx, "scope", partial(ctx.store.purge, scope))  # type: ignore[arg-type]


@rule(tier=1)
async def words_that_the_contract_lacks_are_refused(ctx: Context) -> None:
    """An unknown kind, role or mode is InvalidInput, never taken for the nearest."""
    await invalid(ctx, "kind", _observing(ctx, Fact("x", kind="opinion")))  # type: ignore[arg-type]
    await invalid(ctx, "role", _observing(ctx, Turn("robot", "x")))  # type: ignore[arg-type]
    for query in (
        Query(ctx.scope(), kinds=["opinion"]),  # type: ignore[list-item]
        Query(ctx.scope(), text="x", mode="magic"),  # type: ignore[arg-type]
    ):
        await invalid(ctx, "kinds" if query.kinds else "mode", partial(ctx.store.recall, query))


@rule(tier=1)
async def patches_without_a_meaning_are_refused(ctx: Context) -> None:
    """An empty patch, and a key both set and removed, are InvalidInput."""
    both = Patch(set_attributes={"k": 1}, remove_attributes=["k"])
    for patch in (Patch(), both, Patch(content=" "), Patch(tags=["x"] * 65)):
        await invalid(ctx, "", partial(ctx.store.update, "some-id", patch))


@rule(tier=1)
async def a_query_that_contradicts_itself_is_refused(ctx: Context) -> None:
    """`as_of` with include_invalidated, and text with a cursor, are InvalidInput."""
    then = ctx.clock() - timedelta(days=1)
    both = Query(ctx.scope(), as_of=then, include_invalidated=True)
    await invalid(ctx, "include_invalidated", lambda: ctx.store.recall(both))
    await invalid(ctx, "cursor", lambda: ctx.store.recall(Query(ctx.scope(), text="x", cursor="x")))


def _observing(ctx: Context, what: Fact | Turn) -> Call:
    return lambda: ctx.observe(what)


def _asking(ctx: Context, text: str) -> Call:
    return lambda: ctx.store.recall(Query(ctx.scope(), text=text))
