"""What each flavor of Mem0 keeps of the contract, with a reason for every no."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from memhub.capabilities import FULL, Capabilities

__all__ = ["EMBEDDED", "PLATFORM", "SELF_HOSTED", "without_turns"]

_REASONS: Final[Mapping[str, str]] = {
    "subset_scopes": "a scope is one native user id, and Mem0 finds a user id whole or not at all",
    "keyword": "its search goes by meaning",
    "hybrid": "its search goes by meaning",
    "verbatim_turns": "it makes facts of turns",
    "turns.tool": "it drops what tools say",
    "turns.at": "a fact may come of several turns, said at different times",
    "turns.speaker": "it drops the names of speakers",
    "turns.attributes": "a fact may come of several turns",
    "turns.tags": "a fact may come of several turns",
    "batches": "it stores one memory at a time and has no transactions",
    "atomic_facts": "it stores one memory at a time and has no transactions",
    "revisions": "it has no conditional writes",
    "idempotency": "it has no unique keys, so two processes could both store one observation",
    "neighbours": "its search does not know which turn came before",
    "operations": FULL.reasons["operations"],
    "complete_erasure": "it keeps a history of each memory, deleted text included",
}

SELF_HOSTED: Final = replace(
    FULL,
    provider="mem0",
    modes=("semantic",),
    default_mode="semantic",
    scopes="exact",
    turns="extracted",
    turn_fields=frozenset({"role", "provenance"}),
    atomic_facts=1,
    revisions=False,
    idempotency=False,
    neighbours=False,
    reasons=_REASONS,
)

PLATFORM: Final = replace(
    SELF_HOSTED,
    modes=("hybrid",),
    default_mode="hybrid",
    duplicates="merged",
    operations=True,
    consistency="eventual",
    reasons={
        **_REASONS,
        "keyword": "its search always mixes meaning, words and entities",
        "semantic": "its search always mixes meaning, words and entities",
        "duplicates": "it drops a text that the scope holds already",
        "immediate": "what is stored may take a moment to be found",
    },
)

EMBEDDED: Final = replace(
    SELF_HOSTED,
    revisions=True,
    idempotency=True,
    reasons={
        **_REASONS,
        "complete_erasure": "deleted bytes stay in its files until these are rewritten",
    },
)


def without_turns(caps: Capabilities, reason: str) -> Capabilities:
    """The same where no model is there to make facts of turns."""
    return replace(caps, turns="no", turn_fields=frozenset(), reasons={**caps.reasons, "turns": reason})
