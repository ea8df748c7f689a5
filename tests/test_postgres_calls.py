"""Calls on PostgreSQL: closed, cancelled, from several loops and threads, more than there are connections."""

import asyncio
import random
import threading
from collections import Counter
from collections.abc import Iterator

import psycopg
import pytest

from forks import assert_refused_after_a_fork
from memhub import (
    Closed,
    Fact,
    MemoryStore,
    Observation,
    Patch,
    Query,
    Retry,
    Scope,
    TimedOut,
    Turn,
    Unavailable,
)
from memhub_adapters.postgres import PostgresAdapter, search
from postgres_fixture import connections, drop, dsn, dsn_named, new_schema, sql, until

SCOPE = Scope("shared")


@pytest.fixture
def schema() -> Iterator[str]:
    name = new_schema()
    yield name
    drop(name)


def opened(schema: str, **options: object) -> PostgresAdapter:
    """An adapter whose connections the server lists under the name of its schema."""
    return PostgresAdapter(dsn_named(schema), schema=schema, **options)


def fact(content: str) -> Observation:
    return Observation(SCOPE, facts=[Fact(content)])


async def contents(store: MemoryStore) -> list[str]:
    return sorted(hit.record.content for hit in (await store.recall(Query(SCOPE, limit=1000))).hits)


# Opening and closing


def test_making_an_adapter_connects_to_nothing_and_closing_it_is_harmless(schema):
    adapter = PostgresAdapter("postgresql://nobody@127.0.0.1:1/nowhere")

    async def close() -> None:
        await adapter.aclose()
        await adapter.aclose()
        for call in (adapter.ping, adapter.open):
            with pytest.raises(Closed, match="the store is closed"):
                await call()

    asyncio.run(close())


def test_a_closed_store_leaves_no_connection_and_calls_in_flight_finish(schema):
    async def use() -> None:
        store = MemoryStore(opened(schema))
        await store.observe(fact("tea 0"))
        waiting = [asyncio.create_task(store.observe(fact(f"tea {n}"))) for n in range(1, 6)]
        await asyncio.sleep(0)
        await store.aclose()
        done = await asyncio.gather(*waiting, return_exceptions=True)
        assert all(not isinstance(one, Exception) or isinstance(one, Closed) for one in done)
        with pytest.raises(Closed, match="the store is closed"):
            await store.ping()

    asyncio.run(use())
    until(lambda: not connections(schema))


# Loops, threads, processes


def test_one_store_serves_three_threads_with_loops_of_their_own_and_loops_in_turn(schema):
    store = MemoryStore(opened(schema))

    async def use(who: str) -> None:
        for number in range(15):
            await store.observe(fact(f"{who} {number}"))
            found = await store.recall(Query(SCOPE, text=who, limit=1000))
            assert len(found.hits) == number + 1

    asyncio.run(use("z9"))
    threads = [threading.Thread(target=lambda who=who: asyncio.run(use(who))) for who in ("a1", "b2", "c3")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    asyncio.run(use("d4"))
    # The loops before have gone, and their connections with them.
    until(lambda: len(connections(schema)) == 1)
    asyncio.run(store.aclose())
    until(lambda: not connections(schema))


def test_a_store_in_use_is_refused_after_a_fork_and_the_parent_goes_on(schema):
    store = MemoryStore(opened(schema))
    asyncio.run(store.observe(fact("green tea")))

    assert_refused_after_a_fork(store, lambda: store.observe(fact("black tea")), lambda: contents(store))

    async def in_the_parent() -> None:
        await store.observe(fact("white tea"))
        assert await contents(store) == ["green tea", "white tea"]
        await store.aclose()

    asyncio.run(in_the_parent())


# One snapshot


def test_a_search_sees_one_moment_though_records_change_between_its_round_trips(schema, monkeypatch):
    asked = search._Seen.candidates

    async def late(seen, keys):
        sql(f"UPDATE {schema}.record SET content = 'changed' WHERE key = %s", keys[0])
        sql(f"DELETE FROM {schema}.record WHERE key = %s", keys[1])
        return await asked(seen, keys)

    async def use() -> None:
        async with MemoryStore(opened(schema)) as store:
            await store.observe(
                Observation(SCOPE, turns=[Turn("user", "green tea"), Turn("user", "black tea")])
            )
            await store.observe(fact("white tea"))
            monkeypatch.setattr(search._Seen, "candidates", late)
            hits = (await store.recall(Query(SCOPE, text="tea"))).hits
            assert {hit.record.content for hit in hits} == {"green tea", "black tea", "white tea"}

    asyncio.run(use())


def test_a_record_that_moves_to_another_scope_while_a_change_waits_is_found_there(schema):
    """As a purge and a restore do it: the scope's row is another, and with it the record's key."""

    async def use() -> None:
        async with MemoryStore(opened(schema)) as store:
            held = (await store.observe(fact("green tea"))).records[0]
            with psycopg.connect(dsn(), options=f"-c search_path={schema}") as mover:
                mover.execute("UPDATE scope SET id = DEFAULT")
                change = asyncio.create_task(store.update(held.id, Patch(content="oolong")))
                await reached(schema, "FOR UPDATE")
                mover.execute("UPDATE record SET scope = s.id, key = s.id::bigint << 32 FROM scope s")
                mover.execute("UPDATE fresh SET scope = s.id FROM scope s")
            assert (await change).content == "oolong"
            assert await contents(store) == ["oolong"]
            assert await store.upkeep().check(deep=True) == []

    asyncio.run(use())


# Cancelled calls


def test_a_call_cancelled_at_any_moment_is_applied_wholly_or_not_at_all(schema):
    seed = random.randrange(2**32)
    print(f"seed {seed}")  # noqa: T201 - shown with a failure
    chance = random.Random(seed)

    async def use() -> None:
        async with MemoryStore(opened(schema, pool_size=3)) as store:
            await store.observe(fact("green tea"))
            for number in range(120):
                said = [Turn("user", f"tea {number} of {part}") for part in range(3)]
                calls = [
                    asyncio.create_task(store.observe(Observation(SCOPE, turns=said))),
                    asyncio.create_task(store.recall(Query(SCOPE, text="tea"))),
                ]
                for _ in range(chance.randrange(80)):
                    await asyncio.sleep(0)
                for call in calls:
                    call.cancel()
                await asyncio.wait(calls)
            await store.observe(fact("white tea"))
            found = Counter(text.split()[1] for text in await contents(store) if " of " in text)
            assert set(found.values()) <= {3}
            assert await store.upkeep().check(deep=True) == []

    asyncio.run(use())


def test_a_cancelled_call_ends_on_the_server_too_and_its_connection_serves_again(schema):
    async def use() -> None:
        async with MemoryStore(opened(schema, pool_size=1)) as store:
            await store.observe(fact("green tea"))
            with psycopg.connect(dsn()) as holder:
                holder.execute(f"SELECT FROM {schema}.scope FOR UPDATE")
                call = asyncio.create_task(store.observe(fact("lost tea")))
                await reached(schema, "FOR UPDATE")
                call.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await call
                assert not waiting(schema)
            await store.observe(fact("white tea"))
            assert await contents(store) == ["green tea", "white tea"]

    asyncio.run(use())


def waiting(schema: str) -> list[tuple]:
    return sql(
        "SELECT query FROM pg_stat_activity WHERE application_name = %s AND wait_event_type = 'Lock'", schema
    )


async def reached(schema: str, text: str) -> None:
    """Go on once a call waits for a lock there."""
    await asyncio.to_thread(until, lambda: any(text in query for (query,) in waiting(schema)))


def test_thousands_of_cancelled_calls_leave_the_store_usable(schema):
    async def use() -> None:
        async with MemoryStore(opened(schema, pool_size=2)) as store:
            await store.observe(fact("green tea"))
            calls = [asyncio.create_task(store.observe(fact(f"lost {n}"))) for n in range(1_000)]
            calls += [asyncio.create_task(store.recall(Query(SCOPE, text="tea"))) for _ in range(1_000)]
            await asyncio.sleep(0)
            for call in calls:
                call.cancel()
            await asyncio.wait(calls)
            assert all(call.cancelled() for call in calls)
            await store.observe(fact("white tea"))
            assert await contents(store) == ["green tea", "white tea"]

    asyncio.run(use())


# More calls than connections, and calls that take too long


def test_more_calls_than_connections_wait_for_one_another(schema):
    async def use() -> None:
        async with MemoryStore(opened(schema, pool_size=2)) as store:
            await asyncio.gather(*(store.observe(fact(f"tea {n:02}")) for n in range(40)))
            assert await contents(store) == [f"tea {n:02}" for n in range(40)]

    asyncio.run(use())
    assert len(connections(schema)) <= 2


def test_writes_that_wait_for_one_scope_leave_connections_to_the_others(schema):
    async def use() -> None:
        async with MemoryStore(opened(schema, pool_size=2)) as store:
            await store.observe(fact("green tea"))
            with psycopg.connect(dsn()) as holder:
                holder.execute(f"SELECT FROM {schema}.scope FOR UPDATE")
                calls = [asyncio.create_task(store.observe(fact(f"tea {n}"))) for n in range(10)]
                await reached(schema, "FOR UPDATE")
                await store.observe(Observation(Scope("another"), facts=[Fact("violin")]))
                assert len(waiting(schema)) == 1
            await asyncio.gather(*calls)
            assert len(await contents(store)) == 11

    asyncio.run(use())


def test_an_exhausted_pool_says_so_and_heals(schema):
    async def use() -> None:
        adapter = opened(schema, pool_size=1, pool_timeout=0.01)
        async with MemoryStore(adapter, retry=Retry(attempts=1)) as store:
            await store.observe(fact("green tea"))
            with psycopg.connect(dsn()) as holder:
                holder.execute(f"SELECT FROM {schema}.scope FOR UPDATE")
                call = asyncio.create_task(store.observe(fact("black tea")))
                await reached(schema, "FOR UPDATE")
                with pytest.raises(Unavailable, match="all 1 connections are in use") as refused:
                    await store.ping()
                assert refused.value.retryable
                assert refused.value.unapplied
            await call
            assert await contents(store) == ["black tea", "green tea"]

    asyncio.run(use())


def test_the_server_ends_a_statement_that_takes_too_long_and_nothing_is_written(schema):
    async def use() -> None:
        hasty = MemoryStore(opened(schema, statement_timeout=0.2), retry=Retry(attempts=1))
        async with MemoryStore(opened(schema)) as store, hasty:
            await store.observe(fact("green tea"))
            with psycopg.connect(dsn()) as holder:
                holder.execute(f"SELECT FROM {schema}.scope FOR UPDATE")
                with pytest.raises(TimedOut, match="the server's statement_timeout ended it") as late:
                    await hasty.observe(fact("lost tea"))
                assert late.value.unapplied
            await store.observe(fact("white tea"))
            assert await contents(store) == ["green tea", "white tea"]

    asyncio.run(use())
