"""Memhub: one long-term memory interface for AI products."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

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
    from memhub.bindings import Binding
    from memhub.blocks import RecallBlock
    from memhub.bound import BoundMemory
    from memhub.migration import migrate, plan_migration
    from memhub.recall import recall_block
    from memhub.toolbox import Toolbox

__all__ = [
    "FILTERS_ALL",
    "FILTERS_NONE",
    "UNSET",
    "AccessDenied",
    "Adapter",
    "Binding",
    "BoundMemory",
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
    "RecallBlock",
    "Recalled",
    "Record",
    "Restored",
    "Retry",
    "Scope",
    "ScopeCount",
    "Stats",
    "TimedOut",
    "Toolbox",
    "Turn",
    "Unavailable",
    "Unsupported",
    "Why",
    "Write",
    "__version__",
    "migrate",
    "plan_migration",
    "recall_block",
]

_ON_USE: Final = {
    "Binding": "bindings",
    "BoundMemory": "bound",
    "RecallBlock": "blocks",
    "Toolbox": "toolbox",
    "migrate": "migration",
    "plan_migration": "migration",
    "recall_block": "recall",
}


def __getattr__(name: str) -> object:
    """What is imported on first use, so that importing memhub stays cheap."""
    if name not in _ON_USE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"memhub.{_ON_USE[name]}"), name)
