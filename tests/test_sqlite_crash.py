"""A process killed at any moment: what it acknowledged is there, the rest wholly or not at all."""

import asyncio
import itertools
import json
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from crash_model import EMPTY, WORKERS, Op, State, after, rows_of, scope_of
from memhub import MemoryStore, Record
from memhub_adapters.sqlite import SqliteAdapter
from sqlite_files import assert_sound, cells, fill, stored

PROGRAM = Path(__file__).with_name("crash_child.py")
ROUNDS_A_FILE = 10
NAME = re.compile(rb"w\d[rk]\d{4}n\d{4}")


class Ledger:
    """What the killed processes said: per worker, what is acknowledged, and what was under way."""

    def __init__(self) -> None:
        self.states: list[State] = [EMPTY] * WORKERS
        self.pending: dict[int, Op] = {}

    def hear(self, worker: int, op: Op | None = None) -> None:
        if op is not None:
            self.pending[worker] = op
        else:
            self.states[worker] = after(self.states[worker], self.pending.pop(worker))

    def compare(self, records: list[Record]) -> None:
        """Raise unless every scope is as acknowledged, with its unfinished write or without."""
        found = [[r for r in records if r.scope == scope_of(worker)] for worker in range(WORKERS)]
        assert sum(map(len, found)) == len(records)
        for worker, mine in enumerate(found):
            rows, before = rows_of(mine), self.states[worker]
            op = self.pending.pop(worker, None)
            possible = [before] if op is None else [before, after(before, op)]
            assert rows in [state.rows for state in possible], (worker, op)
            self.states[worker] = next(state for state in possible if state.rows == rows)

    def names(self) -> set[bytes]:
        return {name.encode() for state in self.states for name in state.rows}


class Nursery:
    """Starts processes that are to be killed, one at a time."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.current = 0

    def run(self, verb: str, *rest: object, statement: int = 0) -> Iterator[list]:
        """What one process says, then how it ended; what it said before it was killed is not lost."""
        self._process.stdin.write(json.dumps([verb, statement, *map(str, rest)]) + "\n")
        self._process.stdin.flush()
        (self.current,) = self._hear()
        while (said := self._hear())[0] != "ended":
            yield said
        yield said

    def outcome(self, verb: str, *rest: object, statement: int) -> int:
        """How a process ended that says nothing: by itself, or killed at the statement."""
        ((_, status),) = self.run(verb, *rest, statement=statement)
        assert status in (0, signal.SIGKILL)
        return status

    def kill(self) -> None:
        os.kill(self.current, signal.SIGKILL)

    def close(self) -> None:
        self._process.stdin.close()
        self._process.stdout.close()
        assert self._process.wait() == 0

    def _hear(self) -> list:
        return json.loads(self._process.stdout.readline())


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
