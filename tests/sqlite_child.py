"""Another process on the same file, started by the tests as a program; it talks as `child_talk.py` says."""

import os
import sqlite3
from collections.abc import Awaitable, Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from child_talk import SCOPE, run, tell, wait, write_all, write_keyed
from memhub import Fact, HubError, MemoryStore, Observation, Query
from memhub_adapters.sqlite import SqliteAdapter

NOBODY = 65534


async def write(path: str, who: str, count: str) -> None:
    await write_all(MemoryStore(SqliteAdapter(path)), who, int(count))


async def keyed(path: str, key: str) -> None:
    await write_keyed(MemoryStore(SqliteAdapter(path)), key)


async def attempt(path: str) -> None:
    """Recall, then write, and say what became of each."""
    wait(ready=True)
    recalled, observed = await attempts(path)
    tell(recall=recalled, observe=observed)


async def unprivileged(path: str) -> None:
    """The same as a user who owns nothing; once through before, since that user may import nothing."""
    with TemporaryDirectory() as folder:
        await attempts(f"{folder}/m.db")
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    await attempt(path)


async def attempts(path: str) -> tuple[list[str], list[str]]:
    async with MemoryStore(SqliteAdapter(path)) as store:
        recalled = await outcome(lambda: store.recall(Query(SCOPE)))
        fact = Fact("one more")
        return recalled, await outcome(lambda: store.observe(Observation(SCOPE, facts=[fact])))


async def outcome(call: Callable[[], Awaitable[object]]) -> list[str]:
    try:
        await call()
    except HubError as error:
        return [error.code, str(error)]
    return ["ok", ""]


def hold(path: str) -> None:
    """Hold the write lock until told."""
    _hold(path, "BEGIN IMMEDIATE")


def read(path: str) -> None:
    """Keep a snapshot open until told."""
    _hold(path, "BEGIN", "SELECT count(*) FROM record")


def connect(path: str) -> None:
    """Have the file open, and do nothing with it, until told."""
    _hold(path, "SELECT count(*) FROM record", "BEGIN")


def scribble(path: str) -> None:
    """Leave something in the log until told."""
    _hold(path, "INSERT INTO song VALUES('unfinished')", "BEGIN")


def _hold(path: str, *statements: str) -> None:
    db = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        db.execute(statement).fetchall()
    wait(holding=True)
    db.execute("ROLLBACK")
    db.close()
    tell(released=True)


async def forget(path: str, word: str) -> None:
    """Store a word and delete it, and say whether it is still held back; then wait."""
    async with MemoryStore(SqliteAdapter(path)) as store:
        stored = await store.observe(Observation(SCOPE, facts=[Fact(f"remember {word}")]))
        await store.delete(stored.records[0].id)
        wait(pending=(await store.stats()).erasure_pending)


def traces(path: str, *words: str) -> None:
    """Which of the words stand in which of the store's files.

    In a process of its own, since closing any handle of a file drops its process's locks on it.
    """
    files = [file for suffix in ("", "-wal", "-journal") if (file := Path(f"{path}{suffix}")).exists()]
    tell(found=[[file.name, word] for file in files for word in words if word.encode() in file.read_bytes()])


if __name__ == "__main__":
    run(globals())
