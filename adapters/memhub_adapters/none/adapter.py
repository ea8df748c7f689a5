"""The adapter that keeps nothing, and says so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from memhub.adapter import Adapter, Read, Write
from memhub.capabilities import FULL
from memhub.errors import NotFound
from memhub.records import MODES, Observed, Page, Patch, Recalled, Record, Stats
from memhub.scope import Scope

__all__ = ["CAPABILITIES", "NoneAdapter"]

CAPABILITIES: Final = replace(
    FULL,
    provider="none",
    modes=MODES,
    restore=False,
    neighbours=False,
    persistent=False,
    erasure="complete",
    reasons={
        "operations": FULL.reasons["operations"],
        "persistent": "it keeps nothing, as configured",
        "restore": "it keeps nothing, so nothing can be restored to it",
        "neighbours": "it keeps no turns",
    },
)


class NoneAdapter(Adapter):
    """Takes every observation and keeps none: `persisted` is False, and every read is empty.

    A product runs on it unchanged, as if nobody had ever said anything: each call that the contract
    allows is answered as an empty store answers it. A key of an observation is accepted too, since
    what is not kept cannot be kept twice. `requires: [persistent]` in a configuration rules it out.
    """

    capabilities = CAPABILITIES

    async def observe(self, write: Write) -> Observed:
        for fact in write.facts:
            if fact.supersedes is not None:
                raise NotFound(f"supersedes: no record {fact.supersedes!r} in this scope")
        return Observed(persisted=False)

    async def recall(self, read: Read) -> Recalled:
        return Recalled()

    async def get(self, ids: Sequence[str], *, now: datetime) -> list[Record]:
        return []

    async def update(self, id: str, patch: Patch, *, revision: str | None, now: datetime) -> Record:
        raise NotFound(f"no record {id!r}")

    async def invalidate(self, id: str, reason: str | None, *, revision: str | None, now: datetime) -> Record:
        raise NotFound(f"no record {id!r}")

    async def delete(self, id: str, *, revision: str | None, now: datetime) -> None:
        raise NotFound(f"no record {id!r}")

    async def scan(self, cursor: str | None, limit: int, *, now: datetime) -> Page:
        return Page()

    async def stats(self, scope: Scope | None, *, by_scope: bool, now: datetime) -> Stats:
        return Stats(live=0)

    async def purge(self, scope: Scope, *, exact: bool, now: datetime) -> int:
        return 0

    async def ping(self) -> None:
        return

    async def aclose(self) -> None:
        return
