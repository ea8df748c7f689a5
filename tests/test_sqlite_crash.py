"""A process killed at any moment: what it acknowledged is there, the rest wholly or not at all."""

import asyncio
import itertools
import random
import re
import shutil
import signal
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from crash_nursery import Ledger, Nursery
from memhub import MemoryStore, Record
from memhub_adapters.sqlite import SqliteAdapter
from sqlite_files import assert_sound, cells, fill, stored

ROUNDS_A_FILE = 10
NAME = re.compile(rb"w\d[rk]\d{4}n\d{4}")


@pytest.fixture
def nursery() -> Iterator[Nursery]:
    made = Nursery()
    yield made
    made.close()


def kill_while_writing(
    nursery: Nursery, path: Path, turn: int, chance: random.Random, ledger: Ledger
) -> None:
    """Kill a writer as it begins some statement, or when it has acknowledged so much and a little later."""
    statement = chance.choice((0, 0, chance.randrange(1, 60), chance.randrange(1, 4_000)))
    left = chance.choice((1, chance.randrange(1, 10), chance.randrange(1, 150)))
    for said in nursery.run("write", path, chance.random(), turn, statement=statement):
        if said[0] == "ended":
            assert said[1] == signal.SIGKILL
            return
        ledger.hear(*said)
        acknowledged = len(said) == 1
        left -= acknowledged
        if acknowledged and left == 0 and not statement:
            for _ in range(chance.randrange(100_000)):
                pass
            nursery.kill()


async def everything(path: Path) -> list[Record]:
    records, cursor = [], None
    async with MemoryStore(SqliteAdapter(path)) as store:
        while True:
            page = await store.scan(cursor)
            records += page.records
            cursor = page.cursor
            if cursor is None:
                return records


def columns(path: Path) -> tuple[int, bool]:
    """The file's version, and whether it has what the later version adds."""
    db = sqlite3.connect(path)
    try:
        names = [row[1] for row in db.execute("PRAGMA table_info(record)")]
        return db.execute("PRAGMA user_version").fetchone()[0], "later" in names
    finally:
        db.close()


def crash(nursery: Nursery, folder: Path, rounds: int) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")  # noqa: T201 - shown with a failure
    chance = random.Random(seed)
    for turn in range(1, rounds + 1):
        if turn % ROUNDS_A_FILE == 1:
            path, ledger = folder / f"{turn}.db", Ledger()
        kill_while_writing(nursery, path, turn, chance, ledger)
        ledger.compare(asyncio.run(everything(path)))
        assert_sound(path)
        assert set(NAME.findall(cells(path))) <= ledger.names()


def test_a_writer_killed_at_any_moment_loses_nothing_and_leaves_nothing_half_done(nursery, tmp_path):
    crash(nursery, tmp_path, 50)


@pytest.mark.torture
def test_a_thousand_writers_killed_lose_nothing(nursery, tmp_path):
    crash(nursery, tmp_path, 1_000)


def test_a_new_file_whose_making_was_killed_at_any_statement_opens_empty(nursery, tmp_path):
    for statement in itertools.count(1):
        path = tmp_path / f"{statement}.db"
        status = nursery.outcome("open_once", path, statement=statement)
        assert asyncio.run(everything(path)) == []
        assert_sound(path)
        if status == 0:
            assert statement > 20
            return


def test_a_migration_killed_at_any_statement_has_happened_wholly_or_not_at_all(nursery, tmp_path):
    made = tmp_path / "made.db"
    fill(made, *(f"tea number {n}" for n in range(3)))
    for statement in itertools.count(1):
        path = tmp_path / f"{statement}.db"
        shutil.copy(made, path)
        status = nursery.outcome("migrate", path, statement=statement)
        assert_sound(path)
        assert stored(path) == stored(made)
        assert columns(path) in ((1, False), (2, True))
        if status == 0:
            assert columns(path) == (2, True)
            assert statement > 20
            return
