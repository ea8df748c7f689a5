"""What programs of the tests share that run as other processes, and how they talk.

One JSON object a line goes out; where a command waits, any line that comes in lets it go on.
"""

import asyncio
import json
import sys
from collections.abc import Mapping
from typing import Any

from memhub import Fact, MemoryStore, Observation, Query, Scope

SCOPE = Scope("shared")


def tell(**facts: object) -> None:
    sys.stdout.write(json.dumps(facts) + "\n")
    sys.stdout.flush()


def wait(**facts: object) -> None:
    """Say where this process stands, and go on when the test says so."""
    tell(**facts)
    sys.stdin.readline()


async def write_all(opened: MemoryStore, who: str, count: int) -> None:
    """`count` facts from four tasks, each found again as soon as it is stored."""
    async with opened as store:
        wait(ready=who)

        async def some(first: int) -> None:
            for number in range(first, count, 4):
                fact = Fact(f"{who} wrote number {number}", tags=[f"{who}-{number}"])
                stored = (await store.observe(Observation(SCOPE, facts=[fact]))).records[0]
                found = await store.recall(Query(SCOPE, text=f"{who} {number}", tags=fact.tags, limit=3))
                assert [hit.record for hit in found.hits] == [stored]

        await asyncio.gather(*map(some, range(4)))
    tell(done=who)


async def write_keyed(opened: MemoryStore, key: str) -> None:
    """One observation under an idempotency key."""
    async with opened as store:
        wait(ready=True)
        done = await store.observe(Observation(SCOPE, facts=[Fact("said once")], idempotency_key=key))
        tell(id=done.records[0].id, replayed=done.replayed)


def run(commands: Mapping[str, Any]) -> None:
    """Run the command that the process was started with."""
    done = commands[sys.argv[1]](*sys.argv[2:])
    if asyncio.iscoroutine(done):
        asyncio.run(done)
