"""Several processes on one schema, while its server restarts: nothing lost, nothing doubled."""

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from child_talk import SCOPE
from children import Child, start_together
from memhub import MemoryStore
from memhub_adapters.postgres import PostgresAdapter
from postgres_fixture import drop, dsn, new_schema, sql
from postgres_server import Server

PROGRAM = Path(__file__).with_name("postgres_child.py")
PROCESSES = 4


@pytest.fixture
def schema() -> Iterator[str]:
    name = new_schema()
    yield name
    drop(name)


@pytest.fixture
def own_server() -> Iterator[Server]:
    server = Server()
    yield server
    server.remove()


def write_through_restarts(server: Server, writes: int, restarts: int) -> None:
    with ExitStack() as stack:
        children = [
            stack.enter_context(Child("write", server.dsn, "shared", f"process{n}", writes, program=PROGRAM))
            for n in range(PROCESSES)
        ]
        start_together(children)
        for number in range(writes):
            for child in children:
                assert child.hear() == {"done": number}
            if number % (writes // restarts) == 0:
                server.restart()
        for child in children:
            child.end()


def assert_all_is_there_once(server: Server, writes: int) -> None:
    expected = [
        f"process{n} said number{number}" for n in range(PROCESSES) for number in range(writes) if number % 5
    ]
    found = sql("SELECT content FROM shared.record", to=server.dsn)
    assert sorted(content for (content,) in found) == sorted(expected)

    async def check() -> None:
        async with MemoryStore(PostgresAdapter(server.dsn, schema="shared")) as store:
            assert await store.upkeep().check(deep=True) == []
            assert await store.purge(SCOPE) == len(expected)

    asyncio.run(check())


def test_four_processes_write_and_recall_through_restarts_and_all_is_there_once(own_server):
    write_through_restarts(own_server, writes=20, restarts=2)
    assert_all_is_there_once(own_server, writes=20)


@pytest.mark.torture
def test_four_processes_write_two_hundred_each_through_ten_restarts(own_server):
    write_through_restarts(own_server, writes=200, restarts=10)
    assert_all_is_there_once(own_server, writes=200)


def test_an_idempotency_key_used_by_several_processes_at_once_gives_one_record(schema):
    with ExitStack() as stack:
        children = [
            stack.enter_context(Child("keyed", dsn(), schema, "k", program=PROGRAM)) for _ in range(4)
        ]
        start_together(children)
        said = [child.hear() for child in children]
    assert len({one["id"] for one in said}) == 1
    assert sorted(one["replayed"] for one in said) == [False, True, True, True]
    assert sql(f"SELECT content FROM {schema}.record") == [("said once",)]
