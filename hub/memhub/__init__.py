"""Memhub: one long-term memory interface for AI products."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memhub._version import __version__
from memhub.adapter import Adapter, Read, Write
from memhub.calls import Retry
from memhub.capabilities import FILTERS_ALL, FILTERS_NONE, Capabilities, Filters
from memhub.errors import (
    AccessDenied,
    Closed,
    Conflict,
    HubError,
    InvalidConfig,
    InvalidInput,
    NotFound,
    RateLimited,
    TimedOut,
    Unavailable,
    Unsupported,
)
from memhub.hub import Hub
from memhub.records import (
    UNSET,
    Fact,
    Hit,
    Observation,
    Observed,
    Operation,
    Page,
    Patch,
    Provenance,
    Query,
    Recalled,
    Record,
    Restored,
    ScopeCount,
    Stats,
    Turn,
    Why,
)
from memhub.scope import Scope
from memhub.store import MemoryStore

if TYPE_CHECKING:
    from memhub.migration import migrate, plan_migration

__all__ = [
    "FILTERS_ALL",
    "FILTERS_NONE",
    "UNSET",
    "AccessDenied",
    "Adapter",
    "Capabilities",
    "Closed",
    "Conflict",
    "Fact",
    "Filters",
    "Hit",
    "Hub",
    "HubError",
    "InvalidConfig",
    "InvalidInput",
    "MemoryStore",
    "NotFound",
    "Observation",
    "Observed",
    "Operation",
    "Page",
    "Patch",
    "Provenance",
    "Query",
    "RateLimited",
    "Read",
    "Recalled",
    "Record",
    "Restored",
    "Retry",
    "Scope",
    "ScopeCount",
    "Stats",
    "TimedOut",
    "Turn",
    "Unavailable",
    "Unsupported",
    "Why",
    "Write",
    "__version__",
    "migrate",
    "plan_migration",
]


def __getattr__(name: str) -> object:
    """`migrate` and `plan_migration` on first use, so that importing memhub stays cheap."""
    if name not in {"migrate", "plan_migration"}:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from memhub import migration

    return getattr(migration, name)
