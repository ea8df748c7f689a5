"""The index is what its records demand, after any sequence of writes, and so is what it finds."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memhub import Fact, MemoryStore, Observation, Query, Scope
from memhub_adapters.in_memory import InMemoryAdapter
from memhub_adapters.postgres import PostgresAdapter, postings
from postgres_fixture import drop, dsn, empty, new_schema, sql
from test_sqlite_index import START, play, steps


@pytest.fixture
def schema() -> Iterator[str]:
    name = new_schema()
    yield name
    drop(name)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(steps, min_size=1, max_size=14))
def test_any_sequence_of_writes_leaves_the_index_true_and_the_answers_those_of_the_reference(
    schema, monkeypatch, script
):
    # So few that even short sequences move documents into the postings.
    monkeypatch.setattr(postings, "FRESH", 3)
    clock = [START]

    async def compare() -> None:
        adapter = PostgresAdapter(dsn(), schema=schema)
        await adapter.open()
        empty(schema)
        async with MemoryStore(adapter, clock=lambda: clock[0]) as store:
            found = await play(store, script, clock, monkeypatch)
            assert await store.upkeep().check(deep=True) == []
            await store.upkeep().reindex()
            assert await store.upkeep().check(deep=True) == []
        async with MemoryStore(InMemoryAdapter(), clock=lambda: clock[0]) as reference:
            assert found == await play(reference, script, clock, monkeypatch)

    asyncio.run(compare())


def test_a_damaged_index_is_found_and_a_reindex_mends_it(schema):
    async def go() -> None:
        async with MemoryStore(PostgresAdapter(dsn(), schema=schema)) as store:
            await store.observe(Observation(Scope("a"), facts=[Fact(f"green tea {n}") for n in range(40)]))
            await store.observe(Observation(Scope("b"), facts=[Fact("black tea")]))
            assert await store.upkeep().check(deep=True) == []
            sql(f"UPDATE {schema}.posting SET entries = '\\x000404' WHERE term = 'tea'")
            sql(f"DELETE FROM {schema}.posting WHERE term = 'green'")
            sql(f"UPDATE {schema}.scope SET length = length + 1 WHERE id = 1")
            sql(f"DELETE FROM {schema}.fresh")
            assert await store.upkeep().check() == []
            faults = await store.upkeep().check(deep=True)
            assert any("scope 1: postings" in fault for fault in faults)
            assert any("scope 1: its counts" in fault for fault in faults)
            assert any("scope 2: postings" in fault for fault in faults)
            assert await store.upkeep().reindex() == 41
            assert await store.upkeep().check(deep=True) == []
            assert len((await store.recall(Query(Scope("a"), text="green", limit=50))).hits) == 40

    asyncio.run(go())
