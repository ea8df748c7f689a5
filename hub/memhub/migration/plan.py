"""Before anything moves: how much there is, and what the target cannot hold of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from memhub.capabilities import Capabilities
from memhub.errors import Unsupported
from memhub.migration.fitting import MEANINGS, Fit, reason
from memhub.migration.merging import text_key
from memhub.migration.sources import Source
from memhub.records import Record
from memhub.store import MemoryStore

__all__ = ["Loss", "Plan", "Progress", "Tell", "planned"]

Phase = Literal["plan", "copy", "verify"]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a phase is, in records; `total` is None while it is not known."""

    phase: Phase
    done: int
    total: int | None


Tell = Callable[[Progress], object]
"""Called with the progress, once a page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """One thing that the target cannot hold: how many records it affects, what becomes of them, why."""

    name: str
    records: int
    meaning: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a migration will do. `moving` of the `records` go to the target, the others are left out.

    `method`: "restore" writes complete records; "observe" makes the target remember the live ones
    anew. `losses` is empty where nothing is lost.
    """

    source: str
    target: str
    method: Literal["restore", "observe"]
    records: int
    moving: int
    losses: tuple[Loss, ...] = ()

    def check(self, *, accept_loss: bool) -> None:
        """Raise Unsupported, naming every loss, unless there is none or it is accepted."""
        if self.losses and not accept_loss:
            told = "; ".join(f"{loss.records:,} records {loss.meaning} ({loss.name})" for loss in self.losses)
            raise Unsupported(
                f"{self.target} cannot hold all of {self.source}: {told}; "
                "accept the loss (accept_loss=True, --accept-loss), or choose another target",
                store=self.target,
                operation="migrate",
            )


async def planned(source: Source, target: MemoryStore, *, now: datetime, tell: Tell) -> Plan:
    """Read the source through, and count what the target cannot hold. Changes neither."""
    caps = target.capabilities
    fit, counts = Fit(caps), _Counts(caps)
    async for page in source.pages():
        for record in page.records:
            fitted = fit(record, now)
            counts.add(fitted.record, fitted.lost)
        tell(Progress("plan", counts.records, None))
    losses = [
        Loss(name=name, records=counts.lost[name], meaning=meaning, reason=reason(caps, name))
        for name, meaning in MEANINGS.items()
        if counts.lost[name]
    ]
    return Plan(
        source=source.name,
        target=target.name,
        method="restore" if caps.restore else "observe",
        records=counts.records,
        moving=counts.moving,
        losses=tuple(losses),
    )


class _Counts:
    """Records, and losses by name. Only a target that merges equal texts makes it remember texts."""

    def __init__(self, caps: Capabilities) -> None:
        self.records = 0
        self.moving = 0
        self.lost: Counter[str] = Counter()
        self._merges = caps.duplicates == "merged"
        self._texts: set[bytes] = set()

    def add(self, kept: Record | None, lost: tuple[str, ...]) -> None:
        self.records += 1
        self.lost.update(lost)
        if kept is None:
            return
        self.moving += 1
        if self._merges:
            text = text_key(kept)
            if text in self._texts:
                self.moving -= 1
                self.lost["duplicates"] += 1
            self._texts.add(text)
