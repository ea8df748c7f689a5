"""Making SQLite stores, and looking into them."""

import asyncio
import hashlib
import sqlite3
from pathlib import Path

from child_talk import SCOPE
from memhub import Fact, MemoryStore, Observation, Query
from memhub_adapters.sqlite import SqliteAdapter
from memhub_adapters.sqlite.indexcheck import index_faults


def fact(content: str) -> Observation:
    return Observation(SCOPE, facts=[Fact(content)])


async def contents(store: MemoryStore) -> list[str]:
    found = await store.recall(Query(SCOPE, limit=1000))
    return sorted(hit.record.content[:20] for hit in found.hits)


def fill(path: Path, *texts: str) -> None:
    async def write() -> None:
        async with MemoryStore(SqliteAdapter(path)) as store:
            for text in texts:
                await store.observe(fact(text))

    asyncio.run(write())


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def assert_sound(path: Path) -> None:
    db = sqlite3.connect(path)
    try:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert index_faults(db) == []
    finally:
        db.close()


def stored(path: Path) -> list[str]:
    db = sqlite3.connect(path)
    try:
        return [content for (content,) in db.execute("SELECT content FROM record ORDER BY seq")]
    finally:
        db.close()


def cells(path: Path) -> bytes:
    """Everything that any table of the file holds, indexes of words included."""
    db = sqlite3.connect(path)
    db.text_factory = bytes
    try:
        names = [
            name.decode() for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        ]
        rows = (row for name in names for row in db.execute(f"SELECT * FROM {name}"))
        return b"\n".join(cell for row in rows for cell in row if isinstance(cell, bytes))
    finally:
        db.close()
