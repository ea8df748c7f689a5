"""As `crash_child.py`, for the Markdown adapter: a process may be killed as it begins some step on its disk."""

import asyncio
import itertools
import os
import signal
import sqlite3

from crash_child import Worker, serve
from crash_model import WORKERS
from memhub import MemoryStore
from memhub_adapters.markdown import MarkdownAdapter

STEPS = ("open", "write", "pwrite", "fsync", "replace", "unlink", "mkdir", "rmdir", "ftruncate")


def die_at(number: int) -> None:
    """Kill this process when it begins its step of this number: one on a file, or a commit of the index."""
    left = itertools.count(number - 1, -1)

    def step() -> None:
        if next(left) == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    for name in STEPS:
        setattr(os, name, _stepping(getattr(os, name), step))
    connect = sqlite3.connect

    def traced(*args: object, **options: object) -> sqlite3.Connection:
        db = connect(*args, **options)
        db.set_trace_callback(lambda sql: step() if sql.startswith("COMMIT") else None)
        return db

    sqlite3.connect = traced


def _stepping(work, step):
    def stepping(*args, **options):
        step()
        return work(*args, **options)

    return stepping


async def write(root: str, seed: str, turn: str) -> None:
    """Several workers at once, so that their writes share a journal."""
    async with MemoryStore(MarkdownAdapter(root)) as store, asyncio.TaskGroup() as group:
        for number in range(WORKERS):
            group.create_task(Worker(store, number, seed=seed, turn=int(turn)).run())


if __name__ == "__main__":
    serve(globals(), die_at)
