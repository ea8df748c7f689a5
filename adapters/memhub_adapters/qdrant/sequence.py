"""Numbers in the order written, without a counter that processes would have to share."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from threading import Lock
from typing import Final

__all__ = ["EPOCH", "MICROSECOND", "Sequencer"]

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND: Final = timedelta(microseconds=1)


class Sequencer:
    """Microseconds since 1970, never the same twice from one of these, never going back in it.

    Two of them order their writes as well as their clocks agree.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._last = 0

    def take(self, now: datetime, count: int) -> int:
        """The first of `count` fresh numbers in a row."""
        with self._lock:
            first = max((now - EPOCH) // MICROSECOND, self._last + 1)
            self._last = first + count - 1
            return first
