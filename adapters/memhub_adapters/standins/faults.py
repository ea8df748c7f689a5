"""What can go wrong on the way: faults that a stand-in is told to show, one request at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Final

from memhub_adapters.standins.messages import Request

__all__ = ["HUGE", "Fault", "Faults"]

HUGE: Final = 9 * 2**20
"""Bytes of a huge body: more than the 8 MiB that an adapter reads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One way in which a request goes wrong.

    `applied`: the provider has carried the request out, and only the answer suffers. `drop` closes
    the connection without an answer; `stall` never answers; `delay` answers late, in seconds.
    Otherwise `status`, `headers` and `body` replace the answer (None keeps its own), and
    `cut` sends that share of it and closes the connection.
    """

    name: str
    applied: bool = False
    drop: bool = False
    stall: bool = False
    delay: float = 0.0
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    cut: float = 1.0

    def after(self) -> Fault:
        """The same, once the request has taken effect."""
        return replace(self, name=f"{self.name} after the effect", applied=True)

    @staticmethod
    def late(seconds: float) -> Fault:
        """The right answer, `seconds` late."""
        return Fault(name=f"{seconds:g} s late", applied=True, delay=seconds)

    @staticmethod
    def of_status(status: int, *, retry_after: str | None = None, body: bytes = b"{}") -> Fault:
        """An answer of that status, with `Retry-After` where given."""
        headers = {} if retry_after is None else {"retry-after": retry_after}
        return Fault(name=f"status {status}", status=status, headers=headers, body=body)


DROPPED: Final = Fault(name="dropped", drop=True)
STALLED: Final = Fault(name="stalled", stall=True)
GARBAGE: Final = Fault(name="garbage", status=200, body=b"<html>no JSON \xff</html>")
TRUNCATED: Final = Fault(name="truncated", cut=0.5, applied=True)
HUGE_BODY: Final = Fault(name="huge body", status=200, body=b'"' + b"x" * HUGE + b'"')


class Faults:
    """The faults that are due. Safe to order from another thread than the server's."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._due: list[tuple[Fault, Callable[[Request], bool], int | None]] = []

    def order(
        self, fault: Fault, *, when: Callable[[Request], bool] = lambda _: True, times: int | None = 1
    ) -> None:
        """Show `fault` on the next `times` requests that `when` picks; None means on all of them."""
        with self._lock:
            self._due.append((fault, when, times))

    def clear(self) -> None:
        """From now on nothing goes wrong."""
        with self._lock:
            self._due.clear()

    def next(self, request: Request) -> Fault | None:
        """The fault for this request, which uses it up; None where all is well."""
        with self._lock:
            for at, (fault, when, times) in enumerate(self._due):
                if not when(request):
                    continue
                if times == 1:
                    del self._due[at]
                elif times is not None:
                    self._due[at] = (fault, when, times - 1)
                return fault
        return None
