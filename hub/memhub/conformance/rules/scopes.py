"""A scope is opaque: compared code point by code point, and nothing crosses from one to another."""

from __future__ import annotations

import uuid
from collections.abc import Iterable

from memhub.conformance.context import Context
from memhub.conformance.definition import rule
from memhub.conformance.expect import equal
from memhub.records import Query
from memhub.scope import Scope


@rule(needs=["verbatim", "found"], tier=1)
async def an_unknown_scope_is_empty(ctx: Context) -> None:
    """A scope that nothing was written to finds nothing; it never falls back to others."""
    for n in range(4):
        await ctx.keep(f"memory {n}", scope=ctx.scope(f"room {n}"))
    equal(await ctx.seen(ctx.scope("nobody")), [], "contents of an unknown scope")


@rule(needs=["verbatim", "found"], tier=1)
async def a_scope_is_no_pattern(ctx: Context) -> None:
    """Characters that stand for others in SQL, globs and regular expressions stand for themselves."""
    await _apart(ctx, ("john_doe", "john-doe", "john%", "john*", "john?", "john.*", "john", "[j]ohn", "%"))


@rule(needs=["verbatim", "found"], tier=1)
async def a_scope_is_no_prefix(ctx: Context) -> None:
    """A scope finds nothing of one that begins, or ends, like it."""
    await _apart(ctx, ("acme", "acme-corp", "acme/", "acme:eu", "acme ", " acme", "acm", "the acme"))


@rule(needs=["verbatim", "found"], tier=1)
async def separators_in_a_scope_do_not_collide(ctx: Context) -> None:
    """Whatever an adapter joins texts with, scopes that hold it stay distinct."""
    marks = (
        ":",
        "/",
        ".",
        " ",
        "|",
        ",",
        "\\",
        "\t",
        "\n",
        "\x1f",
        "\x1e",
        "%2F",
        "%3A",
        "__",
        "--",
        "&",
        "=",
    )
    await _apart(ctx, ("ab", *(f"a{mark}b" for mark in marks)))


@rule(needs=["verbatim", "found"], tier=1)
async def case_and_form_of_a_scope_count(ctx: Context) -> None:
    """Case, width and Unicode form are not folded."""
    await _apart(ctx, ("Ann", "ann", "ANN", "\uff21nn", "\u00e9", "e\u0301", "\u00df", "ss", "\ufb01", "fi"))


@rule(needs=["verbatim", "found"], tier=1)
async def words_of_a_query_language_are_scopes(ctx: Context) -> None:
    """Words and signs of SQL and of search languages are scopes like any other."""
    words = ("select", "or", "not", "null", "main", "NEAR(", '"', "'; DROP TABLE records; --", "a AND b")
    await _apart(ctx, (*words, "*", "true", "1", "$eq", "{}", "[]"))


@rule(needs=["verbatim", "found"], tier=1)
async def words_of_a_file_system_are_scopes(ctx: Context) -> None:
    """Paths, device names and hidden names are scopes like any other."""
    names = ("..", ".", "../up", "/etc", "CON", "aux.md", "dot.", ".hidden", "~", "C:\\x", "n" * 300)
    await _apart(ctx, names)


@rule(needs=["verbatim", "found"], tier=1)
async def a_uuid_is_a_scope(ctx: Context) -> None:
    """A scope that is a UUID can be written, listed and searched."""
    scopes = [Scope(str(uuid.uuid4())) for _ in range(2)]
    await _apart_scopes(ctx, scopes)


@rule(needs=["verbatim", "found"], tier=1)
async def a_name_is_no_pair(ctx: Context) -> None:
    """A name never equals a pair, also where one looks like the other's text."""
    key, value = ctx.unique("k"), ctx.unique("v")
    pair = Scope({key: value})
    names = [Scope(text) for text in (key, value, f"{key}={value}", f"{key}:{value}", pair.canonical)]
    await _apart_scopes(ctx, [pair, *names], exact=True)


@rule(needs=["verbatim", "listing"])
async def pairs_do_not_collide(ctx: Context) -> None:
    """Pairs are told apart by which value belongs to which key, whatever the texts hold."""
    a, b, c = (ctx.unique(text) for text in ("a", "b", "c"))
    pairs = (
        {a: b},
        {b: a},
        {a: c},
        {a: b, b: c},
        {a: c, b: b},
        {a: f"{b},{b}:{c}"},
        {f"{a}.{b}": c},
        {a: f"{b}.{c}"},
    )
    await _apart_scopes(ctx, [Scope(pair) for pair in pairs], exact=True)


@rule(needs=["verbatim", "listing"])
async def keys_of_a_provider_are_plain_labels(ctx: Context) -> None:
    """A label called `user_id` or `collection` is a label like any other, and routes nothing."""
    value = ctx.unique("same")
    keys = ("user_id", "agent_id", "app_id", "run_id", "session_id", "collection", "id", "scope", "content")
    await _apart_scopes(ctx, [Scope({key: value}) for key in keys], exact=True)


@rule(needs=["verbatim", "listing", "subset_scopes"])
async def a_query_for_some_labels_finds_more_specific_scopes(ctx: Context) -> None:
    """Pairs find every record whose scope has all of them; a name finds itself alone."""
    acme, other = ctx.unique("acme"), ctx.unique("other")
    tenant, ann = Scope(tenant=acme), Scope(tenant=acme, user="ann")
    for scope, text in (
        (tenant, "for all"),
        (ann, "for ann"),
        (Scope(tenant=other, user="ann"), "elsewhere"),
    ):
        await ctx.keep(text, scope=scope)
    await ctx.keep("named", scope=Scope(acme))
    asked = (tenant, ann, Scope(tenant=acme, user="bob"), Scope(tenant=acme, room="x"), Scope(acme))
    found = [sorted(await ctx.texts(Query(scope))) for scope in asked]
    equal(found, [["for all", "for ann"], ["for ann"], [], [], ["named"]], "contents by scope asked for")


@rule(needs=["verbatim", "listing"])
async def exact_finds_that_very_scope(ctx: Context) -> None:
    """`exact=True` finds the records of that very scope, and none of a wider or narrower one."""
    acme = ctx.unique("acme")
    scopes = Scope(tenant=acme), Scope(tenant=acme, user="ann"), Scope(tenant=acme, user="ann", room="x")
    await _apart_scopes(ctx, scopes, exact=True)


@rule(needs=["verbatim", "listing", "union"])
async def a_union_finds_each_record_once(ctx: Context) -> None:
    """Several scopes find what any of them finds, newest first, each record once."""
    scopes = [ctx.scope(label) for label in ("one", "two", "three")]
    for n, scope in enumerate((*scopes, scopes[0])):
        ctx.clock.advance(seconds=1)
        await ctx.keep(f"memory {n}", scope=scope)
    asked = [scopes[1], scopes[0], scopes[0], ctx.scope("nobody")]
    equal(await ctx.texts(Query(asked)), ["memory 3", "memory 1", "memory 0"], "contents of two scopes")
    equal(
        await ctx.texts(Query(asked, limit=2)), ["memory 3", "memory 1", "memory 0"], "contents in pages of 2"
    )


@rule(needs=["verbatim", "listing", "union", "subset_scopes"])
async def overlapping_scopes_find_each_record_once(ctx: Context) -> None:
    """A record that two scopes of one query both reach is found once."""
    acme = ctx.unique("acme")
    ann = Scope(tenant=acme, user="ann")
    await ctx.keep("once", scope=ann)
    equal(
        await ctx.texts(Query([ann, Scope(tenant=acme), Scope(user="ann", tenant=acme)])),
        ["once"],
        "contents",
    )


@rule(needs=["verbatim", "keyword"])
async def a_search_stays_in_its_scope(ctx: Context) -> None:
    """The same words in another scope are not found."""
    here, there = ctx.scope("here"), ctx.scope("there")
    await ctx.keep("jasmine tea here", scope=here)
    await ctx.keep("jasmine tea there, jasmine tea", scope=there)
    equal(await ctx.search("jasmine tea", scope=here), ["jasmine tea here"], "contents found")


async def _apart(ctx: Context, names: Iterable[str]) -> None:
    await _apart_scopes(ctx, [ctx.scope(name) for name in names])


async def _apart_scopes(ctx: Context, scopes: Iterable[Scope], *, exact: bool = False) -> None:
    """Each scope finds the one record that was written to it."""
    distinct = list(scopes)
    for n, scope in enumerate(distinct):
        await ctx.keep(f"memory {n}", scope=scope)
    for n, scope in enumerate(distinct):
        equal(await ctx.seen(scope, exact=exact), [f"memory {n}"], f"contents of {scope!r}")
