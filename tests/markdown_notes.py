"""A tree of notes in a test: a store over it, a clock to move, and short ways to write and read."""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from memhub import Fact, MemoryStore, Observation, Query, Record, Scope
from memhub_adapters.markdown import MarkdownAdapter

HOME = Scope("home")
START = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)


class Notes:
    """`root` is the tree; `now` the store's present. Files written here are an hour old, minute by minute."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.now = START
        self._written = 0

    @asynccontextmanager
    async def open(self, **options: Any) -> AsyncIterator[MemoryStore]:
        adapter = MarkdownAdapter(self.root, **options)
        async with MemoryStore(adapter, clock=lambda: self.now) as store:
            yield store

    def write(self, name: str, text: str | bytes) -> Path:
        """A file as a person saves it, at a time of its own."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        self._written += 1
        moment = START - timedelta(hours=1) + timedelta(minutes=self._written)
        os.utime(path, (moment.timestamp(), moment.timestamp()))
        return path

    def edit(self, path: Path, old: str, new: str) -> None:
        text = path.read_bytes().decode()
        assert old in text
        self.write(str(path.relative_to(self.root)), text.replace(old, new))

    def files(self) -> list[Path]:
        return sorted(path for path in self.root.rglob("*.md") if ".memhub" not in path.parts)

    def file(self) -> Path:
        (path,) = self.files()
        return path


async def keep(store: MemoryStore, content: str, scope: Scope = HOME, **fields: Any) -> Record:
    """One fact."""
    return (await store.observe(Observation(scope, facts=[Fact(content, **fields)]))).records[0]


async def listed(store: MemoryStore, scope: Scope = HOME, **query: Any) -> list[Record]:
    """What a scope lists, newest first."""
    return [hit.record for hit in (await store.recall(Query(scope, limit=1000, **query))).hits]


async def contents(store: MemoryStore, scope: Scope = HOME, **query: Any) -> list[str]:
    """The contents of what a scope lists, sorted."""
    return sorted(record.content for record in await listed(store, scope, **query))


async def the_one(store: MemoryStore, scope: Scope = HOME) -> Record:
    """The only record of a scope."""
    (record,) = await listed(store, scope)
    return record


def run(notes: Notes, *calls: Callable[[MemoryStore], Awaitable[None]]) -> None:
    """Each of the calls in a store that stays open through all of them; a second one sees the same."""

    async def go() -> None:
        async with notes.open() as store, notes.open() as other:
            for call in calls:
                await call(store)
                assert await contents(store) == await contents(other)
            assert await store.upkeep().check(deep=True) == []

    asyncio.run(go())
