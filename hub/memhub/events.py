"""What happened, for those who watch: counts and characters, never content.

Observers are plain callables. They run on a thread of their own, in order, so that a slow one
delays only the events behind it, and a failing one only itself.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from queue import Full, Queue
from typing import Final

__all__ = [
    "Event",
    "MemoryDeleted",
    "MemoryInvalidated",
    "MemorySearched",
    "MemoryWritten",
    "Observer",
    "Observers",
    "OperationDone",
    "OperationPending",
    "RetryScheduled",
]

BACKLOG: Final = 10_000
"""Most events that wait for slow observers; later ones are dropped and counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Common to all: which store, which provider, which verb, when, and how long it took in seconds."""

    store: str
    provider: str
    operation: str
    at: datetime
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryWritten(Event):
    """Records were stored (observe, update, restore); `replayed` when a key had been seen."""

    count: int
    characters: int
    replayed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySearched(Event):
    """A recall answered with `count` records of `characters` in all; `text` False for a listing."""

    count: int
    characters: int
    text: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryInvalidated(Event):
    """Records were hidden and kept: invalidated, or superseded by a correction."""

    count: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryDeleted(Event):
    """Records were forgotten: delete, sweep or purge."""

    count: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationPending(Event):
    """The provider accepted work and has not finished it."""

    operation_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationDone(Event):
    """Work that was pending is done."""

    operation_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryScheduled(Event):
    """A call failed with `code` and will be repeated after `delay` seconds; `attempt` failed."""

    attempt: int
    delay: float
    code: str


Observer = Callable[[Event], object]


class Observers:
    """The subscribers of one store. `emit` never blocks and never raises."""

    def __init__(self) -> None:
        self._subscribers: list[Observer] = []
        self._queue: Queue[Event | None] = Queue(BACKLOG)
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._closed = False
        self.dropped = 0

    def __bool__(self) -> bool:
        return bool(self._subscribers)

    def subscribe(self, observer: Observer) -> Callable[[], None]:
        """Call `observer` with every event from now on; the result ends the subscription."""
        self._subscribers.append(observer)

        def unsubscribe() -> None:
            with suppress(ValueError):
                self._subscribers.remove(observer)

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
            self._queue.put_nowait(event)
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
        while (event := self._queue.get()) is not None:
            for observer in tuple(self._subscribers):
                try:
                    observer(event)
                except Exception as error:  # noqa: BLE001 - an observer must not fail a memory call
                    _log("an observer failed with %s", type(error).__name__)


def _log(message: str, *values: object) -> None:
    import logging

    logging.getLogger("memhub.events").warning(message, *values)
