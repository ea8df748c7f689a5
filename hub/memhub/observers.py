"""Those who watch a store, and how events reach them.

Observers are plain callables. They run on a thread of their own, in order, so that a slow one
delays only the events behind it, and a failing one only itself. Each runs in the context of the
call that it hears of, so that what a tracer keeps there is found again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from contextvars import Context, copy_context
from queue import Full, Queue
from typing import TYPE_CHECKING, Final

from memhub.errors import InvalidInput

if TYPE_CHECKING:
    from memhub.events import Event

__all__ = ["Observer", "Observers", "check_observer"]

BACKLOG: Final = 10_000
"""Most events that wait for slow observers; later ones are dropped and counted."""

Observer = Callable[["Event"], object]


class Observers:
    """The subscribers of one store. `emit` never blocks and never raises."""

    def __init__(self) -> None:
        self._subscribers: list[tuple[Observer, bool]] = []
        self._queue: Queue[tuple[Context, Event] | None] = Queue(BACKLOG)
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._closed = False
        self.dropped = 0

    def __bool__(self) -> bool:
        return bool(self._subscribers)

    @property
    def content(self) -> bool:
        """Whether anybody asked for what is remembered, and not only for counts."""
        return any(content for _, content in self._subscribers)

    def subscribe(self, observer: Observer, *, content: bool = False) -> Callable[[], None]:
        """Call `observer` with every event from now on; the result ends the subscription.

        InvalidInput for what cannot be called, and for a coroutine function, which nobody would await.
        """
        check_observer(observer)
        entry = (observer, content)
        self._subscribers.append(entry)

        def unsubscribe() -> None:
            with suppress(ValueError):
                self._subscribers.remove(entry)

        return unsubscribe

    def emit(self, event: Event) -> None:
        """Hand the event over; drop it, counted, after `close` or when observers lag BACKLOG behind."""
        if not self._subscribers:
            return
        with self._lock:
            if self._closed:
                self.dropped += 1
                return
            if self._thread is None:
                self._thread = threading.Thread(target=self._deliver, name="memhub-events", daemon=True)
                self._thread.start()
        try:
            self._queue.put_nowait((copy_context(), event))
        except Full:
            self.dropped += 1

    def close(self, timeout: float = 5.0) -> None:
        """Deliver what waits, for at most `timeout` seconds, and stop."""
        with self._lock:
            self._closed = True
            thread, self._thread = self._thread, None
        if thread is None:
            return
        own = thread is threading.current_thread()
        with suppress(Full):
            self._queue.put(None, timeout=0 if own else timeout)
            if not own:
                thread.join(timeout)

    async def aclose(self) -> None:
        """`close`, with the event loop left free meanwhile: an observer may be waiting for it."""
        import asyncio

        if self._thread is None:
            self.close()
        else:
            await asyncio.to_thread(self.close)

    def _deliver(self) -> None:
        while (told := self._queue.get()) is not None:
            context, event = told
            for observer, content in tuple(self._subscribers):
                try:
                    context.run(observer, event if content else event.without_content())
                except BaseException as error:  # noqa: BLE001 - not even one that exits may silence the others
                    _log("an observer failed with %s", type(error).__name__)


def check_observer(observer: object) -> None:
    """InvalidInput for what would never hear of anything."""
    from inspect import iscoroutinefunction

    if not callable(observer):
        raise InvalidInput(f"observer: must be callable with one event, not {type(observer).__name__}")
    if iscoroutinefunction(observer) or iscoroutinefunction(type(observer).__call__):
        raise InvalidInput("observer: is a coroutine function, which nobody awaits here; give a plain one")


def _log(message: str, *values: object) -> None:
    import logging

    logging.getLogger("memhub.events").warning(message, *values)
