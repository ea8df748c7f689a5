"""Adapters that write by halves, read what was, or serve one thread, loop or task at a time."""

import asyncio
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime

from broken.fault import Bent, breaks
from memhub.adapter import Read, Write
from memhub.changes import new_records
from memhub.errors import Conflict, NotFound
from memhub.records import Hit, Observed, Patch, Recalled, Record, Restored


@breaks("an_observation_is_all_or_nothing", "superseding_twice_at_once_is_conflict", widely=True)
class WritesOneByOne(Bent):
    async def observe(self, write: Write) -> Observed:
        if len(write.facts) < 2 or write.idempotency_key:
            return await super().observe(write)
        records: list[Record] = []
        for fact in write.facts:
            done = await super().observe(replace(write, facts=(fact,)))
            records += done.records
        return Observed(records=tuple(records))


@breaks("a_cancelled_write_is_whole_or_absent", widely=True)
class StopsHalfWay(Bent):
    async def observe(self, write: Write) -> Observed:
        if len(write.facts) != 3 or write.idempotency_key:
            return await super().observe(write)
        records = new_records(write)
        for record in records:
            self._insert(record)
            await asyncio.sleep(0)
        return Observed(records=tuple(records))


@breaks("a_write_is_seen_at_once", widely=True)
class ShowsTheLastButOne(Bent):
    """A listing does not show what was written last, until something else is asked or written."""

    def found(self, read: Read, hits: Sequence[Hit]) -> Sequence[Hit]:
        newest = max((self._rooms.written(slot) for slot in self._rooms.all()), default=0)
        return [hit for hit in hits if self._rooms.written(self._find(hit.record.id)) < newest]


@breaks("a_change_is_seen_at_once")
class ListsFromACache(Bent):
    """A listing is kept until the next observation."""

    def __init__(self) -> None:
        super().__init__()
        self.cache: dict[str, Recalled] = {}

    async def observe(self, write: Write) -> Observed:
        self.cache.clear()
        return await super().observe(write)

    async def recall(self, read: Read) -> Recalled:
        key = repr(read)
        if key not in self.cache:
            self.cache[key] = await super().recall(read)
        return self.cache[key]


@breaks("writes_are_seen_by_others", "records_survive_a_restart")
class LivesInOneProcess(Bent):
    def __init__(self) -> None:
        super().__init__()
        self._rooms.home = self  # type: ignore[attr-defined]

    async def get(self, ids: Sequence[str], *, now: datetime) -> list[Record]:
        at_home = self._rooms.home is self  # type: ignore[attr-defined]
        return await super().get(ids, now=now) if at_home else []


@breaks("three_threads_share_an_adapter", "two_event_loops_in_turn_share_an_adapter")
class BelongsToAThread(Bent):
    def __init__(self) -> None:
        super().__init__()
        self.thread = threading.get_ident()

    async def observe(self, write: Write) -> Observed:
        if threading.get_ident() != self.thread:
            raise RuntimeError("made in another thread")
        return await super().observe(write)


@breaks("three_threads_share_an_adapter", "two_event_loops_in_turn_share_an_adapter")
class BelongsToALoop(Bent):
    def __init__(self) -> None:
        super().__init__()
        self.loop: asyncio.AbstractEventLoop | None = None

    async def observe(self, write: Write) -> Observed:
        self.loop = self.loop or asyncio.get_running_loop()
        if self.loop is not asyncio.get_running_loop():
            raise RuntimeError("attached to a different loop")
        return await super().observe(write)


@breaks("two_event_loops_in_turn_share_an_adapter")
class DiesWithItsLoop(Bent):
    def __init__(self) -> None:
        super().__init__()
        self.loops: list[asyncio.AbstractEventLoop] = []

    async def observe(self, write: Write) -> Observed:
        if any(loop.is_closed() for loop in self.loops) and "of loop" in write.facts[0].content:
            raise RuntimeError("Event loop is closed")
        self.loops.append(asyncio.get_running_loop())
        return await super().observe(write)


@breaks("many_tasks_write_at_once")
class LosesWritesOfOthers(Bent):
    """Drops a write while another one is going on."""

    def __init__(self) -> None:
        super().__init__()
        self.busy = 0

    async def observe(self, write: Write) -> Observed:
        self.busy += 1
        try:
            await asyncio.sleep(0)
            done = await super().observe(write)
            if self.busy > 5:
                for record in done.records:
                    await self.delete(record.id, revision=None, now=write.now)
            return done
        finally:
            self.busy -= 1


@breaks("of_two_conditional_updates_one_wins", "increments_at_once_are_all_counted")
class LooksBeforeItUpdates(Bent):
    async def update(self, id: str, patch: Patch, *, revision: str | None, now: datetime) -> Record:
        slot = self._rooms.find(id)
        current = slot is not None and slot.record.revision == revision
        await asyncio.sleep(0)
        return await super().update(id, patch, revision=None if current else revision, now=now)


@breaks("increments_at_once_are_all_counted")
class TakesItselfForALoser(Bent):
    """An update that others follow at once says that it was too late."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting = 0

    async def update(self, id: str, patch: Patch, *, revision: str | None, now: datetime) -> Record:
        self.waiting += 1
        try:
            done = await super().update(id, patch, revision=revision, now=now)
            await asyncio.sleep(0)
            if self.waiting > 1 and revision is not None and patch.set_attributes:
                raise Conflict("revision: is stale")
            return done
        finally:
            self.waiting -= 1


@breaks("of_restores_at_once_that_differ_one_wins")
class LooksBeforeItRestores(Bent):
    async def restore(self, records: Sequence[Record], *, now: datetime) -> Restored:
        held = [record for record in records if self._rooms.find(record.id)]
        await asyncio.sleep(0)
        if held:
            return await super().restore(records, now=now)
        missing = [record for record in records if not self._rooms.find(record.id)]
        await super().restore(missing, now=now)
        return Restored({record.id: record.id for record in records})


@breaks("of_two_corrections_one_wins")
class LooksBeforeItCorrects(Bent):
    async def observe(self, write: Write) -> Observed:
        named = [fact.supersedes for fact in write.facts if fact.supersedes]
        slots = [slot for id in named if (slot := self._rooms.find(id))]
        free = [slot for slot in slots if not slot.record.superseded_by]
        await asyncio.sleep(0)
        for slot in free if len(write.facts) == 1 else []:
            current = self._find(slot.record.id)
            self._rooms.save(replace(current, record=replace(current.record, superseded_by=None)))
        return await super().observe(write)


@breaks("of_two_deletes_one_wins")
class LooksBeforeItDeletes(Bent):
    async def delete(self, id: str, *, revision: str | None, now: datetime) -> None:
        there = self._rooms.find(id) is not None
        await asyncio.sleep(0)
        if not there:
            raise NotFound(f"no record {id!r}")
        with suppress(NotFound):
            await super().delete(id, revision=revision, now=now)
