"""An adapter in front of another one: passes every call on, and lets a subclass look at some."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from memhub.adapter import Adapter, Read, Write
from memhub.errors import HubError
from memhub.records import Observed, Page, Patch, Recalled, Record, Restored, Stats
from memhub.scope import Scope

if TYPE_CHECKING:
    from memhub.upkeep import Progress, Upkeep

__all__ = ["Proxy"]


class Proxy(Adapter):
    """Passes every call on to `inner`."""

    def __init__(self, inner: Adapter) -> None:
        self.inner = inner
        self.capabilities = inner.capabilities

    def next(self) -> Adapter:
        """The adapter that a call goes to; asked once a call, so that a subclass can count them."""
        return self.inner

    async def observe(self, write: Write) -> Observed:
        return await self.next().observe(write)

    async def recall(self, read: Read) -> Recalled:
        return await self.next().recall(read)

    async def get(self, ids: Sequence[str], *, now: datetime) -> list[Record]:
        return await self.next().get(ids, now=now)

    async def update(self, id: str, patch: Patch, *, revision: str | None, now: datetime) -> Record:
        return await self.next().update(id, patch, revision=revision, now=now)

    async def invalidate(self, id: str, reason: str | None, *, revision: str | None, now: datetime) -> Record:
        return await self.next().invalidate(id, reason, revision=revision, now=now)

    async def delete(self, id: str, *, revision: str | None, now: datetime) -> None:
        await self.next().delete(id, revision=revision, now=now)

    async def wait(self, operation_id: str, *, now: datetime) -> Observed:
        return await self.next().wait(operation_id, now=now)

    async def scan(self, cursor: str | None, limit: int, *, now: datetime) -> Page:
        return await self.next().scan(cursor, limit, now=now)

    async def restore(self, records: Sequence[Record], *, now: datetime) -> Restored:
        return await self.next().restore(records, now=now)

    async def stats(self, scope: Scope | None, *, by_scope: bool, now: datetime) -> Stats:
        return await self.next().stats(scope, by_scope=by_scope, now=now)

    async def purge(self, scope: Scope, *, exact: bool, now: datetime) -> int:
        return await self.next().purge(scope, exact=exact, now=now)

    async def reembed(self, progress: Progress | None = None) -> int:
        return await self.next().reembed(progress)

    async def ping(self) -> None:
        await self.next().ping()

    async def aclose(self) -> None:
        await self.next().aclose()

    def upkeep(self) -> Upkeep | None:
        return self.inner.upkeep()

    def translate(self, error: Exception) -> HubError | None:
        return self.inner.translate(error)
