"""The adapter that keeps nothing holds to its short list of rules."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from memhub.conformance import AdapterConformance, Clock
from memhub_adapters.none import NoneAdapter


class TestNone(AdapterConformance):
    @asynccontextmanager
    async def open_adapter(self, clock: Clock) -> AsyncIterator[NoneAdapter]:
        adapter = NoneAdapter()
        yield adapter
        await adapter.aclose()
