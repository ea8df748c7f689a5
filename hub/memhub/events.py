"""What happened, for those who watch: counts, characters and ids; content only for who asked for it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final, Self

from memhub.records import Record

__all__ = [
    "CallFailed",
    "Event",
    "MemoryDeleted",
    "MemoryInvalidated",
    "MemoryRecalled",
    "MemorySearched",
    "MemoryWritten",
    "OperationDone",
    "OperationPending",
    "RetryScheduled",
]


_CONTENT: Final = ("records", "query", "block")


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Common to all: which store, which provider, which verb, when, and how long it took in seconds."""

    store: str
    provider: str
    operation: str
    at: datetime
    seconds: float = 0.0

    def without_content(self) -> Self:
        """The same without what anybody wrote: `records`, `query` and `block` are None."""
        held: dict[str, Any] = {name: None for name in _CONTENT if getattr(self, name, None) is not None}
        return replace(self, **held) if held else self


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryWritten(Event):
    """Records were stored (observe, update, restore); `replayed` when a key had been seen."""

    count: int
    characters: int
    ids: tuple[str, ...] = ()
    replayed: bool = False
    records: tuple[Record, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySearched(Event):
    """A recall answered with `count` records of `characters` in all; `text` False for a listing."""

    count: int
    characters: int
    text: bool
    ids: tuple[str, ...] = ()
    query: str | None = None
    records: tuple[Record, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryRecalled(Event):
    """A recall block was assembled from `count` records; `characters` is the length of its text.

    `truncated`: the budget left records out, or cut one short.
    """

    count: int
    characters: int
    truncated: bool
    ids: tuple[str, ...] = ()
    query: str | None = None
    block: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryInvalidated(Event):
    """Records were hidden and kept: invalidated, or superseded by a correction."""

    count: int = 1
    ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryDeleted(Event):
    """Records were forgotten: delete, sweep or purge. A purge does not say which."""

    count: int = 1
    ids: tuple[str, ...] = ()


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


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFailed(Event):
    """A call that reached the provider ended with the error `code`, after every repetition."""

    code: str
