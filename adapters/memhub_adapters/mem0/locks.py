"""Locks by key that tasks of any event loop, on any thread, can wait for without blocking theirs."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import AsyncIterator
from concurrent.futures import Future
from contextlib import asynccontextmanager

__all__ = ["Locks"]


class Locks:
    """First come, first served, each key by itself. A key that nobody holds takes no room."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._waiting: dict[str, deque[Future[None]]] = {}

    @asynccontextmanager
    async def holding(self, key: str) -> AsyncIterator[None]:
        """Hold the lock of this key inside the block."""
        await self._acquire(key)
        try:
            yield
        finally:
            self._release(key)

    async def _acquire(self, key: str) -> None:
        with self._guard:
            if key not in self._waiting:
                self._waiting[key] = deque()
                return
            turn: Future[None] = Future()
            self._waiting[key].append(turn)
        try:
            await asyncio.wrap_future(turn)
        except asyncio.CancelledError:
            if not turn.cancel():
                self._release(key)  # our turn had come, or is just being given to us
            raise

    def _release(self, key: str) -> None:
        with self._guard:
            waiting = self._waiting[key]
            while waiting:
                turn = waiting.popleft()
                if turn.set_running_or_notify_cancel():
                    turn.set_result(None)
                    return
            del self._waiting[key]
