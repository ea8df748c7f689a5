"""Clients that belong to one event loop: one each, closed with it or before."""

import asyncio
import threading

from memhub_adapters.loops import PerLoop


class Client:
    made: list["Client"]

    def __init__(self) -> None:
        self.closed_in: asyncio.AbstractEventLoop | None = None
        self.closed = threading.Event()
        Client.made.append(self)

    async def close(self) -> None:
        await asyncio.sleep(0)
        self.closed_in = asyncio.get_running_loop()
        self.closed.set()


def clients() -> PerLoop[Client]:
    Client.made = []
    return PerLoop(Client, Client.close)


def test_a_loop_has_one_client_which_ends_with_it() -> None:
    held = clients()

    async def use() -> tuple[Client, asyncio.AbstractEventLoop]:
        found = await asyncio.gather(*(held.get() for _ in range(5)))
        assert len(set(map(id, found))) == 1
        return found[0], asyncio.get_running_loop()

    (first, there), (second, here) = asyncio.run(use()), asyncio.run(use())
    assert first is not second
    assert (first.closed_in, second.closed_in) == (there, here)
    assert len(Client.made) == 2


def test_closing_closes_the_clients_of_loops_that_run_in_their_own() -> None:
    held, ready = clients(), threading.Event()
    leave: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []

    async def stay() -> None:
        await held.get()
        left = asyncio.Event()
        leave.append((asyncio.get_running_loop(), left))
        ready.set()
        await left.wait()

    async def close() -> None:
        await held.get()
        await held.aclose()
        await held.aclose()
        assert [client.closed_in for client in Client.made][1] is asyncio.get_running_loop()
        again = await held.get()
        assert again is Client.made[2]

    other = threading.Thread(target=lambda: asyncio.run(stay()))
    other.start()
    ready.wait()
    asyncio.run(close())
    assert Client.made[0].closed.wait(10)
    loop, left = leave[0]
    loop.call_soon_threadsafe(left.set)
    other.join()
    assert all(client.closed_in is not None for client in Client.made)
    assert Client.made[0].closed_in is not Client.made[1].closed_in


def test_nothing_is_made_for_closing() -> None:
    held = clients()
    asyncio.run(held.aclose())
    assert Client.made == []
