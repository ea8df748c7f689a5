"""A process killed at any moment among its files: what it acknowledged is there, the rest wholly or not at all."""

import asyncio
import random
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from crash_model import WORKERS, scope_of
from crash_nursery import Ledger, Nursery
from memhub import MemoryStore, Query, Record
from memhub_adapters.markdown import MarkdownAdapter

PROGRAM = Path(__file__).with_name("markdown_crash_child.py")
ROUNDS_A_TREE = 5


@pytest.fixture
def nursery() -> Iterator[Nursery]:
    made = Nursery(PROGRAM)
    yield made
    made.close()


def kill_while_writing(
    nursery: Nursery, root: Path, turn: int, chance: random.Random, ledger: Ledger
) -> None:
    """Kill a writer as it begins some step, or when it has acknowledged so much and a little later."""
    step = chance.choice((0, chance.randrange(1, 60), chance.randrange(1, 1_000)))
    left = chance.randrange(1, 20)
    for said in nursery.run("write", root, chance.random(), turn, statement=step):
        if said[0] == "ended":
            assert said[1] == signal.SIGKILL
            return
        ledger.hear(*said)
        acknowledged = len(said) == 1
        left -= acknowledged
        if acknowledged and left == 0 and not step:
            for _ in range(chance.randrange(100_000)):
                pass
            nursery.kill()


async def listed(store: MemoryStore) -> list[Record]:
    """Every record, as a reader finds it, who looks at one scope after another."""
    queries = [Query(scope_of(n), exact=True, include_invalidated=True, limit=1000) for n in range(WORKERS)]
    return [hit.record for query in queries for hit in (await store.recall(query)).hits]


async def survived(root: Path) -> list[Record]:
    """What a reader finds, checked against the files alone."""
    async with MemoryStore(MarkdownAdapter(root)) as store:
        records = await listed(store)
        assert await store.upkeep().check(deep=True) == []
        assert list((root / ".memhub").glob("journal/*")) == []
        for file in (root / ".memhub").glob("index.db*"):
            file.unlink()
        assert sorted(await listed(store), key=_id) == sorted(records, key=_id)
    return records


def _id(record: Record) -> str:
    return record.id


def crash(nursery: Nursery, folder: Path, rounds: int) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")  # noqa: T201 - shown with a failure
    chance = random.Random(seed)
    for turn in range(1, rounds + 1):
        if turn % ROUNDS_A_TREE == 1:
            root, ledger = folder / str(turn), Ledger()
        kill_while_writing(nursery, root, turn, chance, ledger)
        ledger.compare(asyncio.run(survived(root)))


def test_a_writer_killed_at_any_moment_loses_nothing_and_leaves_nothing_half_done(nursery, tmp_path):
    crash(nursery, tmp_path, 20)


@pytest.mark.torture
def test_five_hundred_writers_killed_lose_nothing(nursery, tmp_path):
    crash(nursery, tmp_path, 500)
