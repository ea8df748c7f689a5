"""Copying in laps: each lap reads the source through and brings the target up to it.

The first lap copies. The next ones find what was written, changed or deleted in the source
meanwhile, until one finds nothing: then the target holds what the source held during that lap.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from memhub.calls import Clock
from memhub.errors import Conflict, InvalidInput, NotFound
from memhub.migration.chains import links
from memhub.migration.checkpoint import Checkpoint, Moved
from memhub.migration.digests import digest, relinked
from memhub.migration.fitting import Fit
from memhub.migration.merging import Merger, text_key
from memhub.migration.plan import Plan, Progress, Tell
from memhub.migration.sources import Source, looked_up, sought
from memhub.migration.writers import Observing, Restoring, Writer
from memhub.records import Record
from memhub.store import MemoryStore

__all__ = ["Copier"]

LAPS: Final = 10
"""Laps after which a source that still changes is given up on."""

_UNKNOWN: Final = ""
"""No record's revision: what was moved under it is compared again."""

_STARTED: Final[Mapping[str, str | None]] = {"cursor": None, "changed": None, "done": None}


@dataclass(slots=True)
class Copier:
    """Brings `target` up to `source`, noting each step in the checkpoint before the next."""

    source: Source
    target: MemoryStore
    fit: Fit
    checkpoint: Checkpoint
    plan: Plan
    clock: Clock
    tell: Tell

    async def run(self) -> int:
        """Lap until nothing is new; returns how many laps it took. Conflict when it never ends."""
        writer = self._writer()
        await self._adopt()
        first = await self._first_lap()
        for lap in range(first, first + LAPS):
            if not await self._lap(lap, writer) or self.source.steady:
                return lap
        raise Conflict(
            f"{self.source.name} has changed during each of {LAPS} passes; stop what writes to it and repeat",
            store=self.source.name,
            operation="migrate",
        )

    async def _first_lap(self) -> int:
        """The lap to begin or go on with. One that was to find nothing new is begun anew: much may be since."""
        before = await self._state("lap")
        if before is None:
            return 1
        lap = int(before) + 1
        await self._note((), lap, {**_STARTED, "lap": str(lap)})
        return lap

    def _writer(self) -> Writer:
        if self.target.capabilities.restore:
            return Restoring(self.target, self.source.fetch, self.fit, self.checkpoint)
        return Observing(self.target, self.fit, self.checkpoint)

    async def _lap(self, lap: int, writer: Writer) -> bool:
        """Read the source through once; whether anything had to be brought over."""
        changed = await self._state("changed") == "yes"
        done = int(await self._state("done") or 0)
        async for page in self.source.pages(await self._state("cursor")):
            changed |= await self._page(page.records, lap, writer)
            done += len(page.records)
            stand = {"cursor": page.cursor, "changed": "yes" if changed else None, "done": str(done)}
            await self._note([record.id for record in page.records], lap, stand)
            if lap == 1:
                self.tell(Progress("copy", done, self.plan.records))
        gone = await asyncio.to_thread(self.checkpoint.unseen, lap)
        await self._withdraw(gone)
        changed |= bool(gone)
        await self._note((), lap, {**_STARTED, "lap": str(lap + changed)})
        return changed

    async def _note(self, seen: Iterable[str], lap: int, state: Mapping[str, str | None]) -> None:
        await asyncio.to_thread(self.checkpoint.advance, seen, lap, state)

    async def _page(self, records: Sequence[Record], lap: int, writer: Writer) -> bool:
        ids = [record.id for record in records]
        known = await asyncio.to_thread(self.checkpoint.known, ids)
        fresh: dict[str, Record] = {}
        for record in records:
            version, row = self.source.version(record), known.get(record.id)
            if record.id in fresh and version != self.source.version(fresh[record.id]):
                raise self._twice(record.id)
            if row is None or row.revision != version:
                fresh[record.id] = record
        if fresh:
            await self._check_apart(fresh)
        for batch in await writer.batches(list(fresh.values())) if fresh else ():
            await self._bring(batch, lap, writer)
        return bool(fresh)

    async def _check_apart(self, fresh: Iterable[str]) -> None:
        """A target that gives new ids must not be the source itself: its records would come back as new."""
        if self.target.capabilities.restore:
            return
        twins = await asyncio.to_thread(self.checkpoint.held, fresh)
        if twins:
            raise Conflict(
                f"{self.source.name} and {self.target.name} are one store under two names: "
                f"record {next(iter(twins))!r} was written to one and is in the other",
                operation="migrate",
            )

    async def _bring(self, batch: Sequence[Record], lap: int, writer: Writer) -> None:
        now = self.clock()
        kept = [found for record in batch if (found := self.fit(record, now).record) is not None]
        known = await asyncio.to_thread(self.checkpoint.known, _named(batch))
        names = {row.source: row.target for row in known.values() if row.target is not None}
        before = [known[record.id] for record in batch if record.id in known]
        if before and await self._is_held(kept, names):
            ids: list[str | None] = [names[record.id] for record in kept]
        else:
            if before and self.source.steady:
                raise self._twice(before[0].source)
            await self._withdraw(before)
            kept = await self._unmerged(kept)
            names = {id: name for id, name in names.items() if id not in {one.id for one in batch}}
            ids = await writer.write([relinked(record, names) for record in kept]) if kept else []
        names |= {record.id: id for record, id in zip(kept, ids, strict=True) if id is not None}
        held = {record.id: record for record in kept if record.id in names}
        rows = [self._row(record, held.get(record.id), names) for record in batch]
        await asyncio.to_thread(self.checkpoint.save, rows, lap)

    async def _unmerged(self, kept: list[Record]) -> list[Record]:
        """Those whose texts the target can tell apart from what it holds."""
        if not self.fit.merges:
            return kept
        chosen, room = await Merger(self.checkpoint).chosen(kept)
        await self._withdraw(room)
        return chosen

    async def _is_held(self, kept: Sequence[Record], names: Mapping[str, str]) -> bool:
        """Whether the target holds all of these as they are by now."""
        if not all(record.id in names for record in kept):
            return False
        there = await looked_up(self.target, [names[record.id] for record in kept]) if kept else {}
        return len(there) == len(kept) and all(
            self._digest(record, names) == digest(there[names[record.id]], ignoring=self.fit.unheld(record))
            for record in kept
        )

    def _twice(self, id: str) -> InvalidInput:
        return InvalidInput(
            f"{self.source.name}: id: {id!r} is given twice, with different content; keep one"
        )

    async def _withdraw(self, rows: Iterable[Moved]) -> None:
        """Remove from the target what the source no longer holds, or holds otherwise."""
        for row in rows:
            if row.target is not None:
                others = await asyncio.to_thread(self.checkpoint.held, [row.target])
                if len(others[row.target]) == 1:
                    await self._delete(row.target)
            await asyncio.to_thread(self.checkpoint.drop, row.source)

    async def _adopt(self) -> None:
        """Note as moved what an interrupted run wrote before it could: the source may hold it otherwise now.

        What the target holds otherwise under such an id is not from that run, and stays.
        """
        begun = await asyncio.to_thread(self.checkpoint.begun)
        marks = {id: mark for id, mark in begun.items() if mark is not None}
        if not marks:
            return
        there = await (sought if self.target.capabilities.scan else looked_up)(self.target, list(marks))
        rows = [
            Moved(id, id, _UNKNOWN, marks[id])
            for id, record in there.items()
            if digest(record, ignoring=self.fit.unheld(record)) == marks[id]
        ]
        await asyncio.to_thread(self.checkpoint.save, rows, 0)
        await asyncio.to_thread(self.checkpoint.end, marks)

    async def _delete(self, id: str) -> None:
        if not self.target.capabilities.delete:
            raise Conflict(
                f"record {id!r} has changed or gone in {self.source.name} meanwhile, and "
                f"{self.target.name} cannot delete it; empty the target and repeat while nothing writes",
                store=self.target.name,
                operation="migrate",
            )
        try:
            await self.target.delete(id)
        except NotFound:
            return

    def _row(self, record: Record, held: Record | None, names: Mapping[str, str]) -> Moved:
        return Moved(
            record.id,
            None if held is None else names[record.id],
            self.source.version(record),
            None if held is None else self._digest(held, names),
            text_key(record) if self.fit.merges else None,
            record.invalid_at is None,
        )

    def _digest(self, record: Record, names: Mapping[str, str]) -> bytes:
        return digest(relinked(record, names), ignoring=self.fit.unheld(record))

    async def _state(self, name: str) -> str | None:
        return await asyncio.to_thread(self.checkpoint.state, name)


def _named(batch: Sequence[Record]) -> list[str]:
    """The ids of these records and of what they are linked with."""
    return list(dict.fromkeys(id for record in batch for id in (record.id, *links(record))))
