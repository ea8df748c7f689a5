"""Another process on the same tree, started by the tests as a program; it talks as `child_talk.py` says."""

import asyncio
from pathlib import Path

from child_talk import SCOPE, run, tell, wait, write_all, write_keyed
from memhub import HubError, MemoryStore, Query
from memhub_adapters.markdown import MarkdownAdapter
from memhub_adapters.markdown.lock import Lock


async def write(root: str, who: str, count: str) -> None:
    await write_all(MemoryStore(MarkdownAdapter(root), timeout=None), who, int(count))


async def keyed(root: str, key: str) -> None:
    await write_keyed(MemoryStore(MarkdownAdapter(root)), key)


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
    run(globals())
