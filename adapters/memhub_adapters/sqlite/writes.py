"""The verbs that change the file, each as one job inside a transaction that the writer owns."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime

from memhub.adapter import Write
from memhub.changes import check_revision, expired, invalidated, new_records, patched, superseded, unlinked
from memhub.errors import Conflict, NotFound
from memhub.records import Observed, Patch, Record, Restored
from memhub.scope import Scope
from memhub.search.indexing import Slot, change, drop, insert
from memhub_adapters.sqlite.book import Book
from memhub_adapters.sqlite.scopes import matching
from memhub_adapters.sqlite.sql import integers

__all__ = ["delete", "invalidate", "observe", "purge", "restore", "update"]


def observe(book: Book, write: Write) -> Observed:
    """Store an observation, or answer a key that was seen before."""
    if write.idempotency_key is not None:
        seen = _seen(book, write, write.idempotency_key)
        if seen is not None:
            return seen
    records = new_records(write)
    named = [record.supersedes for record in records if record.supersedes is not None]
    held = {slot.record.id: slot for slot in map(book.find, named) if slot is not None}
    corrected = superseded(records, {id: slot.record for id, slot in held.items()}, now=write.now)
    for record in records:
        insert(book, *book.new(record))
    for record in corrected:
        change(book, book.slot(held[record.id].key), record)
    if write.idempotency_key is not None:
        ids = json.dumps([record.id for record in records])
        entry = (book.number(write.scope), write.idempotency_key, write.digest, ids)
        book.db.execute("INSERT INTO ledger VALUES(?, ?, ?, ?)", entry)
    return Observed(records=tuple(records))


def update(book: Book, id: str, patch: Patch, *, revision: str | None, now: datetime) -> Record:
    """Apply a patch."""
    return _changed(book, id, revision, now, lambda record: patched(record, patch, now=now))


def invalidate(book: Book, id: str, reason: str | None, *, revision: str | None, now: datetime) -> Record:
    """Hide a record and keep it."""
    return _changed(book, id, revision, now, lambda record: invalidated(record, reason, now=now))


def delete(book: Book, id: str, *, revision: str | None) -> None:
    """Forget a record, its index entries and its place in chain and session."""
    slot = _held(book, id)
    check_revision(slot.record, revision)
    links = [link for link in (slot.record.supersedes, slot.record.superseded_by) if link is not None]
    near = {found.record.id: found for found in map(book.find, links) if found is not None}
    for record in unlinked(slot.record, {link: found.record for link, found in near.items()}):
        book.save(replace(near[record.id], record=record))
    slot = book.slot(slot.key)
    drop(book, slot)
    book.forget(slot)


def restore(book: Book, records: Sequence[Record]) -> Restored:
    """Write complete records under their own ids."""
    fresh: dict[str, Record] = {}
    for record in records:
        slot = book.find(record.id)
        held = fresh.get(record.id) if slot is None else slot.record
        if held is not None and held != record:
            raise Conflict(f"record {record.id!r} is held already and differs")
        if held is None:
            fresh[record.id] = record
    for record in fresh.values():
        insert(book, *book.new(record))
    return Restored({record.id: record.id for record in records})


def purge(book: Book, scope: Scope, *, exact: bool) -> int:
    """Remove whole scopes: records, index, ledger, and the scopes themselves."""
    numbers = [found.number for found in matching(book.db, (scope,), exact=exact)]
    count = 0
    for number in numbers:
        span = (number << 32, number << 32 | 0xFFFFFFFF)
        count += book.db.execute("DELETE FROM record WHERE key BETWEEN ? AND ?", span).rowcount
        book.transaction.forget(number)
    for table, column in (
        ("posting", "scope"),
        ("fresh", "scope"),
        ("ledger", "scope"),
        ("label", "scope"),
        ("scope", "id"),
    ):
        book.db.execute(f"DELETE FROM {table} WHERE {column} IN ({integers(numbers)})")
    return count


def _changed(
    book: Book, id: str, revision: str | None, now: datetime, step: Callable[[Record], Record]
) -> Record:
    slot = _held(book, id)
    if expired(slot.record, now):
        raise NotFound(f"no record {id!r}")
    check_revision(slot.record, revision)
    record = step(slot.record)
    if record is not slot.record:
        change(book, slot, record)
    return record


def _held(book: Book, id: str) -> Slot:
    slot = book.find(id)
    if slot is None:
        raise NotFound(f"no record {id!r}")
    return slot


def _seen(book: Book, write: Write, key: str) -> Observed | None:
    sql = "SELECT digest, ids FROM ledger WHERE scope = ? AND key = ?"
    found = book.db.execute(sql, (book.number(write.scope), key)).fetchone()
    if found is None:
        return None
    digest, ids = found
    if digest != write.digest:
        raise Conflict("idempotency_key: was used in this scope with another payload; use a new key")
    slots = (book.find(id) for id in json.loads(ids))
    alive = [slot.record for slot in slots if slot is not None and not expired(slot.record, write.now)]
    return Observed(records=tuple(alive), replayed=True)
