"""The in-memory adapter keeps every promise of the contract."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from memhub.conformance import AdapterConformance, Clock
from memhub_adapters.in_memory import InMemoryAdapter


class TestInMemory(AdapterConformance):
    @asynccontextmanager
    async def open_adapter(self, clock: Clock) -> AsyncIterator[InMemoryAdapter]:
        adapter = InMemoryAdapter()
        yield adapter
        await adapter.aclose()
