"""Memhub: one long-term memory interface for AI products."""

from __future__ import annotations

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
]
