"""What the Markdown adapter declares: all that the SQLite adapter does, or a log that only grows."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from memhub.capabilities import Capabilities
from memhub_adapters.sqlite import CAPABILITIES as SQLITE

__all__ = ["CAPABILITIES", "CAPABILITIES_APPEND_ONLY"]

_WHY: Final = "the store is append_only: what it holds is never changed through Memhub"

CAPABILITIES: Final[Capabilities] = replace(SQLITE, provider="markdown")

CAPABILITIES_APPEND_ONLY: Final[Capabilities] = replace(
    CAPABILITIES,
    patch=frozenset(),
    delete=False,
    revisions=False,
    invalidation=False,
    supersede=False,
    purge=False,
    erasure="logical",
    reasons={
        **CAPABILITIES.reasons,
        **dict.fromkeys(
            ("update", "delete", "revisions", "invalidation", "supersede", "purge", "complete_erasure"), _WHY
        ),
    },
)
