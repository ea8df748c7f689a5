"""Writes of several steps: they go on to their end when their callers are cancelled, and before a store is closed."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

__all__ = ["Underway"]

T = TypeVar("T")


class Underway:
    """The writes of one adapter that have begun and not ended, on any event loop."""

    def __init__(self) -> None:
        # Held here, since an event loop itself holds its tasks only weakly.
        self._tasks: set[asyncio.Task[Any]] = set()

    async def whole(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of `work`, which goes on when the caller is cancelled."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return await asyncio.shield(task)

    async def ended(self) -> None:
        """Return once those of the running loop have ended."""
        here = asyncio.get_running_loop()
        if running := [task for task in list(self._tasks) if task.get_loop() is here]:
            await asyncio.wait(running)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            # Read, so that asyncio does not report the failure of a write that nobody waits for any more.
            task.exception()
