"""Removing what a rule wrote to a store in use: by purge, else one by one, else said to stay."""

from __future__ import annotations

from memhub.conformance.context import Context
from memhub.errors import HubError, NotFound
from memhub.records import Query

__all__ = ["tidied"]


async def tidied(context: Context) -> str | None:
    """Remove what the run of one rule wrote. Why something stays; None where nothing does."""
    if not context.notes.scopes:
        return None
    try:
        if context.caps.purge:
            await _purge(context)
        elif context.caps.delete:
            await _delete(context)
        else:
            return "the store deletes nothing, so its records stay"
    except HubError as error:
        return f"removing failed: {error}"
    return None


async def _purge(context: Context) -> None:
    for scope in context.notes.scopes:
        await context.store.purge(scope, exact=True)


async def _delete(context: Context) -> None:
    for id in context.notes.ids | await _listed(context):
        try:
            await context.store.delete(id)
        except NotFound:
            continue


async def _listed(context: Context) -> set[str]:
    """Also what a cancelled call stored without telling its ids."""
    if not context.caps.listing:
        return set()
    queries = [Query(scope, exact=True, limit=context.page) for scope in context.notes.scopes]
    return {record.id for query in queries for record in await context.listed(query)}
