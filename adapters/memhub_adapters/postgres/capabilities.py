"""What the PostgreSQL adapter declares: the whole contract, by meaning too where there is an embedder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from memhub.capabilities import FULL, Capabilities
from memhub.records import MODES

__all__ = ["CAPABILITIES", "by_words"]

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
_NO_EMBEDDER: Final = "no embedder is configured, so it searches by words only; name one under `embedder`"


def by_words(why: str) -> Capabilities:
    """Without search by meaning, and why."""
    reasons = {**_WITH_MEANING.reasons, "semantic": why, "hybrid": why}
    return replace(_WITH_MEANING, modes=("keyword",), default_mode="keyword", reasons=reasons)


CAPABILITIES: Final[Mapping[str, Capabilities]] = {
    "with an embedder": _WITH_MEANING,
    "without": by_words(_NO_EMBEDDER),
}
