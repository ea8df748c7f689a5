"""What comes between the requests of one Mem0 call: other calls, a cancelled caller, a store that is closed."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from mem0_stores import KEY, ME, http, kept, listed, run, self_hosting
from memhub import Fact, MemoryStore, Observation, Patch, RateLimited, Unavailable
from memhub_adapters.embedders.hash import HashEmbedder
from memhub_adapters.failure import Failure
from memhub_adapters.mem0 import Mem0Adapter, embedded, self_hosted
from memhub_adapters.mem0.gateway import Gateway
from memhub_adapters.mem0.locators import OperationLocator, _sealed
from memhub_adapters.mem0.locks import Locks
from memhub_adapters.standins import Fault


def meanwhile(gateway: Gateway, request: str, others: Callable[[], Awaitable[object]]) -> None:
    """Let `others` work once, after the next request of this name and before its caller hears of it."""
    asked = getattr(gateway, request)

    async def overtaken(*given: object) -> object:
        delattr(gateway, request)
        done = await asked(*given)
        await others()
        return done

    setattr(gateway, request, overtaken)


def failing(gateway: Gateway, request: str) -> None:
    """From now on every request of this name comes to nothing, and nobody knows what it did."""

    async def fails(*_: object) -> None:
        raise Failure("Broken", "done")

    setattr(gateway, request, fails)


def corrected(old: str, *, key: str | None = None) -> Observation:
    return Observation(ME, facts=[Fact("Prefers coffee", supersedes=old)], idempotency_key=key)


async def cancelled_by_itself(store: MemoryStore, gateway: Gateway, request: str, call: object) -> None:
    """Make a call whose caller is cancelled once the request of this name is done."""
    task = asyncio.ensure_future(call)

    async def cancel() -> None:
        task.cancel()

    meanwhile(gateway, request, cancel)
    with pytest.raises(asyncio.CancelledError):
        await task


def test_embedding_anew_keeps_what_changes_meanwhile() -> None:
    with self_hosting() as (server, _):
        adapter = self_hosted(http(server), KEY)

        async def work(store: MemoryStore) -> None:
            tea, bread = await kept(store, "tea", "bread")

            async def others() -> None:
                await store.update(tea.id, Patch(content="cocoa"))
                await store.delete(bread.id)

            meanwhile(adapter._gateway, "rows", others)
            assert await store.reembed() == 2
            assert await listed(store) == ["cocoa"]

        run(adapter, work)


def test_a_purge_ends_before_its_store_is_closed_though_its_caller_is_cancelled() -> None:
    with self_hosting() as (server, mem0):
        adapter = self_hosted(http(server), KEY)

        async def work(store: MemoryStore) -> None:
            await kept(store, *(f"memory {n}" for n in range(20)))
            await cancelled_by_itself(store, adapter._gateway, "remove", store.purge(ME))

        run(adapter, work)
        assert mem0.rows.all == {}


def test_a_change_waits_for_one_before_it_though_the_caller_of_that_is_cancelled() -> None:
    """Else the service could carry out the cancelled one last."""
    with self_hosting() as (server, _):
        adapter = self_hosted(http(server), KEY)

        async def work(store: MemoryStore) -> None:
            [record] = await kept(store, "tea")
            arrived, answered = asyncio.Event(), asyncio.Event()
            put = adapter._gateway.put

            async def late(*given: object) -> bool:
                del adapter._gateway.put

                async def carried_out() -> bool:
                    arrived.set()
                    await answered.wait()
                    return await put(*given)

                return await asyncio.shield(asyncio.ensure_future(carried_out()))

            adapter._gateway.put = late
            first = asyncio.ensure_future(store.update(record.id, Patch(content="coffee")))
            await arrived.wait()
            first.cancel()
            second = asyncio.ensure_future(store.update(record.id, Patch(content="cocoa")))
            await asyncio.wait([first])
            answered.set()
            await second
            assert await listed(store) == ["cocoa"]

        run(adapter, work)


def test_a_correction_that_can_neither_stand_nor_be_taken_back_is_not_to_be_repeated() -> None:
    with self_hosting() as (server, _):

        async def work(store: MemoryStore) -> None:
            [old] = await kept(store, "Prefers tea")
            patience = Fault.of_status(429)
            server.faults.order(patience, when=lambda request: request.method in ("PUT", "DELETE"), times=2)
            with pytest.raises(RateLimited) as caught:
                await store.observe(corrected(old.id))
            assert not caught.value.retryable
            assert await listed(store) == ["Prefers coffee", "Prefers tea"]

        run(self_hosted(http(server), KEY), work)


def test_what_is_no_operation_is_not_found_before_any_request() -> None:
    for inside in ("!", "bm90IEpTT04", "WzFd", "WzEsMiwzLDRd", "é"):
        assert OperationLocator.parse(_sealed("m0op", inside)) is None
    known = OperationLocator.of("event", "memhub-name..me", "marker")
    assert OperationLocator.parse(known.text()) == known


def test_a_waiter_that_is_cancelled_while_it_is_given_its_turn_passes_it_on() -> None:
    async def work() -> None:
        locks = Locks()

        async def hold() -> None:
            async with locks.holding("key"):
                pass

        await locks._acquire("key")
        waiter = asyncio.create_task(hold())
        await asyncio.sleep(0)
        # What a thread that releases the lock has done of it when the waiter is cancelled.
        turn = locks._waiting["key"].popleft()
        assert turn.set_running_or_notify_cancel()
        waiter.cancel()
        await asyncio.wait([waiter])
        turn.set_result(None)
        assert locks._waiting == {}

    asyncio.run(work())


@pytest.fixture
def inside(tmp_path: Path) -> Mem0Adapter:
    pytest.importorskip("mem0", reason="the extra mem0 is not installed")
    return embedded(tmp_path, HashEmbedder())


def test_a_write_that_goes_on_ends_before_its_folder_is_let_go(inside: Mem0Adapter, tmp_path: Path) -> None:
    async def work(store: MemoryStore) -> None:
        [old] = await kept(store, "Prefers tea")
        await cancelled_by_itself(store, inside._gateway, "add", store.observe(corrected(old.id)))

    run(inside, work)
    assert inside._gateway._thread is None
    assert run(embedded(tmp_path, HashEmbedder()), listed) == ["Prefers coffee"]


def test_a_keyed_correction_that_was_half_done_is_done_by_a_repeat(inside: Mem0Adapter) -> None:
    async def work(store: MemoryStore) -> None:
        [old] = await kept(store, "Prefers tea")
        failing(inside._gateway, "put")
        with pytest.raises(Unavailable):
            await store.observe(corrected(old.id, key="k"))
        assert await listed(store) == ["Prefers coffee", "Prefers tea"]
        del inside._gateway.put
        [new] = (await store.observe(corrected(old.id, key="k"))).records
        assert await listed(store) == ["Prefers coffee"]
        assert (await store.get(old.id)).superseded_by == new.id
        assert (await store.observe(corrected(old.id, key="k"))).replayed

    run(inside, work)


def test_a_purge_forgets_the_key_of_a_write_that_is_under_way(inside: Mem0Adapter) -> None:
    async def work(store: MemoryStore) -> None:
        told = Observation(ME, facts=[Fact("tea")], idempotency_key="k")
        purges: list[asyncio.Task[int]] = []

        async def purge() -> None:
            purges.append(asyncio.create_task(store.purge(ME)))

        meanwhile(inside._gateway, "add", purge)
        await store.observe(told)
        assert await purges[0] == 1
        assert not (await store.observe(told)).replayed
        assert await listed(store) == ["tea"]

    run(inside, work)


def test_a_write_that_outlives_its_store_opens_no_folder_again(inside: Mem0Adapter, tmp_path: Path) -> None:
    async def work(store: MemoryStore) -> None:
        await kept(store, "Prefers tea")

    run(inside, work)
    with pytest.raises(Failure, match="AfterClosing"):
        asyncio.run(inside._gateway.rows("memhub-name..me"))
    assert run(embedded(tmp_path, HashEmbedder()), listed) == ["Prefers tea"]
