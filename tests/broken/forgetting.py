"""Adapters that remember what they were told to forget, or forget too much."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from broken.fault import Bent, breaks
from memhub import Scope
from memhub.adapter import Read
from memhub.changes import expired
from memhub.errors import NotFound
from memhub.records import Hit, Recalled, Record


class Remembers(Bent):
    """Keeps a copy of what is deleted."""

    def __init__(self) -> None:
        super().__init__()
        self.deleted: dict[str, Record] = {}

    async def delete(self, id: str, *, revision: str | None, now: datetime) -> None:
        slot = self._rooms.find(id)
        await super().delete(id, revision=revision, now=now)
        if slot is not None:
            self.deleted[id] = slot.record


@breaks("a_deleted_record_is_not_found", widely=True)
class GetsTheDeleted(Remembers):
    async def get(self, ids: Sequence[str], *, now: datetime) -> list[Record]:
        return [*await super().get(ids, now=now), *(self.deleted[id] for id in ids if id in self.deleted)]


@breaks("a_deleted_record_is_not_found", "of_two_deletes_one_wins")
class DeletesTwice(Remembers):
    async def delete(self, id: str, *, revision: str | None, now: datetime) -> None:
        if id not in self.deleted or revision or self.deleted[id].expires_at:
            await super().delete(id, revision=revision, now=now)


@breaks("a_deleted_record_is_not_recalled")
class DeletesTwins(Bent):
    async def delete(self, id: str, *, revision: str | None, now: datetime) -> None:
        text = self._find(id).record.content
        await super().delete(id, revision=revision, now=now)
        for slot in list(self._rooms.all()):
            if slot.record.content == text:
                await super().delete(slot.record.id, revision=None, now=now)


class Shows(Remembers):
    """Shows what was deleted in some answers."""

    def shows(self, read: Read) -> bool:
        raise NotImplementedError

    async def recall(self, read: Read) -> Recalled:
        found = await super().recall(read)
        gone = [Hit(one) for one in self.deleted.values() if one.scope in read.scopes and self.shows(read)]
        return replace(found, hits=(*found.hits, *gone))


@breaks("a_deleted_record_is_not_searched", widely=True)
class SearchesTheDeleted(Shows):
    def shows(self, read: Read) -> bool:
        return read.text is not None


@breaks("an_invalidated_record_can_be_deleted")
class IncludesTheDeleted(Shows):
    def shows(self, read: Read) -> bool:
        return read.include_invalidated


@breaks("a_deleted_record_has_no_past")
class ShowsThePastOfTheDeleted(Shows):
    def shows(self, read: Read) -> bool:
        return read.as_of is not None


@breaks("a_delete_leaves_no_trace")
class LeavesPostings(Bent):
    async def delete(self, id: str, *, revision: str | None, now: datetime) -> None:
        slot = self._find(id)
        await super().delete(id, revision=revision, now=now)
        for word in slot.record.content.split():
            self._rooms._room(slot.key).postings.setdefault(f"~{word}", {})


@breaks("a_purge_leaves_no_trace")
class LeavesScopes(Bent):
    async def purge(self, scope: Scope, *, exact: bool, now: datetime) -> int:
        count = await super().purge(scope, exact=exact, now=now)
        self._ledger[(Scope("purged"), scope.canonical)] = ("", ())
        return count


@breaks("purge_empties_one_scope", "purge_is_no_pattern", widely=True)
class PurgesEverything(Bent):
    async def purge(self, scope: Scope, *, exact: bool, now: datetime) -> int:
        return sum(
            [await super(PurgesEverything, self).purge(one, exact=True, now=now) for one in self.scopes()]
        )

    def scopes(self) -> list[Scope]:
        return list(self._rooms._rooms)


@breaks("purge_is_no_pattern")
class PurgesByPattern(Bent):
    async def purge(self, scope: Scope, *, exact: bool, now: datetime) -> int:
        count = await super().purge(scope, exact=exact, now=now)
        alike = [
            one for one in self._rooms._rooms if scope.name and one.name and self.like(scope.name, one.name)
        ]
        return count + sum(
            [await super(PurgesByPattern, self).purge(one, exact=True, now=now) for one in alike]
        )

    def like(self, name: str, other: str) -> bool:
        return name.endswith("%") and other.startswith(name[:-1])


@breaks("purge_of_250_is_whole")
class PurgesAPage(Bent):
    async def purge(self, scope: Scope, *, exact: bool, now: datetime) -> int:
        room = self._rooms._rooms.get(scope)
        if room is None or len(room.slots) <= 100:
            return await super().purge(scope, exact=exact, now=now)
        for slot in list(room.slots.values())[:100]:
            await self.delete(slot.record.id, revision=None, now=now)
        return 100


class Counts(Bent):
    """Counts less than it purges."""

    def counted(self, record: Record, now: datetime) -> bool:
        raise NotImplementedError

    async def purge(self, scope: Scope, *, exact: bool, now: datetime) -> int:
        records = [slot.record for slot in self._rooms.all()]
        covered = [one for one in records if (one.scope == scope if exact else scope.covers(one.scope))]
        await super().purge(scope, exact=exact, now=now)
        return sum(self.counted(record, now) for record in covered)


@breaks("purge_counts_the_invalidated")
class CountsTheValid(Counts):
    def counted(self, record: Record, now: datetime) -> bool:
        return record.invalid_at is None


@breaks("purge_counts_the_expired")
class CountsTheUnexpired(Counts):
    def counted(self, record: Record, now: datetime) -> bool:
        return not expired(record, now)


@breaks("purge_covers_more_specific_scopes")
class PurgesExactly(Bent):
    async def purge(self, scope: Scope, *, exact: bool, now: datetime) -> int:
        return await super().purge(scope, exact=True, now=now)


@breaks("purge_of_nothing_is_zero")
class KnowsNoEmptyScope(Bent):
    async def purge(self, scope: Scope, *, exact: bool, now: datetime) -> int:
        count = await super().purge(scope, exact=exact, now=now)
        if not count:
            raise NotFound("no such scope")
        return count


@breaks("a_purged_scope_starts_anew", "a_key_is_new_where_its_records_were_restored")
class BuriesScopes(Bent):
    def __init__(self) -> None:
        super().__init__()
        self.buried: set[Scope] = set()

    async def purge(self, scope: Scope, *, exact: bool, now: datetime) -> int:
        self.buried.add(scope)
        return await super().purge(scope, exact=exact, now=now)

    def found(self, read: Read, hits: Sequence[Hit]) -> Sequence[Hit]:
        return [
            hit for hit in hits if hit.record.scope not in self.buried or hit.record.created_at < read.now
        ]
