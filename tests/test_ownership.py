"""Who closes an adapter: the store that owns it, and nobody else."""

import asyncio

import pytest

from fakes import Faulty
from memhub import Closed, MemoryStore


@pytest.mark.parametrize(("owns", "closes"), [(True, 1), (False, 0)])
def test_a_store_closes_only_the_adapter_that_it_owns(owns, closes):
    adapter = Faulty()
    store = MemoryStore(adapter, owns_adapter=owns)

    async def close_twice():
        await store.aclose()
        await store.aclose()
        with pytest.raises(Closed):
            await store.ping()

    asyncio.run(close_twice())
    assert adapter.closed == closes
