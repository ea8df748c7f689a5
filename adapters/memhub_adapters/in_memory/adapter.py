"""The in-memory adapter: every capability, no files, no threads of its own."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from threading import RLock
from typing import Final

from memhub import filters
from memhub.adapter import Adapter, Read, Write
from memhub.capabilities import FULL
from memhub.changes import check_revision, expired, invalidated, new_records, patched, superseded, unlinked
from memhub.errors import Conflict, InvalidInput, NotFound
from memhub.records import Hit, Observed, Page, Patch, Recalled, Record, Restored, ScopeCount, Stats
from memhub.scope import Scope
from memhub.search import Candidate, asked, lends, listing_key, question, rank, score, why
from memhub.search.indexing import Slot, change, drop, insert, is_turn
from memhub.unindexed import listed
from memhub_adapters.in_memory.rooms import Rooms

__all__ = ["CAPABILITIES", "InMemoryAdapter"]

CAPABILITIES: Final = replace(FULL, provider="in_memory", erasure="complete")


class InMemoryAdapter(Adapter):
    """Keeps records in the process. Safe from several threads: a lock spans each call."""

    capabilities = CAPABILITIES

    def __init__(self) -> None:
        self._lock = RLock()
        self._rooms = Rooms()
        self._ledger: dict[tuple[Scope, str], tuple[str, tuple[str, ...]]] = {}

    async def observe(self, write: Write) -> Observed:
        with self._lock:
            entry = (write.scope, write.idempotency_key or "")
            if write.idempotency_key is not None and entry in self._ledger:
                return self._replayed(*self._ledger[entry], write)
            records = new_records(write)
            named = [record.supersedes for record in records if record.supersedes is not None]
            corrected = superseded(records, self._held(named), now=write.now)
            for record in records:
                self._insert(record)
            for record in corrected:
                change(self._rooms, self._find(record.id), record)
            if write.idempotency_key is not None:
                self._ledger[entry] = (write.digest, tuple(record.id for record in records))
            return Observed(records=tuple(map(_copied, records)))

    async def recall(self, read: Read) -> Recalled:
        with self._lock:
            return self._listed(read) if read.text is None else self._searched(read, read.text)

    async def get(self, ids: Sequence[str], *, now: datetime) -> list[Record]:
        with self._lock:
            found = (self._rooms.find(id) for id in ids)
            return [_copied(slot.record) for slot in found if slot and not expired(slot.record, now)]

    async def update(self, id: str, patch: Patch, *, revision: str | None, now: datetime) -> Record:
        with self._lock:
            slot = self._alive(id, revision, now)
            record = patched(slot.record, patch, now=now)
            change(self._rooms, slot, record)
            return _copied(record)

    async def invalidate(self, id: str, reason: str | None, *, revision: str | None, now: datetime) -> Record:
        with self._lock:
            slot = self._alive(id, revision, now)
            record = invalidated(slot.record, reason, now=now)
            change(self._rooms, slot, record)
            return _copied(record)

    async def delete(self, id: str, *, revision: str | None, now: datetime) -> None:
        with self._lock:
            slot = self._find(id)
            check_revision(slot.record, revision)
            links = [link for link in (slot.record.supersedes, slot.record.superseded_by) if link]
            for record in unlinked(slot.record, self._held(links)):
                self._rooms.save(replace(self._find(record.id), record=record))
            drop(self._rooms, self._find(id))
            self._rooms.forget(slot)

    async def scan(self, cursor: str | None, limit: int, *, now: datetime) -> Page:
        with self._lock:
            after = _number(cursor)
            slots = [slot for slot in self._rooms.all() if slot.key > after]
            page = sorted(slots, key=lambda slot: slot.key)[:limit]
            more = str(page[-1].key) if len(slots) > limit else None
            return Page(tuple(_copied(slot.record) for slot in page), more)

    async def restore(self, records: Sequence[Record], *, now: datetime) -> Restored:
        with self._lock:
            fresh: dict[str, Record] = {}
            for record in records:
                slot = self._rooms.find(record.id)
                held = fresh.get(record.id) if slot is None else slot.record
                if held is not None and held != record:
                    raise Conflict(f"record {record.id!r} is held already and differs")
                if held is None:
                    fresh[record.id] = record
            for record in fresh.values():
                self._insert(record)
            return Restored({record.id: record.id for record in records})

    async def stats(self, scope: Scope | None, *, by_scope: bool, now: datetime) -> Stats:
        with self._lock:
            counts: dict[Scope, list[int]] = {}
            for slot in self._rooms.all():
                record = slot.record
                if scope is None or scope.covers(record.scope):
                    row = counts.setdefault(record.scope, [0, 0, 0])
                    row[2 if expired(record, now) else 1 if record.invalid_at else 0] += 1
            live, invalid, gone = (sum(row[n] for row in counts.values()) for n in range(3))
            listed = [
                ScopeCount(scope=one, live=row[0], invalidated=row[1], expired=row[2])
                for one, row in sorted(counts.items(), key=lambda item: item[0].canonical)
            ]
            return Stats(
                live=live, invalidated=invalid, expired=gone, scopes=tuple(listed) if by_scope else ()
            )

    async def purge(self, scope: Scope, *, exact: bool, now: datetime) -> int:
        with self._lock:
            count = 0
            for room in self._rooms.matching((scope,), exact=exact):
                count += len(room.slots)
                self._rooms.clear(room)
            covered = [e for e in self._ledger if (e[0] == scope if exact else scope.covers(e[0]))]
            for entry in covered:
                del self._ledger[entry]
            return count

    async def ping(self) -> None:
        return

    async def aclose(self) -> None:
        return

    def _listed(self, read: Read) -> Recalled:
        rooms = self._rooms.matching(read.scopes, exact=read.exact)
        rows = ((self._rooms.written(slot), slot.record) for room in rooms for slot in room.slots.values())
        page = listed(rows, read, newest=self._rooms.newest)
        return Recalled(tuple(Hit(_copied(hit.record)) for hit in page.hits), page.cursor)

    def _searched(self, read: Read, text: str) -> Recalled:
        rooms = self._rooms.matching(read.scopes, exact=read.exact)
        asks = question(text)
        found = self._rooms.postings(rooms, asked(asks))
        scores = score(asks, found, self._rooms.totals(rooms), explain=read.explain)

        def fetch(keys: Sequence[int]) -> dict[int, Candidate]:
            slots = map(self._rooms.slot, keys)
            return {slot.key: _candidate(slot) for slot in slots if filters.admits(slot.record, read)}

        turns = any(room.turns for room in rooms)
        hits = []
        for hit in rank(scores, read.limit, fetch, turns=turns):
            record = self._rooms.slot(hit.key).record
            reason = why(hit, record, asks, scores) if read.explain else None
            hits.append(Hit(_copied(record), hit.score, reason))
        return Recalled(tuple(hits))

    def _insert(self, record: Record) -> None:
        insert(self._rooms, *self._rooms.new(_copied(record)))

    def _find(self, id: str) -> Slot:
        slot = self._rooms.find(id)
        if slot is None:
            raise NotFound(f"no record {id!r}")
        return slot

    def _alive(self, id: str, revision: str | None, now: datetime) -> Slot:
        slot = self._find(id)
        if expired(slot.record, now):
            raise NotFound(f"no record {id!r}")
        check_revision(slot.record, revision)
        return slot

    def _held(self, ids: Sequence[str]) -> dict[str, Record]:
        found = (self._rooms.find(id) for id in ids)
        return {slot.record.id: slot.record for slot in found if slot is not None}

    def _replayed(self, digest: str, ids: tuple[str, ...], write: Write) -> Observed:
        if digest != write.digest:
            raise Conflict("idempotency_key: was used in this scope with another payload; use a new key")
        held = self._held(ids)
        alive = [held[id] for id in ids if id in held and not expired(held[id], write.now)]
        return Observed(records=tuple(map(_copied, alive)), replayed=True)


def _candidate(slot: Slot) -> Candidate:
    record = slot.record
    return Candidate(listing_key(record), slot.session, slot.previous, lends(record) and is_turn(record))


def _copied(record: Record) -> Record:
    """A record that shares no mutable value with the stored one."""
    if not record.attributes and record.payload is None:
        return record
    return replace(record, attributes=copy.deepcopy(record.attributes), payload=copy.deepcopy(record.payload))


def _number(cursor: str | None) -> int:
    if cursor is None:
        return -1
    if not cursor.isdecimal():
        raise InvalidInput("cursor: is not one that scan gave; pass it back unchanged")
    return int(cursor)
