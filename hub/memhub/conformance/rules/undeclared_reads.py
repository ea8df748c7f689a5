"""The other direction, reading: what is not declared is refused before any I/O, by name."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Final

from memhub.capabilities import FILTERS_ALL
from memhub.conformance.context import Context
from memhub.conformance.definition import rule
from memhub.conformance.expect import equal
from memhub.conformance.rules.refusing import refused
from memhub.records import Mode, Query
from memhub.scope import Scope

VALUES: Final[dict[str, str | int | bool]] = {"string": "x", "number": 1, "boolean": True}


@rule(lacks=["search"])
async def undeclared_search_is_refused(ctx: Context) -> None:
    """A store that cannot search refuses text."""
    await refused(ctx, "recall", "mode=", lambda: ctx.store.recall(Query(ctx.scope(), text="x")))


@rule(needs=["search"], lacks=["keyword"])
async def undeclared_keyword_mode_is_refused(ctx: Context) -> None:
    """A store that does not search by words refuses that mode."""
    await _mode_refused(ctx, "keyword")


@rule(needs=["search"], lacks=["semantic"])
async def undeclared_semantic_mode_is_refused(ctx: Context) -> None:
    """A store that does not search by meaning refuses that mode."""
    await _mode_refused(ctx, "semantic")


@rule(needs=["search"], lacks=["hybrid"])
async def undeclared_hybrid_mode_is_refused(ctx: Context) -> None:
    """A store that does not search both ways refuses that mode."""
    await _mode_refused(ctx, "hybrid")


@rule(lacks=["listing"])
async def undeclared_listing_is_refused(ctx: Context) -> None:
    """A store that cannot list refuses a query without text."""
    await refused(ctx, "recall", "no text", lambda: ctx.store.recall(Query(ctx.scope())))


@rule(needs=["listing"], lacks=["full_listing"])
async def longer_listings_than_declared_are_refused(ctx: Context) -> None:
    """A limit above what a store lists at once is refused, never cut."""
    query = Query(ctx.scope(), limit=ctx.caps.listing + 1)
    await refused(ctx, "recall", "limit", lambda: ctx.store.recall(query))


@rule(needs=["found"], lacks=["subset_scopes"])
async def pairs_are_refused_unless_exact(ctx: Context) -> None:
    """A store that matches scopes exactly refuses pairs without `exact`, and does not narrow in silence."""
    pairs = Scope(tenant=ctx.unique("acme"))
    await refused(ctx, "recall", "scope", partial(ctx.store.recall, replace(_query(ctx), scope=pairs)))
    equal((await ctx.store.recall(replace(_query(ctx), scope=pairs, exact=True))).hits, (), "hits with exact")
    if ctx.caps.purge:
        await refused(ctx, "purge", "scope", lambda: ctx.store.purge(pairs))


@rule(needs=["found"], lacks=["union"])
async def undeclared_unions_are_refused(ctx: Context) -> None:
    """A store that cannot unite scopes refuses several."""
    query = replace(_query(ctx), scope=[ctx.scope("a"), ctx.scope("b")])
    await refused(ctx, "recall", "scope", lambda: ctx.store.recall(query))


@rule(needs=["found"], lacks=["as_of"])
async def undeclared_as_of_is_refused(ctx: Context) -> None:
    """A store that does not know what was valid when refuses `as_of`."""
    query = replace(_query(ctx), as_of=ctx.clock())
    await refused(ctx, "recall", "as_of", lambda: ctx.store.recall(query))


@rule(needs=["found"], lacks=["invalidation", "supersede"])
async def include_invalidated_is_refused_where_nothing_is(ctx: Context) -> None:
    """A store in which nothing is ever invalidated refuses `include_invalidated`."""
    query = replace(_query(ctx), include_invalidated=True)
    await refused(ctx, "recall", "include_invalidated", lambda: ctx.store.recall(query))


@rule(needs=["found"], lacks=["filters.kinds"])
async def undeclared_kinds_filter_is_refused(ctx: Context) -> None:
    """A store that cannot filter by kind refuses to, in a listing or a search."""
    query = replace(_query(ctx), kinds=["fact"])
    await refused(ctx, "recall", "kinds", lambda: ctx.store.recall(query))


@rule(needs=["found"], lacks=["filters.tags"])
async def undeclared_tags_filter_is_refused(ctx: Context) -> None:
    """A store that cannot filter by tags refuses to."""
    query = replace(_query(ctx), tags=["a"])
    await refused(ctx, "recall", "tags", lambda: ctx.store.recall(query))


@rule(needs=["found"], lacks=["filters.time"])
async def undeclared_time_filters_are_refused(ctx: Context) -> None:
    """A store that cannot filter by time refuses `since` and `until`."""
    moment = ctx.clock() - timedelta(days=1)
    for query in (replace(_query(ctx), since=moment), replace(_query(ctx), until=moment)):
        await refused(ctx, "recall", "time", partial(ctx.store.recall, query))


@rule(needs=["found"], lacks=["filters.attributes"])
async def undeclared_conditions_are_refused(ctx: Context) -> None:
    """An operator, or a type of value, that a store cannot compare is refused, naming both."""
    for operator, types in FILTERS_ALL.attributes.items():
        for kind in sorted(types - ctx.caps.filters.attributes.get(operator, frozenset())):
            value = [VALUES[kind]] if operator in ("in", "not_in") else VALUES[kind]
            query = replace(_query(ctx), where={"field": {operator: value}})
            await refused(ctx, "recall", f"where['field'].{operator}", partial(ctx.store.recall, query))


def _query(ctx: Context) -> Query:
    """A listing, or a search where nothing lists."""
    return Query(ctx.scope(), limit=1) if ctx.caps.listing else Query(ctx.scope(), limit=1, text="memory")


async def _mode_refused(ctx: Context, mode: Mode) -> None:
    query = Query(ctx.scope(), text="x", mode=mode)
    await refused(ctx, "recall", f"mode={mode}", lambda: ctx.store.recall(query))
