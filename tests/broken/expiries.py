"""Adapters that take the expired for the living."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from broken.fault import Bent, breaks
from broken.histories import TICK, Writes
from memhub.adapter import Read, Write
from memhub.changes import expired
from memhub.errors import NotFound
from memhub.records import Fact, Hit, Patch, Record


class Outlives(Bent):
    """Takes expired records for live ones in some verbs: it looks at them a moment too early."""

    def early(self, now: datetime) -> datetime:
        return now - timedelta(days=1)


@breaks("an_expired_record_is_not_found", "a_fact_may_arrive_expired", "an_expiry_can_be_moved_and_cleared")
class GetsTheExpired(Outlives):
    async def get(self, ids: Sequence[str], *, now: datetime) -> list[Record]:
        return await super().get(ids, now=self.early(now))


@breaks("an_expired_record_is_not_found")
class GetsAtTheInstant(Outlives):
    async def get(self, ids: Sequence[str], *, now: datetime) -> list[Record]:
        found = await super().get(ids, now=now - TICK)
        return [record for record in found if record.expires_at != record.created_at]


@breaks("an_expired_record_is_not_listed")
class ListsAtTheInstant(Outlives):
    def asked(self, read: Read) -> Read:
        return read if read.text or read.as_of else replace(read, now=read.now - TICK)

    def found(self, read: Read, hits: Sequence[Hit]) -> Sequence[Hit]:
        return [
            hit
            for hit in hits
            if hit.record.expires_at is None or hit.record.expires_at > hit.record.created_at
        ]


@breaks("an_expired_record_is_not_searched")
class SearchesAtTheInstant(Outlives):
    def asked(self, read: Read) -> Read:
        return replace(read, now=read.now - TICK) if read.text else read


@breaks("a_fact_may_arrive_expired")
class ListsWhatArrivesExpired(Outlives):
    def kept(self, record: Record) -> Record:
        late = record.expires_at is not None and record.expires_at <= record.created_at
        return replace(record, expires_at=None) if late else record


@breaks("an_expired_record_is_not_updated")
class UpdatesTheExpired(Outlives):
    async def update(self, id: str, patch: Patch, *, revision: str | None, now: datetime) -> Record:
        slot = self._rooms.find(id)
        gone = slot is not None and expired(slot.record, now)
        return await super().update(id, patch, revision=revision, now=self.early(now) if gone else now)


@breaks("an_expired_record_is_not_invalidated")
class InvalidatesTheExpired(Outlives):
    async def invalidate(self, id: str, reason: str | None, *, revision: str | None, now: datetime) -> Record:
        slot = self._find(id)
        gone = expired(slot.record, now)
        return await super().invalidate(id, reason, revision=revision, now=self.early(now) if gone else now)


@breaks("an_expired_record_is_not_superseded")
class CorrectsTheExpired(Writes):
    def fact(self, fact: Fact, write: Write) -> Fact:
        slot = self._rooms.find(fact.supersedes) if fact.supersedes else None
        return replace(fact, supersedes=None) if slot and expired(slot.record, write.now) else fact


@breaks("an_expired_record_can_be_deleted")
class CannotDeleteTheExpired(Outlives):
    async def delete(self, id: str, *, revision: str | None, now: datetime) -> None:
        slot = self._find(id)
        if expired(slot.record, now) and slot.record.content.startswith("a perishable"):
            raise NotFound(f"no record {id!r}")
        await super().delete(id, revision=revision, now=now)


@breaks("an_expiry_can_be_moved_and_cleared")
class KeepsTheLaterExpiry(Bent):
    async def update(self, id: str, patch: Patch, *, revision: str | None, now: datetime) -> Record:
        before = self._find(id).record.expires_at
        record = await super().update(id, patch, revision=revision, now=now)
        if before and record.expires_at and record.expires_at < before:
            return self.store(replace(record, expires_at=before))
        return record
