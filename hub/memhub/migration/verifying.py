"""At the end: every record that was moved is in the target, as it should be."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from memhub.calls import Clock
from memhub.changes import expired
from memhub.errors import Conflict
from memhub.migration.checkpoint import Checkpoint, Moved
from memhub.migration.digests import digest
from memhub.migration.fitting import Fit
from memhub.migration.plan import Progress, Tell
from memhub.migration.sources import Source, at_once, looked_up, pages
from memhub.records import Record
from memhub.store import MemoryStore

__all__ = ["Verifier"]

PATIENCE: Final = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
"""Seconds to wait, in turn, for a target whose reads lag behind its writes."""


@dataclass(slots=True)
class Verifier:
    """Compares what the checkpoint says was moved with what the target holds."""

    source: Source
    target: MemoryStore
    fit: Fit
    checkpoint: Checkpoint
    clock: Clock
    tell: Tell

    async def run(self) -> None:
        """Return when all is there. Conflict says how much is missing or differs."""
        waits = iter(PATIENCE if self.target.capabilities.consistency == "eventual" else ())
        while True:
            found = await self._faults()
            if not found.missing and not found.differing:
                return
            seconds = next(waits, None)
            if seconds is None:
                raise self._error(found)
            await asyncio.sleep(seconds)

    async def _faults(self) -> _Faults:
        found = _Faults()
        total, done = sum(self.checkpoint.counts()[:2]), 0
        for rows in _chunks(self.checkpoint.moved(), at_once(self.target.capabilities)):
            ids = list(dict.fromkeys(row.target for row in rows if row.target is not None))
            there = await looked_up(self.target, ids) if ids else {}
            self._compare(rows, there, found)
            done += len(rows)
            self.tell(Progress("verify", done, total))
        return await self._without_expired(found) if found.missing else found

    def _compare(self, rows: Iterable[Moved], there: Mapping[str, Record], found: _Faults) -> None:
        for row in rows:
            record = there.get(row.target or "")
            if row.target is not None and record is None:
                found.missing.append(row)
            elif record is not None and digest(record, ignoring=self.fit.unheld(record)) != row.digest:
                found.differing.append(row)

    async def _without_expired(self, found: _Faults) -> _Faults:
        """The faults without records that have expired, which `get` does not show."""
        left = _Faults(differing=found.differing)
        if self.target.capabilities.scan:
            wanted = {row.target for row in found.missing}
            there: dict[str, Record] = {}
            async for page in pages(self.target):
                there |= {record.id: record for record in page.records if record.id in wanted}
            self._compare(found.missing, there, left)
            return left
        held = await self.source.fetch([row.source for row in found.missing])
        gone = {record.id for record in held if expired(record, self.clock())}
        left.missing += [row for row in found.missing if row.source not in gone]
        return left

    def _error(self, found: _Faults) -> Conflict:
        told = [
            f"{len(rows):,} records {what} there, the first of them {rows[0].target!r}"
            for rows, what in ((found.missing, "are missing"), (found.differing, "differ"))
            if rows
        ]
        return Conflict(
            f"not all that was moved is in {self.target.name}: {' and '.join(told)}; "
            "was it changed meanwhile? To begin anew, remove the checkpoint, and what was moved",
            store=self.target.name,
            operation="migrate",
        )


@dataclass(slots=True)
class _Faults:
    missing: list[Moved] = field(default_factory=list)
    differing: list[Moved] = field(default_factory=list)


def _chunks(rows: Iterable[Moved], size: int) -> Iterator[list[Moved]]:
    left = iter(rows)
    while chunk := list(islice(left, size)):
        yield chunk
