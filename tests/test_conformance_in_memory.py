"""The in-memory adapter keeps every promise of the contract."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from in_memory_hooks import opened_again, traces
from memhub.conformance import AdapterConformance, Clock
from memhub_adapters.in_memory import InMemoryAdapter


class TestInMemory(AdapterConformance):
    @asynccontextmanager
    async def open_adapter(self, clock: Clock) -> AsyncIterator[InMemoryAdapter]:
        adapter = InMemoryAdapter()
        yield adapter
        await adapter.aclose()

    def open_again(
        self, adapter: InMemoryAdapter, clock: Clock
    ) -> AbstractAsyncContextManager[InMemoryAdapter]:
        return opened_again(adapter)

    async def leftovers(self, adapter: InMemoryAdapter, text: str) -> int:
        return await traces(adapter, text)
