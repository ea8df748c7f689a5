"""A migration in another process, which stops before and after every write until it is told to go on."""

import asyncio
import json
import sys
from dataclasses import replace
from pathlib import Path

from memhub import MemoryStore, Observed, Restored
from memhub.migration import checkpoint, migrate, sources
from memhub_adapters.sqlite import SqliteAdapter
from memhub_adapters.sqlite.adapter import CAPABILITIES


def stop(**facts: object) -> None:
    """Say where this process stands, and go on when the test says so."""
    sys.stdout.write(json.dumps(facts) + "\n")
    sys.stdout.flush()
    sys.stdin.readline()


class Stopping(SqliteAdapter):
    """Stops around every write."""

    async def restore(self, records, *, now) -> Restored:
        stop(at="before restore")
        done = await super().restore(records, now=now)
        stop(at="after restore")
        return done

    async def observe(self, write) -> Observed:
        stop(at="before observe")
        done = await super().observe(write)
        stop(at="after observe")
        return done


class Observing(Stopping):
    """Gives new ids, and cannot tell a repeat."""

    capabilities = replace(CAPABILITIES, restore=False, idempotency=False)


class Keyed(Stopping):
    """Gives new ids, and knows a key that it has seen."""

    capabilities = replace(CAPABILITIES, restore=False)


class StoppingCheckpoint(checkpoint.Checkpoint):
    """Stops once a page is noted."""

    def advance(self, ids, lap, state) -> None:
        super().advance(ids, lap, state)
        stop(at="noted", lap=lap)


async def run(kind: str, source: str, target: str, notes: str) -> None:
    sources.PAGE = 4
    adapter = {"restore": Stopping, "observe": Observing, "keyed": Keyed}[kind](target)
    old, new = MemoryStore(SqliteAdapter(source), name="old"), MemoryStore(adapter, name="new", timeout=None)
    names: dict[str, str] = {}
    async with old, new:
        done = await migrate(old, new, accept_loss=True, checkpoint=Path(notes), on_moved=names.__setitem__)
    stop(done=done.moved, names=names)


if __name__ == "__main__":
    sys.modules["memhub.migration"].Checkpoint = StoppingCheckpoint
    asyncio.run(run(*sys.argv[1:]))
