"""What the PostgreSQL adapter declares: the whole contract, by meaning too where there is an embedder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from memhub.capabilities import FULL, Capabilities
from memhub.embedding import NO_EMBEDDER
from memhub.records import MODES

__all__ = ["CAPABILITIES"]

_WITH_MEANING: Final = replace(
    FULL,
    provider="postgres",
    modes=MODES,
    default_mode="hybrid",
    reasons={
        "operations": FULL.reasons["operations"],
        "complete_erasure": "PostgreSQL keeps deleted rows until a vacuum, and in its log and its backups",
    },
)
CAPABILITIES: Final[Mapping[str, Capabilities]] = {
    "with an embedder": _WITH_MEANING,
    "without": _WITH_MEANING.by_words(NO_EMBEDDER),
}
