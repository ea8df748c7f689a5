"""One writer at a time, over all processes that use a tree.

The operating system holds the lock (flock), so it goes with its holder, however that one ends: no
lock is ever left behind. A lock file that is made and removed, as portable libraries do it, would
have to guess at its holder's death.
"""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType
from typing import Self

from memhub.errors import Unavailable

__all__ = ["Lock", "Taken"]


class Lock:
    """The lock of one tree. `timeout`, in seconds, is how long one waits for it."""

    def __init__(self, path: Path, *, timeout: float) -> None:
        self._path = path
        self._timeout = timeout

    def take(self) -> Taken:
        """Wait for the lock and hold it until it is released.

        Raises Unavailable, retryable, once another has held it for too long.
        """
        from tenacity import RetryError, Retrying, retry_if_result, stop_after_delay, wait_random

        handle = self._attempt()
        if handle is None:
            waiting = Retrying(
                retry=retry_if_result(lambda found: found is None),
                stop=stop_after_delay(self._timeout),
                wait=wait_random(0.001, 0.01),
            )
            try:
                handle = waiting(self._attempt)
            except RetryError:
                handle = None
        if handle is None:
            raise Unavailable(
                f"{self._path}: another process has been writing for {self._timeout:g} s; repeat, or raise lock_timeout",
                retryable=True,
                unapplied=True,
            )
        return Taken(handle)

    def _attempt(self) -> int | None:
        """A handle that holds the lock, None while another does."""
        from fcntl import LOCK_EX, LOCK_NB, flock

        handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            flock(handle, LOCK_EX | LOCK_NB)
            if self._leads_to(handle):
                return handle
        except BlockingIOError:
            pass
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)
        return None

    def _leads_to(self, handle: int) -> bool:
        """Whether others who open the path meet this very file: its folder may have been removed."""
        try:
            return os.path.samestat(os.fstat(handle), self._path.stat())
        except FileNotFoundError:
            return False


class Taken:
    """The lock, held. `marked`: a holder began to change files, and its index may lag behind them."""

    def __init__(self, handle: int) -> None:
        self._handle = handle
        self.marked = os.fstat(handle).st_size > 0

    def mark(self) -> None:
        """Say that files are about to change; the mark stays when this process is killed."""
        os.pwrite(self._handle, b"!", 0)

    def clear(self) -> None:
        """Say that the index knows all of them."""
        os.ftruncate(self._handle, 0)
        self.marked = False

    def release(self) -> None:
        """Let others have it."""
        from fcntl import LOCK_UN, flock

        try:
            # Explicitly, since a process that was forked meanwhile holds the file open as well.
            flock(self._handle, LOCK_UN)
        finally:
            os.close(self._handle)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()
