"""Clients that belong to one event loop: made on first use in each, closed with it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Generic, TypeVar

__all__ = ["PerLoop"]

T = TypeVar("T")


class PerLoop(Generic[T]):
    """What `make` makes, one for each event loop that asks; `close` closes it.

    A loop closes its async generators when it ends, as `asyncio.run` does, and so closes what was
    made for it, while its connections can still be closed. Neither function may be such a
    generator itself, which the loop would close at the same time.
    """

    def __init__(self, make: Callable[[], T], close: Callable[[T], Awaitable[None]]) -> None:
        self._make = make
        self._close = close
        self._lock = threading.Lock()
        self._held: dict[asyncio.AbstractEventLoop, tuple[T, AsyncGenerator[T, None]]] = {}

    async def get(self) -> T:
        """The one of the running loop."""
        loop = asyncio.get_running_loop()
        held = self._held.get(loop)
        if held is None:
            life = self._life(loop)
            held = (await anext(life), life)
            with self._lock:
                self._held[loop] = held
        return held[0]

    async def aclose(self) -> None:
        """Close the one of the running loop, and ask the other loops that are running to close theirs."""
        here = asyncio.get_running_loop()
        with self._lock:
            held = dict(self._held)
        for loop, (_, life) in held.items():
            if loop is here:
                await life.aclose()
            elif loop.is_running():
                asyncio.run_coroutine_threadsafe(life.aclose(), loop)

    async def _life(self, loop: asyncio.AbstractEventLoop) -> AsyncGenerator[T, None]:
        one = self._make()
        try:
            yield one
        finally:
            with self._lock:
                self._held.pop(loop, None)
            await self._close(one)
