"""Recall: whole scopes listed in our order, and searches that fetch on until enough passes the filters."""

from __future__ import annotations

from typing import Final

from memhub.adapter import Read
from memhub.filters import admits
from memhub.records import Hit, Recalled, Why
from memhub.scope import Scope
from memhub.search import listing_key
from memhub.unindexed import listed
from memhub_adapters.failure import Failure
from memhub_adapters.mem0.fields import Held
from memhub_adapters.mem0.memories import Memories, each, of_scope
from memhub_adapters.mem0.scopes import user_of

__all__ = ["listing", "search", "written_at"]

_GROWTH: Final = 4
"""How much more is asked for when the filters left too few."""


async def listing(memories: Memories, read: Read) -> Recalled:
    """The page of the scopes' records that `read` asks for; every listing reads its scopes whole."""
    scopes = await each(read.scopes, memories.within)
    rows = [(written_at(one), one.record) for some in scopes for one in some]
    return listed(rows, read, newest=max((number for number, _ in rows), default=0))


async def search(memories: Memories, read: Read, *, most: int | None) -> Recalled:
    """The nearest records of the scopes, best first, ties in the order of a listing.

    `most` bounds what the service finds at once. Raises Failure when that many rank above what the
    filters admit, since nothing is left out in silence.
    """

    async def of(scope: Scope) -> list[Held]:
        return await _nearest(memories, scope, read, most)

    found = [one for some in await each(read.scopes, of) for one in some]
    found.sort(key=lambda one: listing_key(one.record), reverse=True)
    found.sort(key=lambda one: one.row.score, reverse=True)
    return Recalled(tuple(_hit(one, read) for one in found[: read.limit]))


def written_at(one: Held) -> int:
    """When the service made a row, in microseconds: its place in the order written."""
    return round(one.row.created.timestamp() * 1_000_000) if one.row.created else 0


async def _nearest(memories: Memories, scope: Scope, read: Read, most: int | None) -> list[Held]:
    """The records of one scope that pass the filters: `limit` of them, or all there are."""
    asked = read.limit if most is None else min(read.limit, most)
    while True:
        rows = await memories.gateway.search(user_of(scope), read.text or "", asked)
        passed = [one for one in of_scope(rows, scope) if admits(one.record, read)]
        if len(passed) >= read.limit or len(rows) < asked:
            return passed[: read.limit]
        if asked == most:
            raise Failure("TooManyToSearch", "none")
        asked = asked * _GROWTH if most is None else min(asked * _GROWTH, most)


def _hit(one: Held, read: Read) -> Hit:
    return Hit(one.record, one.row.score, Why(semantic=one.row.score) if read.explain else None)
