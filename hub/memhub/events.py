"""What happened, for those who watch: counts and characters, never content."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

__all__ = [
    "Event",
    "MemoryDeleted",
    "MemoryInvalidated",
    "MemorySearched",
    "MemoryWritten",
    "OperationDone",
    "OperationPending",
    "RetryScheduled",
]


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
