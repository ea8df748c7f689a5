"""Adapters that list in another order, or lose their place."""

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, ClassVar

from broken.fault import Bent, breaks
from memhub import filters
from memhub.adapter import Read
from memhub.errors import InvalidInput
from memhub.records import Hit, Patch, Recalled, Record
from memhub.search import listing_key
from memhub_adapters.in_memory.adapter import _copied


class Lists(Bent):
    """A listing with places to bend: its order, what it holds, where a page begins."""

    def order(self, record: Record) -> Any:
        return listing_key(record)

    def admits(self, record: Record, read: Read) -> bool:
        return filters.admits(record, read)

    def rest(self, rows: Sequence[Record], last: Record | None) -> Sequence[Record]:
        """What comes after the last record shown."""
        return [row for row in rows if last is not None and self.order(row) < self.order(last)]

    shown_last: ClassVar[dict[str, Record]] = {}

    def place(self, id: str) -> Record | None:
        """The last record shown, as it was then."""
        return self.shown_last[id]

    async def recall(self, read: Read) -> Recalled:
        if read.text is not None:
            return await super().recall(read)
        newest, last = json.loads(read.cursor) if read.cursor else [self._rooms.newest, None]
        slots = [slot for slot in self._rooms.all() if self._rooms.written(slot) <= newest]
        rows = [slot.record for slot in slots if self.admits(slot.record, read)]
        rows.sort(key=self.order, reverse=True)
        left = rows if last is None else self.rest(rows, self.place(last))
        page = left[: read.limit]
        self.shown_last.update({record.id: record for record in page[-1:]})
        more = json.dumps([newest, page[-1].id]) if len(left) > len(page) else None
        return Recalled(tuple(Hit(_copied(record)) for record in page), more)


@breaks("the_newest_come_first")
class OrdersByTheSecond(Lists):
    def order(self, record: Record) -> Any:
        observed, created = (time.replace(microsecond=0) for time in (record.observed_at, record.created_at))
        return observed, created, record.position, -record.created_at.timestamp(), record.id


@breaks("what_was_observed_counts_before_what_was_written", "times_filter_from_since_until_before")
class OrdersByWhenWritten(Lists):
    def order(self, record: Record) -> Any:
        return record.created_at, record.position, record.id


@breaks("equal_times_go_by_when_they_were_written")
class OrdersEqualTimesOldestFirst(Lists):
    def order(self, record: Record) -> Any:
        return record.observed_at, -record.created_at.timestamp(), record.position, record.id


@breaks(
    "the_last_of_an_observation_comes_first", "the_last_turn_comes_first", "the_largest_observation_is_kept"
)
class OrdersObservationsFirstFirst(Lists):
    def order(self, record: Record) -> Any:
        return record.observed_at, record.created_at, -record.position, record.id


@breaks("the_last_turn_comes_first")
class NumbersNoTurns(Lists):
    def order(self, record: Record) -> Any:
        place = -record.position if record.provenance.role else record.position
        return record.observed_at, record.created_at, place, record.id


@breaks("pages_show_everything_once")
class EndsWithAnEmptyPage(Bent):
    async def recall(self, read: Read) -> Recalled:
        found = await super().recall(read)
        whole = read.text is None and found.hits and len(found.hits) == read.limit
        last = found.hits[-1].record if whole else None
        if last is None or found.cursor:
            return found
        newest = json.loads(read.cursor)[0] if read.cursor else self._rooms.newest
        place = [newest, last.observed_at, last.created_at, last.position, last.id]
        return replace(found, cursor=json.dumps(place, default=datetime.isoformat))


@breaks("pages_split_records_of_one_instant")
class PagesByTimeAlone(Lists):
    def rest(self, rows: Sequence[Record], last: Record | None) -> Sequence[Record]:
        return [row for row in rows if last is not None and row.observed_at < last.observed_at]


class Offsets(Bent):
    """Pages by counting from the start."""

    async def recall(self, read: Read) -> Recalled:
        if read.text is not None:
            return await super().recall(read)
        start = int(read.cursor or 0) * self.step(read)
        found = await super().recall(replace(read, cursor=None, limit=1_000))
        page = found.hits[start : start + read.limit]
        more = start + read.limit < len(found.hits)
        return Recalled(page, self.cursor(read) if more else None)

    def step(self, read: Read) -> int:
        return 1

    def cursor(self, read: Read) -> str:
        return str(int(read.cursor or 0) + read.limit)


@breaks(
    "newer_writes_stay_out_of_a_listing", "newer_writes_of_old_things_stay_out_of_a_listing",
    "deleted_records_are_skipped_between_pages",
)  # fmt: skip
class CountsRecords(Offsets):
    pass


@breaks(
    "a_page_may_grow_on_the_way", "newer_writes_stay_out_of_a_listing",
    "newer_writes_of_old_things_stay_out_of_a_listing", "deleted_records_are_skipped_between_pages",
)  # fmt: skip
class CountsPages(Offsets):
    def step(self, read: Read) -> int:
        return read.limit

    def cursor(self, read: Read) -> str:
        return str(int(read.cursor or 0) + 1)


@breaks("newer_writes_of_old_things_stay_out_of_a_listing")
class ListsWhateverIsThere(Bent):
    def asked(self, read: Read) -> Read:
        if not read.cursor:
            return read
        return replace(read, cursor=json.dumps([self._rooms.newest, *json.loads(read.cursor)[1:]]))


@breaks("deleted_records_are_skipped_between_pages")
class NeedsItsLastRecord(Lists):
    def place(self, id: str) -> Record | None:
        return self.held(id) if self._rooms.find(id) else None


@breaks("updated_records_keep_their_place")
class WritesUpdatesAnew(Bent):
    async def update(self, id: str, patch: Patch, *, revision: str | None, now: datetime) -> Record:
        record = await super().update(id, patch, revision=revision, now=now)
        self._rooms.newest += 1
        self._rooms._written[self._find(id).key] = self._rooms.newest
        return record


@breaks("a_cursor_survives_a_restart")
class KeepsItsPlaceInTheProcess(Bent):
    async def recall(self, read: Read) -> Recalled:
        mark = f"{id(self)} "
        if read.cursor and not read.cursor.startswith(mark):
            raise InvalidInput("cursor: is not of this process")
        found = await super().recall(replace(read, cursor=read.cursor and read.cursor.removeprefix(mark)))
        return replace(found, cursor=found.cursor and mark + found.cursor)
