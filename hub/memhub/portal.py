"""One event loop on a thread of its own, through which any thread runs coroutines."""

from __future__ import annotations

import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, ExitStack
from typing import TYPE_CHECKING, Any, Final, TypeVar

from memhub.errors import Closed, InvalidInput

if TYPE_CHECKING:
    from anyio.from_thread import BlockingPortal

__all__ = ["Portal"]

T = TypeVar("T")

_CLOSED: Final = "the store is closed"


class Portal:
    """Starts its thread on the first call. After `close` every call raises Closed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._portal: BlockingPortal | None = None
        self._stack = ExitStack()
        self.closed = False

    def call(self, function: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """The coroutine's result. Interrupted, it is cancelled, and the interruption goes on."""
        _refuse_in_loop()
        portal = self._started()
        try:
            future: Future[T] = portal.start_task_soon(function)
        except RuntimeError:
            # Another thread has closed the portal meanwhile.
            raise Closed(_CLOSED) from None
        try:
            return future.result()
        finally:
            # Only an interruption leaves it undone; a finished future ignores this.
            future.cancel()

    def enter(self, manager: AbstractAsyncContextManager[T]) -> T:
        """Enter `manager` on the loop; `close` leaves it, in the same task."""
        _refuse_in_loop()
        portal = self._started()
        return self._stack.enter_context(portal.wrap_async_context_manager(manager))

    def close(self, error: BaseException | None = None) -> None:
        """Leave what was entered, telling it of `error`; end the loop and its thread. Safe twice."""
        _refuse_in_loop()
        with self._lock:
            self.closed, stack = True, self._stack.pop_all()
        kind, trace = (type(error), error.__traceback__) if error is not None else (None, None)
        stack.__exit__(kind, error, trace)

    def _started(self) -> BlockingPortal:
        with self._lock:
            if self.closed:
                raise Closed(_CLOSED)
            if self._portal is None:
                from anyio.from_thread import start_blocking_portal

                self._portal = self._stack.enter_context(start_blocking_portal(name="memhub-blocking"))
            return self._portal


def _refuse_in_loop() -> None:
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise InvalidInput(
        "memhub.blocking: was called inside a running event loop, which it would block; "
        "await a MemoryStore, from open_hub, instead"
    )
