"""Calls that are cancelled, that outlive their loop or meet a closed store; threads, loops, forks."""

import asyncio
import random
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from child_talk import SCOPE
from forks import assert_refused_after_a_fork
from memhub import Closed, Fact, MemoryStore, Observation, Query
from memhub_adapters.sqlite import SqliteAdapter
from sqlite_files import assert_sound, contents, fact, fill, stored


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "m.db"


@contextmanager
def locked(path: Path) -> Iterator[sqlite3.Connection]:
    """The write lock, held until the block ends or the connection rolls back."""
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("BEGIN IMMEDIATE")
    try:
        yield db
    finally:
        db.close()


def test_closing_twice_or_unused_is_harmless_and_use_after_it_is_closed(path):
    async def use() -> None:
        adapter = SqliteAdapter(path)
        await adapter.aclose()
        await adapter.aclose()
        assert not path.exists()
        for call in (adapter.ping, adapter.open):
            with pytest.raises(Closed, match="the store is closed"):
                await call()
        store = MemoryStore(SqliteAdapter(path))
        await store.observe(fact("green tea"))
        await asyncio.gather(store.aclose(), store.aclose())
        for call in (lambda: store.observe(fact("black tea")), lambda: contents(store), store.ping):
            with pytest.raises(Closed, match="the store is closed"):
                await call()

    asyncio.run(use())
    assert stored(path) == ["green tea"]


def test_closing_finishes_what_is_queued(path):
    async def use() -> None:
        store = MemoryStore(SqliteAdapter(path))
        await store.observe(fact("tea 0"))
        with locked(path) as lock:
            waiting = [asyncio.create_task(store.observe(fact(f"tea {n}"))) for n in range(1, 20)]
            await asyncio.sleep(0)
            closing = asyncio.create_task(store.aclose())
            await asyncio.sleep(0)
            lock.execute("ROLLBACK")
            await closing
        await asyncio.gather(*waiting)

    asyncio.run(use())
    assert stored(path) == [f"tea {n}" for n in range(20)]


def test_a_store_closed_by_one_thread_answers_every_call_of_the_others(path):
    fill(path, "green tea")
    adapter = SqliteAdapter(path)
    done: list[int] = []

    async def until_closed() -> None:
        count = 0
        try:
            while True:
                await adapter.ping()
                await adapter._writer.run(lambda _: None)
                count += 1
        except Closed:
            done.append(count)

    threads = [threading.Thread(target=lambda: asyncio.run(until_closed()), daemon=True) for _ in range(4)]
    for thread in threads:
        thread.start()
    asyncio.run(adapter.aclose())
    for thread in threads:
        thread.join(60)
    assert len(done) == 4


def test_a_call_cancelled_while_it_waits_is_never_applied(path):
    async def use() -> None:
        async with MemoryStore(SqliteAdapter(path)) as store:
            await store.observe(fact("green tea"))
            with locked(path) as lock:
                first = asyncio.create_task(store.observe(fact("black tea")))
                second = asyncio.create_task(store.observe(fact("lost tea")))
                await asyncio.sleep(0)
                second.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await second
                lock.execute("ROLLBACK")
                await first
            await store.observe(fact("white tea"))

    asyncio.run(use())
    assert stored(path) == ["green tea", "black tea", "white tea"]


def test_a_call_cancelled_at_any_moment_is_applied_wholly_or_not_at_all(path):
    seed = random.randrange(2**32)
    print(f"seed {seed}")  # noqa: T201 - shown with a failure
    chance = random.Random(seed)

    async def use() -> None:
        async with MemoryStore(SqliteAdapter(path, durability="normal")) as store:
            for number in range(300):
                facts = [Fact(f"tea {number} of {part}") for part in range(3)]
                call = asyncio.create_task(store.observe(Observation(SCOPE, facts=facts)))
                for _ in range(chance.randrange(60)):
                    await asyncio.sleep(0)
                call.cancel()
                await asyncio.wait([call])
            await store.observe(fact("one more"))

    asyncio.run(use())
    assert_sound(path)
    *found, last = stored(path)
    assert last == "one more"
    numbers = {text.split()[1] for text in found}
    assert sorted(found) == sorted(f"tea {number} of {part}" for number in numbers for part in range(3))


def test_thousands_of_cancelled_calls_leave_the_store_usable(path):
    async def use() -> None:
        async with MemoryStore(SqliteAdapter(path, durability="normal")) as store:
            await store.observe(fact("green tea"))
            with locked(path) as lock:
                calls = [asyncio.create_task(store.observe(fact(f"lost {n}"))) for n in range(3_000)]
                calls += [asyncio.create_task(store.recall(Query(SCOPE, text="tea"))) for _ in range(3_000)]
                await asyncio.sleep(0)
                for call in calls:
                    call.cancel()
                await asyncio.wait(calls)
                assert all(call.cancelled() for call in calls)
                lock.execute("ROLLBACK")
            await store.observe(fact("black tea"))
            assert await contents(store) == ["black tea", "green tea"]

    asyncio.run(use())


def test_a_loop_closed_while_a_call_was_pending_harms_nobody_else(path):
    fill(path, "green tea")
    store = MemoryStore(SqliteAdapter(path))
    loop = asyncio.new_event_loop()
    with locked(path):
        pending = loop.create_task(store.observe(fact("black tea")))
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()
    # Its loop has gone, so nobody can await it any more; that is the point here.
    pending._log_destroy_pending = False

    async def use() -> None:
        async with store:
            await store.observe(fact("white tea"))
            assert await contents(store) == ["black tea", "green tea", "white tea"]

    asyncio.run(use())


def test_one_store_serves_three_threads_with_loops_of_their_own_and_loops_in_turn(path):
    store = MemoryStore(SqliteAdapter(path))

    async def use(who: str) -> None:
        for number in range(40):
            await store.observe(fact(f"{who} {number}"))
            found = await store.recall(Query(SCOPE, text=who, limit=1000))
            assert len(found.hits) == number + 1

    threads = [threading.Thread(target=lambda who=who: asyncio.run(use(who))) for who in ("a1", "b2", "c3")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for who in ("d4", "e5"):
        asyncio.run(use(who))
    asyncio.run(store.aclose())
    assert_sound(path)
    assert len(stored(path)) == 200


def test_a_store_in_use_is_refused_after_a_fork_and_a_new_one_works(path):
    store = MemoryStore(SqliteAdapter(path))
    asyncio.run(store.observe(fact("green tea")))

    assert_refused_after_a_fork(store, lambda: store.observe(fact("black tea")), lambda: contents(store))
    asyncio.run(store.observe(fact("white tea")))
    asyncio.run(store.aclose())
    assert_sound(path)
    assert stored(path) == ["green tea", "white tea"]
