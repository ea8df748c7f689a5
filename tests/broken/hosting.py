"""Adapters that miscount, scan less than there is, or restore something else."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from broken.fault import Bent, breaks
from broken.forgetting import Remembers
from memhub import Scope
from memhub.changes import expired
from memhub.errors import Conflict, NotFound
from memhub.records import Page, Record, Stats
from memhub.search.indexing import change


class Reckons(Bent):
    """An adapter with a place to bend its counts."""

    def reckoned(self, stats: Stats, scope: Scope | None) -> Stats:
        raise NotImplementedError

    async def stats(self, scope: Scope | None, *, by_scope: bool, now: datetime) -> Stats:
        return self.reckoned(await super().stats(scope, by_scope=by_scope, now=now), scope)


@breaks("stats_count_one_scope")
class CountsEverything(Reckons):
    async def stats(self, scope: Scope | None, *, by_scope: bool, now: datetime) -> Stats:
        return await Bent.stats(self, None, by_scope=by_scope, now=now)


@breaks("stats_tell_live_from_gone")
class CountsTheInvalidatedFirst(Reckons):
    def reckoned(self, stats: Stats, scope: Scope | None) -> Stats:
        return (
            replace(stats, invalidated=stats.invalidated + stats.expired, expired=0)
            if stats.expired
            else stats
        )


@breaks("stats_list_scopes")
class AlwaysListsScopes(Reckons):
    async def stats(self, scope: Scope | None, *, by_scope: bool, now: datetime) -> Stats:
        return await Bent.stats(self, scope, by_scope=True, now=now)


@breaks("stats_of_everything_add_up")
class CountsNoSingles(Reckons):
    def reckoned(self, stats: Stats, scope: Scope | None) -> Stats:
        return stats if scope else replace(stats, scopes=tuple(row for row in stats.scopes if row.live > 1))


@breaks("a_purged_scope_is_listed_no_more")
class ListsPurgedScopes(Bent):
    def __init__(self) -> None:
        super().__init__()
        self.rows: Stats | None = None

    async def purge(self, scope: Scope, *, exact: bool, now: datetime) -> int:
        self.rows = await self.stats(None, by_scope=True, now=now)
        return await super().purge(scope, exact=exact, now=now)

    async def stats(self, scope: Scope | None, *, by_scope: bool, now: datetime) -> Stats:
        found = await super().stats(scope, by_scope=by_scope, now=now)
        return replace(found, scopes=self.rows.scopes) if self.rows and by_scope else found


class Scans(Bent):
    """An adapter with a place to bend a page of a scan."""

    def page(self, page: Page, now: datetime) -> Page:
        raise NotImplementedError

    async def scan(self, cursor: str | None, limit: int, *, now: datetime) -> Page:
        return self.page(await super().scan(cursor, limit, now=now), now)


@breaks("scan_shows_everything_once")
class ScansTheLive(Scans):
    def page(self, page: Page, now: datetime) -> Page:
        return replace(page, records=tuple(one for one in page.records if one.invalid_at is None))


@breaks("scan_shows_everything_once")
class ScansOnePage(Scans):
    def page(self, page: Page, now: datetime) -> Page:
        return replace(page, cursor=None)


@breaks("a_cursor_that_scan_never_gave_is_refused")
class ScansAnew(Bent):
    async def scan(self, cursor: str | None, limit: int, *, now: datetime) -> Page:
        known = cursor if cursor is None or cursor.isdecimal() else None
        return await super().scan(known, limit, now=now)


@breaks("a_scan_from_beyond_every_number_is_refused_or_finds_nothing")
class ScansWithNarrowNumbers(Bent):
    async def scan(self, cursor: str | None, limit: int, *, now: datetime) -> Page:
        if cursor is not None and cursor.isdecimal():
            int(cursor).to_bytes(8, "big")
        return await super().scan(cursor, limit, now=now)


@breaks("scan_shows_whole_records")
class ScansWithoutScope(Scans):
    def page(self, page: Page, now: datetime) -> Page:
        first = page.records[0].scope if page.records else None
        return replace(page, records=tuple(replace(one, scope=first or one.scope) for one in page.records))


@breaks("scan_shows_nothing_deleted")
class ScansTheDeleted(Remembers):
    async def scan(self, cursor: str | None, limit: int, *, now: datetime) -> Page:
        page = await super().scan(cursor, limit, now=now)
        gone = [one for one in self.deleted.values() if not one.expires_at]
        return replace(page, records=(*page.records, *gone))


@breaks("sweep_removes_the_expired_alone", "an_expired_record_can_be_deleted")
class DeletesTheLiveAlone(Bent):
    async def delete(self, id: str, *, revision: str | None, now: datetime) -> None:
        if expired(self._find(id).record, now):
            raise NotFound(f"no record {id!r}")
        await super().delete(id, revision=revision, now=now)


class Restores(Bent):
    """An adapter with a place to bend a record that is restored."""

    def restored(self, record: Record, now: datetime) -> Record:
        return record

    async def restore(self, records: Sequence[Record], *, now: datetime) -> object:
        return await super().restore([self.restored(record, now) for record in records], now=now)


@breaks("restored_records_are_complete")
class RestoresWithoutPosition(Restores):
    def restored(self, record: Record, now: datetime) -> Record:
        return replace(record, position=0)


@breaks("restored_records_are_complete", "restored_history_stays_hidden", widely=True)
class RestoresAsOfNow(Restores):
    def restored(self, record: Record, now: datetime) -> Record:
        return replace(record, created_at=now, updated_at=now)


@breaks("restoring_again_changes_nothing", "restoring_twice_lists_once")
class RestoresOnce(Restores):
    async def restore(self, records: Sequence[Record], *, now: datetime) -> object:
        if any(self._rooms.find(record.id) for record in records):
            raise Conflict("a record is held already")
        return await super().restore(records, now=now)


@breaks("restoring_is_all_or_nothing")
class RestoresOneByOne(Restores):
    async def restore(self, records: Sequence[Record], *, now: datetime) -> object:
        ids: dict[str, str] = {}
        for record in records:
            done = await super().restore([record], now=now)
            ids |= done.ids  # type: ignore[attr-defined]
        return replace(done, ids=ids)  # type: ignore[type-var]


@breaks("restored_chains_hold_together")
class RestoresNoLinks(Restores):
    def restored(self, record: Record, now: datetime) -> Record:
        return replace(record, supersedes=None)


@breaks("restored_history_stays_hidden")
class RestoresHistoryAsValid(Restores):
    def restored(self, record: Record, now: datetime) -> Record:
        return record if record.superseded_by else replace(record, invalid_at=None)


@breaks("restored_records_are_found", "restored_turns_are_neighbours")
class IndexesNothingRestored(Restores):
    async def restore(self, records: Sequence[Record], *, now: datetime) -> object:
        new = [record for record in records if not self._rooms.find(record.id)]
        done = await super().restore(records, now=now)
        for record in new:
            slot = self._find(record.id)
            change(self._rooms, slot, replace(slot.record, content="?"))
            self._rooms.save(replace(self._find(record.id), record=record))
        return done


@breaks("restored_turns_are_neighbours")
class RestoresTurnsAlone(Restores):
    def restored(self, record: Record, now: datetime) -> Record:
        talk = record.provenance.conversation_id
        alone = replace(record.provenance, conversation_id=f"{talk} {record.id}" if talk == "chat" else talk)
        return replace(record, provenance=alone)


@breaks("what_was_purged_can_be_restored", "a_key_is_new_where_its_records_were_restored")
class RestoresNothingPurged(Restores):
    def __init__(self) -> None:
        super().__init__()
        self.purged: set[str] = set()

    async def purge(self, scope: Scope, *, exact: bool, now: datetime) -> int:
        self.purged |= set(self._rooms._keys)
        return await super().purge(scope, exact=exact, now=now)

    def restored(self, record: Record, now: datetime) -> Record:
        return replace(record, content="purged") if record.id in self.purged else record
