"""Mem0 used by many at once: locks across event loops, and writes that go on when their caller is cancelled."""

import asyncio
import threading

import pytest

from mem0_stores import KEY, ME, http, kept, listed, run, self_hosting
from memhub import Fact, MemoryStore, Observation, Query
from memhub_adapters.mem0 import self_hosted
from memhub_adapters.mem0.locks import Locks
from memhub_adapters.mem0.memories import AT_ONCE, each


def test_a_lock_is_held_by_one_task_of_any_loop_at_a_time() -> None:
    locks, inside, most = Locks(), [0], [0]
    guard = threading.Lock()

    async def work() -> None:
        for _ in range(20):
            async with locks.holding("key"):
                with guard:
                    inside[0] += 1
                    most[0] = max(most[0], inside[0])
                await asyncio.sleep(0)
                with guard:
                    inside[0] -= 1

    async def several() -> None:
        await asyncio.gather(*(work() for _ in range(3)))

    async def threads() -> None:
        await asyncio.gather(several(), *(asyncio.to_thread(asyncio.run, several()) for _ in range(3)))

    asyncio.run(threads())
    assert most == [1]
    assert locks._waiting == {}


def test_locks_of_two_keys_do_not_wait_for_each_other() -> None:
    async def work() -> None:
        locks = Locks()
        async with locks.holding("a"), locks.holding("b"):
            pass

    asyncio.run(work())


@pytest.mark.parametrize("steps", range(4))
def test_a_waiter_that_is_cancelled_passes_its_turn_on(steps: int) -> None:
    async def work() -> list[str]:
        locks, done = Locks(), list[str]()

        async def hold(name: str) -> None:
            async with locks.holding("key"):
                done.append(name)

        async with locks.holding("key"):
            waiters = [asyncio.create_task(hold(name)) for name in "abc"]
            await asyncio.sleep(0)
            if steps == 0:
                waiters[0].cancel()
                await asyncio.sleep(0)
        for _ in range(steps):
            await asyncio.sleep(0)
        waiters[0].cancel()
        await asyncio.wait(waiters)
        assert locks._waiting == {}
        return done

    assert asyncio.run(work())[-2:] == ["b", "c"]


def test_so_many_at_once_and_none_begun_after_a_failure() -> None:
    async def work() -> None:
        under_way, most, begun = 0, 0, list[int]()

        async def one(number: int) -> int:
            nonlocal under_way, most
            begun.append(number)
            under_way += 1
            most = max(most, under_way)
            await asyncio.sleep(0)
            under_way -= 1
            if number == 10:
                raise ValueError(number)
            return number

        assert await each(range(10), one) == list(range(10))
        assert most == AT_ONCE
        begun.clear()
        with pytest.raises(ValueError, match="10"):
            await each(range(100), one)
        assert under_way == 0
        assert len(begun) < 30

    asyncio.run(work())


@pytest.mark.parametrize("requests", [2, 3, 4])
def test_a_correction_goes_on_when_its_caller_is_cancelled(requests: int) -> None:
    with self_hosting() as (server, _):

        async def work(store: MemoryStore) -> list[str]:
            [old] = await kept(store, "Prefers tea")
            before = len(server.requests)
            call = store.observe(Observation(ME, facts=[Fact("Prefers coffee", supersedes=old.id)]))
            task = asyncio.create_task(call)
            while len(server.requests) < before + requests:  # noqa: ASYNC110 - another thread counts them
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait([task])
            while (await store.get(old.id)).superseded_by is None:  # noqa: ASYNC110 - nobody tells
                await asyncio.sleep(0)
            history = await store.recall(Query(ME, include_invalidated=True))
            return [hit.record.content for hit in history.hits]

        assert run(self_hosted(http(server), KEY), work) == ["Prefers coffee", "Prefers tea"]
        assert run(self_hosted(http(server), KEY), listed) == ["Prefers coffee"]
