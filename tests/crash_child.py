"""Processes that use a file until they are killed, started by the tests as a program.

The program itself only forks, once for each command that it reads, so that they start quickly.
Such a process first says its id. It says what it is about to do, and says so again once the call
has returned: `[worker, op]`, then `[worker]`. Given a number, it kills itself as it begins its SQL
statement of that number. When it has ended, its status follows: `["ended", status]`.
"""

import asyncio
import itertools
import json
import os
import random
import signal
import sqlite3
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from crash_model import WORKERS, State, after, content_of, name_of, rows_of, scope_of
from memhub import Fact, MemoryStore, Observation, Patch, Provenance, Query, Record, Turn
from memhub_adapters.sqlite import SqliteAdapter, file, schema


def tell(*said: object) -> None:
    os.write(1, json.dumps(said).encode() + b"\n")


def die_at(number: int) -> None:
    """Kill this process when it begins its SQL statement of this number."""
    left, connect = itertools.count(number - 1, -1), sqlite3.connect

    def trace(_: str) -> None:
        if next(left) == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def traced(*args: object, **options: object) -> sqlite3.Connection:
        db = connect(*args, **options)
        db.set_trace_callback(trace)
        return db

    sqlite3.connect = traced


class Worker:
    """Writes in a scope of its own, one call after another, chosen by a seed."""

    def __init__(self, store: MemoryStore, number: int, *, seed: str, turn: int) -> None:
        self.store = store
        self.number = number
        self.turn = turn
        self.chance = random.Random(f"{seed} {number}")
        self.scope = scope_of(number)
        self.names = (f"w{number}r{turn:04}n{n:04}" for n in itertools.count())
        self.ids: dict[str, str] = {}

    async def run(self) -> None:
        for turn in (self.turn - 1, self.turn):
            key = f"k{turn:04}"
            await self.do(["keyed", key, [f"w{self.number}{key}n{n:04}" for n in range(3)]])
        query = Query(self.scope, limit=1000, include_invalidated=True)
        found = [hit.record for hit in (await self.store.recall(query)).hits]
        self.know(found)
        state = State(rows_of(found))
        while True:
            op = self.choose(state)
            await self.do(op)
            state = after(state, op)

    async def do(self, op: list) -> None:
        tell(self.number, op)
        await getattr(self, op[0])(*op[1:])
        tell(self.number)

    def know(self, records: Iterable[Record]) -> None:
        self.ids |= {name_of(record): record.id for record in records}

    def choose(self, state: State) -> list:
        """A write that the contract allows in this state."""
        shown = [name for name, row in state.rows.items() if not row.hidden]
        heads = [name for name, row in state.rows.items() if row.superseded_by is None]
        pick = self.chance.choice
        verb = pick(("facts", "turns", "supersede", "supersede", "update", "invalidate", "delete", "delete"))
        if len(state.rows) > 150 or (state.rows and self.chance.random() < 0.01):
            return ["purge"]
        if verb == "supersede" and heads:
            return [verb, pick(heads), next(self.names)]
        if verb == "update" and shown:
            name = pick(shown)
            return [verb, name, state.rows[name].version + 1]
        if verb == "invalidate" and shown:
            return [verb, pick(shown)]
        if verb == "delete" and state.rows:
            return [verb, pick(list(state.rows))]
        return [pick(("facts", "turns")), [next(self.names) for _ in range(self.chance.randint(1, 8))]]

    async def facts(self, names: list[str], *, key: str | None = None, supersedes: str | None = None) -> None:
        facts = [
            Fact(content_of(name, 0), attributes={"name": name, "version": 0}, supersedes=supersedes)
            for name in names
        ]
        done = await self.store.observe(Observation(self.scope, facts=facts, idempotency_key=key))
        self.know(done.records)

    async def turns(self, names: list[str]) -> None:
        turns = [Turn("user", content_of(name, 0), attributes={"name": name, "version": 0}) for name in names]
        session = Provenance(conversation_id=self.chance.choice((None, "first", "second")))
        done = await self.store.observe(Observation(self.scope, turns=turns, provenance=session))
        self.know(done.records)

    async def keyed(self, key: str, names: list[str]) -> None:
        await self.facts(names, key=key)

    async def supersede(self, old: str, new: str) -> None:
        await self.facts([new], supersedes=self.ids[old])

    async def update(self, name: str, version: int) -> None:
        patch = Patch(content=content_of(name, version), set_attributes={"version": version})
        await self.store.update(self.ids[name], patch)

    async def invalidate(self, name: str) -> None:
        await self.store.invalidate(self.ids[name], "no longer so")

    async def delete(self, name: str) -> None:
        await self.store.delete(self.ids[name])

    async def purge(self) -> None:
        await self.store.purge(self.scope)


async def write(path: str, seed: str, turn: str) -> None:
    """Several workers at once, so that their writes share transactions."""
    async with MemoryStore(SqliteAdapter(path)) as store, asyncio.TaskGroup() as group:
        for number in range(WORKERS):
            group.create_task(Worker(store, number, seed=seed, turn=int(turn)).run())


async def open_once(path: str) -> None:
    """Make the file, and end like a process that goes away."""
    await SqliteAdapter(path).open()


async def migrate(path: str) -> None:
    """Open the file as a later version would, which adds a column and indexes everything anew."""
    later_version()
    await SqliteAdapter(path).open()


def later_version() -> None:
    schema._STEPS = (*schema._STEPS, _second_step)
    schema.VERSION = file.VERSION = len(schema._STEPS)
    file.fingerprint = lambda: "a later analyzer"


def _second_step(db: sqlite3.Connection) -> None:
    db.execute("ALTER TABLE record ADD COLUMN later TEXT")
    db.execute("UPDATE record SET later = content")
    db.execute("CREATE INDEX record_later ON record(later)")


def serve(verbs: Mapping[str, Any], die_at: Callable[[int], None]) -> None:
    for line in sys.stdin:
        verb, statement, *rest = json.loads(line)
        process = os.fork()
        if not process:
            tell(os.getpid())
            if statement:
                die_at(statement)
            asyncio.run(verbs[verb](*rest))
            os._exit(0)
        tell("ended", os.waitpid(process, 0)[1])


if __name__ == "__main__":
    serve(globals(), die_at)
