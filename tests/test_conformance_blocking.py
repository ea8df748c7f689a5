"""The blocking face keeps every promise that the async one does, over both embedded adapters."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from in_memory_hooks import opened_again, traces
from memhub import MemoryStore
from memhub.adapter import Adapter
from memhub.blocking import BlockingMemoryStore
from memhub.conformance import AdapterConformance, Clock
from memhub.records import Observation, Observed, Page, Patch, Query, Recalled, Record, Restored, Stats
from memhub.scope import Scope
from memhub_adapters.in_memory import InMemoryAdapter
from memhub_adapters.sqlite import SqliteAdapter


class Blocked(MemoryStore):
    """A MemoryStore each verb of which is the blocking one, called on a thread."""

    def __init__(self, adapter: Adapter, /, *, name: str, clock: Callable[[], Any]) -> None:
        super().__init__(adapter, name=name, clock=clock)
        self.blocking = BlockingMemoryStore(MemoryStore(adapter, name=name, clock=clock))

    def subscribe(self, observer: Any, **options: Any) -> Callable[[], None]:
        return self.blocking.subscribe(observer, **options)

    async def observe(self, observation: Observation) -> Observed:
        return await asyncio.to_thread(self.blocking.observe, observation)

    async def recall(self, query: Query) -> Recalled:
        return await asyncio.to_thread(self.blocking.recall, query)

    async def get(self, id: Any) -> Any:
        return await asyncio.to_thread(self.blocking.get, id)

    async def update(self, id: str, patch: Patch, *, revision: str | None = None) -> Record:
        return await asyncio.to_thread(self.blocking.update, id, patch, revision=revision)

    async def invalidate(self, id: str, reason: str | None = None, *, revision: str | None = None) -> Record:
        return await asyncio.to_thread(self.blocking.invalidate, id, reason, revision=revision)

    async def delete(self, id: str, *, revision: str | None = None) -> None:
        return await asyncio.to_thread(self.blocking.delete, id, revision=revision)

    async def wait(self, operation_id: str, **options: Any) -> Observed:
        return await asyncio.to_thread(self.blocking.wait, operation_id, **options)

    async def scan(self, *page: Any) -> Page:
        return await asyncio.to_thread(self.blocking.scan, *page)

    async def restore(self, records: Sequence[Record]) -> Restored:
        return await asyncio.to_thread(self.blocking.restore, records)

    async def stats(self, scope: Scope | None = None, *, by_scope: bool = False) -> Stats:
        return await asyncio.to_thread(self.blocking.stats, scope, by_scope=by_scope)

    async def purge(self, scope: Scope, *, exact: bool = False) -> int:
        return await asyncio.to_thread(self.blocking.purge, scope, exact=exact)

    async def sweep(self) -> int:
        return await asyncio.to_thread(self.blocking.sweep)

    async def reembed(self, **options: Any) -> int:
        return await asyncio.to_thread(self.blocking.reembed, **options)

    async def ping(self) -> None:
        return await asyncio.to_thread(self.blocking.ping)

    async def aclose(self) -> None:
        return await asyncio.to_thread(self.blocking.close)


class TestInMemoryBlocking(AdapterConformance):
    make_store = Blocked

    @asynccontextmanager
    async def open_adapter(self, clock: Clock) -> AsyncIterator[InMemoryAdapter]:
        yield InMemoryAdapter()

    def open_again(
        self, adapter: InMemoryAdapter, clock: Clock
    ) -> AbstractAsyncContextManager[InMemoryAdapter]:
        return opened_again(adapter)

    async def leftovers(self, adapter: InMemoryAdapter, text: str) -> int:
        return await traces(adapter, text)


class TestSqliteBlocking(AdapterConformance):
    make_store = Blocked
    path: Path

    @pytest.fixture(autouse=True)
    def _in_a_folder_of_its_own(self, tmp_path: Path) -> None:
        self.path = tmp_path / "memory.db"

    @asynccontextmanager
    async def open_adapter(self, clock: Clock) -> AsyncIterator[SqliteAdapter]:
        adapter = SqliteAdapter(self.path)
        try:
            yield adapter
        finally:
            await adapter.aclose()

    def open_again(self, adapter: SqliteAdapter, clock: Clock) -> AbstractAsyncContextManager[SqliteAdapter]:
        return self.open_adapter(clock)


def test_every_verb_goes_through_the_blocking_face() -> None:
    verbs = {name for name in dir(MemoryStore) if asyncio.iscoroutinefunction(getattr(MemoryStore, name))}
    public = {name for name in verbs if not name.startswith("_")}
    assert public <= vars(Blocked).keys()
