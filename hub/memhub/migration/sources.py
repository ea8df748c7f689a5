"""Where records come from, page by page, with a way to look single ones up."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Final, Protocol

from memhub.capabilities import Capabilities
from memhub.errors import NotFound
from memhub.records import Page, Record
from memhub.requests import check_scope
from memhub.scope import Scope
from memhub.store import MemoryStore

__all__ = ["PAGE", "Source", "StoreSource", "at_once", "checked_scopes", "looked_up", "pages", "sought"]

PAGE: Final = 500
"""Records that are read, written and compared at once."""

FEW: Final = 25
"""The same for a store that takes them one by one, each call of which must end within its deadline."""


class Source(Protocol):
    """What a migration reads. `steady`: nothing else writes to it, so that one pass sees it all."""

    @property
    def name(self) -> str: ...
    @property
    def steady(self) -> bool: ...
    def pages(self, cursor: str | None = None) -> AsyncIterator[Page]:
        """Every record, each once, from `cursor` on; a page may be empty."""

    async def fetch(self, ids: Sequence[str]) -> list[Record]:
        """Those of these records that are there."""

    def version(self, record: Record) -> str:
        """A text that differs once the record does."""


class StoreSource:
    """The records of a store that these scopes cover; all of them where no scope is given."""

    steady = False

    def __init__(self, store: MemoryStore, scopes: Sequence[Scope] = ()) -> None:
        store.capabilities.require("scan", operation="migrate", argument="source")
        self.name = store.name
        self._store = store
        self._scopes = scopes

    def pages(self, cursor: str | None = None) -> AsyncIterator[Page]:
        """The covered records of a scan."""
        return pages(self._store, self._scopes, cursor)

    async def fetch(self, ids: Sequence[str]) -> list[Record]:
        """Those that the store holds in these scopes, expired ones too."""
        found = await sought(self._store, ids)
        return [record for record in found.values() if _covered(record, self._scopes)]

    def version(self, record: Record) -> str:
        """The record's revision."""
        return record.revision


async def looked_up(store: MemoryStore, ids: Sequence[str]) -> dict[str, Record]:
    """Those of these records that the store holds and that have not expired, by id."""
    try:
        return {record.id: record for record in await store.get(list(ids))}
    except NotFound:
        if len(ids) == 1:
            return {}
    half = len(ids) // 2
    return await looked_up(store, ids[:half]) | await looked_up(store, ids[half:])


async def sought(store: MemoryStore, ids: Sequence[str]) -> dict[str, Record]:
    """Those of these records that a store which can be read through holds, expired ones too, by id."""
    found = await looked_up(store, ids)
    missing = {id for id in ids if id not in found}
    if missing:
        # What has expired shows in a scan alone.
        async for page in pages(store):
            found |= {record.id: record for record in page.records if record.id in missing}
    return found


def at_once(caps: Capabilities) -> int:
    """How many records a store is given, or asked for, in one call."""
    return PAGE if caps.atomic_facts >= PAGE else min(PAGE, FEW)


def checked_scopes(scope: Scope | Iterable[Scope] | None) -> tuple[Scope, ...]:
    """The scopes of an argument: one, several, or none for everything. InvalidInput for anything else."""
    if scope is None:
        return ()
    return tuple(check_scope(one) for one in ((scope,) if isinstance(scope, Scope) else scope))


async def pages(
    store: MemoryStore, scopes: Sequence[Scope] = (), cursor: str | None = None
) -> AsyncIterator[Page]:
    """A scan of what these scopes cover, page by page; of everything without scopes."""
    while True:
        page = await store.scan(cursor, PAGE)
        cursor = page.cursor
        yield Page(tuple(record for record in page.records if _covered(record, scopes)), cursor)
        if cursor is None:
            return


def _covered(record: Record, scopes: Sequence[Scope]) -> bool:
    return not scopes or any(scope.covers(record.scope) for scope in scopes)
