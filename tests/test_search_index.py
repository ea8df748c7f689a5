"""An index is what its records demand: the same as one made from them anew."""

import asyncio
from datetime import datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from memhub import MemoryStore
from memhub_adapters.in_memory import InMemoryAdapter
from test_sqlite_index import START, everything, steps, take


@settings(max_examples=60)
@given(st.lists(steps, max_size=25))
def test_any_history_is_found_as_its_records_restored_into_a_fresh_store(script: list[tuple]) -> None:
    clock = [START]

    def now() -> datetime:
        return clock[0]

    async def run() -> None:
        lived, fresh = InMemoryAdapter(), InMemoryAdapter()
        async with MemoryStore(lived, clock=now) as one, MemoryStore(fresh, clock=now) as other:
            for step in script:
                clock[0] += timedelta(minutes=1)
                await take(one, step, clock[0])
            kept = (await one.scan()).records
            await other.restore(kept)
            assert (await other.scan()).records == kept
            assert await everything(other, clock[0]) == await everything(one, clock[0])

    asyncio.run(run())
