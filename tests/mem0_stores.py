"""Stores on Mem0's stand-ins, and short ways to write and read."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from memhub import Fact, MemoryStore, Observation, Query, Record, Retry, Scope
from memhub_adapters.http import Http
from memhub_adapters.mem0 import Mem0Adapter
from memhub_adapters.standins import Server
from memhub_adapters.standins.mem0_self_hosted import SelfHostedMem0

T = TypeVar("T")
KEY = "a-key-of-sixteen-letters"
ME, YOU = Scope("me"), Scope("you")
ONCE = Retry(attempts=1)


def run(adapter: Mem0Adapter, work: Callable[[MemoryStore], Awaitable[T]]) -> T:
    async def inside() -> T:
        async with MemoryStore(adapter, retry=ONCE) as store:
            return await work(store)

    return asyncio.run(inside())


def http(server: Server) -> Http:
    return Http(server.url, timeout=30)


async def kept(store: MemoryStore, *texts: str, scope: Scope = ME) -> list[Record]:
    return [(await store.observe(Observation(scope, facts=[Fact(text)]))).records[0] for text in texts]


async def listed(store: MemoryStore, scope: Scope = ME, **options: Any) -> list[str]:
    found = await store.recall(Query(scope, limit=1000, **options))
    return [hit.record.content for hit in found.hits]


@contextmanager
def self_hosting() -> Iterator[tuple[Server, SelfHostedMem0]]:
    mem0 = SelfHostedMem0(KEY)
    with Server(mem0) as server:
        yield server, mem0
