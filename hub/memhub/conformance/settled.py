"""For stores of eventual consistency: a write returns once every way to read shows it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from memhub import limits
from memhub.adapter import Adapter, Read, Write
from memhub.changes import expired
from memhub.conformance.proxy import Proxy
from memhub.records import Observed, Patch, Query, Record, Restored
from memhub.requests import read_from
from memhub.scope import Scope
from memhub.search import has_words

__all__ = ["Patience", "Settled"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long a write may take to show: looked for `attempts` times, `delay` seconds apart."""

    attempts: int = 60
    delay: float = 0.5


class Settled(Proxy):
    """Polls after each write until reads agree with it, or patience ends and the rule decides."""

    def __init__(self, inner: Adapter, patience: Patience) -> None:
        super().__init__(inner)
        self.patience = patience

    async def observe(self, write: Write) -> Observed:
        done = await super().observe(write)
        await self._shown(done.records[-1:], write.now)
        for fact in write.facts:
            if fact.supersedes is not None:
                await self._until(partial(self._retired, fact.supersedes, write.now))
        return done

    async def wait(self, operation_id: str, *, now: datetime) -> Observed:
        done = await super().wait(operation_id, now=now)
        await self._shown(done.records[-1:], now)
        return done

    async def restore(self, records: Sequence[Record], *, now: datetime) -> Restored:
        done = await super().restore(records, now=now)
        if not expired(records[-1], now):
            await self._until(partial(self._held, done.ids[records[-1].id], now))
        return done

    async def update(self, id: str, patch: Patch, *, revision: str | None, now: datetime) -> Record:
        record = await super().update(id, patch, revision=revision, now=now)
        await self._shown([record], now)
        return record

    async def invalidate(self, id: str, reason: str | None, *, revision: str | None, now: datetime) -> Record:
        record = await super().invalidate(id, reason, revision=revision, now=now)
        await self._shown([record], now)
        return record

    async def delete(self, id: str, *, revision: str | None, now: datetime) -> None:
        held = await self.inner.get([id], now=now)
        await super().delete(id, revision=revision, now=now)
        for record in held:
            await self._until(partial(self._gone, record, now))

    async def purge(self, scope: Scope, *, exact: bool, now: datetime) -> int:
        count = await super().purge(scope, exact=exact, now=now)
        if self.capabilities.listing:
            read = read_from(Query(scope, exact=exact, limit=1), now)
            await self._until(partial(self._empty, read))
        return count

    async def _until(self, seen: Callable[[], Awaitable[bool]]) -> None:
        for _ in range(self.patience.attempts):
            if await seen():
                return
            await asyncio.sleep(self.patience.delay)

    async def _shown(self, records: Sequence[Record], now: datetime) -> None:
        for record in records:
            await self._until(partial(self._agrees, record, now))

    async def _agrees(self, record: Record, now: datetime) -> bool:
        """Whether every way to read shows this very revision, or hides it where it must."""
        visible = not expired(record, now)
        promised = [visible, *[visible and record.invalid_at is None] * 2]
        ways = await self._ways(record, now)
        return all(
            [one.revision for one in way if one.id == record.id] == [record.revision] * shown
            for way, shown in zip(ways, promised, strict=False)
        )

    async def _gone(self, record: Record, now: datetime) -> bool:
        return not any(one.id == record.id for way in await self._ways(record, now) for one in way)

    async def _retired(self, id: str, now: datetime) -> bool:
        held = await self.inner.get([id], now=now)
        return not held or (held[0].superseded_by is not None and await self._agrees(held[0], now))

    async def _held(self, id: str, now: datetime) -> bool:
        held = await self.inner.get([id], now=now)
        return bool(held) and await self._agrees(held[0], now)

    async def _empty(self, read: Read) -> bool:
        return not (await self.inner.recall(read)).hits

    async def _ways(self, record: Record, now: datetime) -> list[list[Record]]:
        """What each way to read shows: by id, listed, and searched for by the record's own text."""
        caps, ways = self.capabilities, [await self.inner.get([record.id], now=now)]
        if caps.listing:
            read = read_from(Query(record.scope, exact=True, limit=min(caps.listing, limits.LIMIT)), now)
            ways.append(await self._listed(read))
        if caps.modes and has_words(record.content):
            read = read_from(Query(record.scope, exact=True, text=record.content, limit=limits.LIMIT), now)
            ways.append([hit.record for hit in (await self.inner.recall(read)).hits])
        return ways

    async def _listed(self, read: Read) -> list[Record]:
        records: list[Record] = []
        while True:
            found = await self.inner.recall(read)
            records += [hit.record for hit in found.hits]
            if found.cursor is None:
                return records
            read = replace(read, cursor=found.cursor)
