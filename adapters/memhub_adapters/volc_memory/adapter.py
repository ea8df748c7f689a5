"""The adapter for Volcengine's Mem0: Mem0's verbs, in this dialect, under a name of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from memhub.capabilities import Capabilities
from memhub_adapters.http import Http
from memhub_adapters.mem0.adapter import POLL, Mem0Adapter
from memhub_adapters.mem0.capabilities import SELF_HOSTED
from memhub_adapters.mem0.remote import Key, RemoteGateway
from memhub_adapters.volc_memory.dialect import VolcDialect

__all__ = ["CAPABILITIES", "VolcMemoryAdapter"]

CAPABILITIES: Final[Capabilities] = replace(
    SELF_HOSTED,
    provider="volc_memory",
    modes=("hybrid",),
    default_mode="hybrid",
    operations=True,
    scan=False,
    stats=False,
    consistency="eventual",
    reasons={
        **{name: why for name, why in SELF_HOSTED.reasons.items() if name not in ("hybrid", "operations")},
        "keyword": "how its search weighs meaning and words is its own",
        "semantic": "how its search weighs meaning and words is its own",
        "scan": "it lists one user's memories, and does not tell which users there are",
        "stats": "it lists one user's memories, and does not tell which users there are",
        "immediate": "what is stored may take a moment to be found",
    },
)


class VolcMemoryAdapter(Mem0Adapter):
    """Over the data plane that `http` reaches, with the key that `key` gives. `poll` is in seconds."""

    def __init__(self, http: Http, key: Key, *, poll: float = POLL) -> None:
        dialect = VolcDialect()
        super().__init__(
            RemoteGateway(http, dialect, key), CAPABILITIES, most_found=dialect.most_found, poll=poll
        )
