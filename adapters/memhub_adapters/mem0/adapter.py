"""The Mem0 adapter: the contract's verbs over a gateway to one of Mem0's flavors."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import datetime
from functools import partial
from typing import Final

from memhub.adapter import Adapter, Read, Write
from memhub.capabilities import Capabilities
from memhub.changes import expired, invalidated, patched
from memhub.errors import HubError, NotFound
from memhub.records import Observed, Page, Patch, Recalled, Record, Restored, Stats
from memhub.scope import Scope
from memhub.upkeep import Progress
from memhub_adapters.mem0 import changing, extraction, hosting, reading, writing
from memhub_adapters.mem0.capabilities import EMBEDDED, PLATFORM, SELF_HOSTED
from memhub_adapters.mem0.errors import translate
from memhub_adapters.mem0.gateway import Gateway
from memhub_adapters.mem0.ledger import Ledger
from memhub_adapters.mem0.locators import Locator, place_of
from memhub_adapters.mem0.locks import Locks
from memhub_adapters.mem0.memories import Memories, each
from memhub_adapters.mem0.repeats import observed_once
from memhub_adapters.mem0.scopes import user_of
from memhub_adapters.translating import translated
from memhub_adapters.underway import Underway

__all__ = ["CAPABILITIES", "Mem0Adapter"]

CAPABILITIES: Final[Mapping[str, Capabilities]] = {
    "platform": PLATFORM,
    "self_hosted": SELF_HOSTED,
    "embedded": EMBEDDED,
}

POLL: Final = 0.5
"""Seconds between two looks at a pending operation."""


class Mem0Adapter(Adapter):
    """Facts go in word by word, turns become facts. `gateway` is closed with the adapter.

    `most_found` is the largest search of the service, None where nothing bounds it. `poll` is in
    seconds. Changes of one scope wait for each other within this process; between processes, the
    later of two changes at the same instant wins, whole.
    """

    def __init__(
        self,
        gateway: Gateway,
        capabilities: Capabilities,
        *,
        most_found: int | None = None,
        poll: float = POLL,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.capabilities = capabilities
        self._gateway = gateway
        self._memories = Memories(
            gateway,
            settles=capabilities.consistency == "immediate",
            merges=capabilities.duplicates == "merged",
        )
        self._most_found = most_found
        self._poll = poll
        self._sleep = sleep
        self._locks = Locks()
        self._underway = Underway()

    async def open(self) -> None:
        """Open what is opened on first use, to see now whether it can be. Raises what `translate` gives."""
        await translated(self._gateway.ping(), translate)

    async def observe(self, write: Write) -> Observed:
        if any(turn.role == "tool" for turn in write.turns):
            self.capabilities.refuse("turns.tool", operation="observe", argument="turns of the role tool")
        ledger = self._gateway.ledger
        if write.idempotency_key is None or ledger is None:
            return await self._stored(write)
        return await self._underway.whole(self._stored_once(write, ledger))

    async def recall(self, read: Read) -> Recalled:
        if read.text is None:
            return await reading.listing(self._memories, read)
        return await reading.search(self._memories, read, most=self._most_found)

    async def get(self, ids: Sequence[str], *, now: datetime) -> list[Record]:
        found = await each(ids, self._memories.find)
        return [one.record for one in found if one is not None and not expired(one.record, now)]

    async def update(self, id: str, patch: Patch, *, revision: str | None, now: datetime) -> Record:
        return await self._changed(id, revision, now, lambda record: patched(record, patch, now=now))

    async def invalidate(self, id: str, reason: str | None, *, revision: str | None, now: datetime) -> Record:
        return await self._changed(id, revision, now, lambda record: invalidated(record, reason, now=now))

    async def delete(self, id: str, *, revision: str | None, now: datetime) -> None:
        await self._underway.whole(self._forgotten(id, revision))

    async def wait(self, operation_id: str, *, now: datetime) -> Observed:
        return await extraction.awaited(
            self._memories, operation_id, now=now, pause=self._poll, sleep=self._sleep
        )

    async def scan(self, cursor: str | None, limit: int, *, now: datetime) -> Page:
        return await hosting.scanned(self._memories, cursor, limit)

    async def restore(self, records: Sequence[Record], *, now: datetime) -> Restored:
        return await self._underway.whole(self._restored(records))

    async def stats(self, scope: Scope | None, *, by_scope: bool, now: datetime) -> Stats:
        return await hosting.statistics(self._memories, scope, by_scope=by_scope, now=now)

    async def purge(self, scope: Scope, *, exact: bool, now: datetime) -> int:
        return await self._underway.whole(self._purged(scope))

    async def reembed(self, progress: Progress | None = None) -> int:
        self.capabilities.require("semantic", operation="reembed")
        done = await self._gateway.reembed(progress)
        if done is not None:
            return done
        return await hosting.reembedded(self._memories, self._locks, progress)

    async def ping(self) -> None:
        await self._gateway.ping()

    async def aclose(self) -> None:
        try:
            await self._underway.ended()
        finally:
            await self._gateway.aclose()

    def translate(self, error: Exception) -> HubError | None:
        return translate(error)

    @asynccontextmanager
    async def _changing(self, id: str) -> AsyncIterator[None]:
        """Hold the lock of the scope that a record is in. NotFound, before any I/O, for an id of others."""
        locator = Locator.parse(id)
        if locator is None:
            raise NotFound(f"no record {id!r}")
        async with self._locks.holding(locator.place):
            yield

    async def _stored(self, write: Write, mark: str | None = None) -> Observed:
        if write.turns:
            return await extraction.extraction(self._memories, write, mark)
        if write.facts[0].supersedes is None:
            return await writing.fact(self._memories, write, mark)
        return await self._underway.whole(self._corrected(write, mark))

    async def _stored_once(self, write: Write, ledger: Ledger) -> Observed:
        async with self._locks.holding(_keys(write.scope)):
            return await observed_once(ledger, self._memories, write, partial(self._stored, write))

    async def _corrected(self, write: Write, mark: str | None) -> Observed:
        async with self._locks.holding(place_of(user_of(write.scope))):
            return await writing.correction(self._memories, write, mark)

    async def _changed(
        self, id: str, revision: str | None, now: datetime, step: Callable[[Record], Record]
    ) -> Record:
        async def work() -> Record:
            async with self._changing(id):
                return await changing.changed(self._memories, id, revision, now, step)

        # Whole, so that the lock is held until the service has answered.
        return await self._underway.whole(work())

    async def _purged(self, scope: Scope) -> int:
        ledger = self._gateway.ledger
        if ledger is None:
            return await hosting.purged(self._memories, scope)
        async with self._locks.holding(_keys(scope)):
            count = await hosting.purged(self._memories, scope)
            await ledger.forget(user_of(scope))
        return count

    async def _forgotten(self, id: str, revision: str | None) -> None:
        async with self._changing(id):
            await changing.forgotten(self._memories, id, revision)

    async def _restored(self, records: Sequence[Record]) -> Restored:
        places = sorted({place_of(user_of(record.scope)) for record in records})
        async with AsyncExitStack() as locks:
            for place in places:
                await locks.enter_async_context(self._locks.holding(place))
            return await hosting.restored(self._memories, records)


def _keys(scope: Scope) -> str:
    """The lock of a scope's idempotency keys."""
    return f"{user_of(scope)} keys"
