"""Another process on the same tree, started by the tests as a program; it talks as `sqlite_child.py` does."""

import asyncio
import sys
from pathlib import Path

from memhub import Fact, HubError, MemoryStore, Observation, Query, Scope
from memhub_adapters.markdown import MarkdownAdapter
from memhub_adapters.markdown.lock import Lock
from sqlite_child import tell, wait

SCOPE = Scope("shared")


async def write(root: str, who: str, count: str) -> None:
    """`count` facts from four tasks, each found again as soon as it is stored."""
    async with MemoryStore(MarkdownAdapter(root), timeout=None) as store:
        wait(ready=who)

        async def some(first: int) -> None:
            for number in range(first, int(count), 4):
                fact = Fact(f"{who} wrote number {number}", tags=[f"{who}-{number}"])
                stored = (await store.observe(Observation(SCOPE, facts=[fact]))).records[0]
                found = await store.recall(Query(SCOPE, text=f"{who} {number}", tags=fact.tags, limit=3))
                assert [hit.record for hit in found.hits] == [stored]

        await asyncio.gather(*map(some, range(4)))
    tell(done=who)


async def keyed(root: str, key: str) -> None:
    """One observation under an idempotency key."""
    async with MemoryStore(MarkdownAdapter(root)) as store:
        wait(ready=True)
        done = await store.observe(Observation(SCOPE, facts=[Fact("said once")], idempotency_key=key))
        tell(id=done.records[0].id, replayed=done.replayed)


async def read(root: str, count: str) -> None:
    """Recall until told that all is written; every observation must show whole, `count` facts each."""
    async with MemoryStore(MarkdownAdapter(root), timeout=None) as store:
        wait(ready=True)
        seen = set()
        done = Path(root, "done")
        while not await asyncio.to_thread(done.exists):
            found = await store.recall(Query(SCOPE, limit=1000))
            groups = [hit.record.attributes["group"] for hit in found.hits]
            assert all(groups.count(group) == int(count) for group in set(groups)), groups
            seen |= set(groups)
    tell(seen=len(seen))


async def attempt(root: str) -> None:
    """Recall, and say what came of it."""
    wait(ready=True)
    async with MemoryStore(MarkdownAdapter(root)) as store:
        try:
            found = await store.recall(Query(SCOPE))
            tell(found=[hit.record.content for hit in found.hits])
        except HubError as error:
            tell(error=str(error))


def hold(root: str) -> None:
    """Hold the lock until told."""
    with Lock(Path(root, ".memhub/lock"), timeout=10).take():
        wait(holding=True)
    tell(released=True)


if __name__ == "__main__":
    done = globals()[sys.argv[1]](*sys.argv[2:])
    if asyncio.iscoroutine(done):
        asyncio.run(done)
