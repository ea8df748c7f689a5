"""The verbs that change the store: load, work out, save."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from memhub.adapter import Write
from memhub.changes import check_revision, expired, invalidated, new_records, patched, superseded, unlinked
from memhub.errors import Conflict, NotFound
from memhub.records import Observed, Patch, Record, Restored
from memhub.scope import Scope
from memhub.search.indexing import Slot, change, drop, insert
from memhub_adapters.postgres.book import Book, Entry
from memhub_adapters.postgres.loading import Needs, load
from memhub_adapters.postgres.meaning import Meant
from memhub_adapters.postgres.reads import get
from memhub_adapters.postgres.saving import save
from memhub_adapters.postgres.schema import check_guard
from memhub_adapters.postgres.scopes import GUARD, reached
from memhub_adapters.postgres.session import Session

__all__ = ["delete", "invalidate", "observe", "purge", "restore", "update"]

_PURGE_RECORDS: Final = (
    "WITH gone AS (DELETE FROM record WHERE scope = ANY(%s::int[]) RETURNING 1) SELECT count(*) FROM gone"
)
_OF_SCOPE: Final = (("posting", "scope"), ("fresh", "scope"), ("ledger", "scope"), ("scope", "id"))


async def observe(session: Session, write: Write, meant: Meant | None) -> Observed:
    """Store an observation, or answer a key that was seen before."""
    records = new_records(write)
    named = [record.supersedes for record in records if record.supersedes is not None]
    key = write.idempotency_key
    ledger = None if key is None else (write.scope, key)
    book = await load(session, Needs(new=records, ids=named, ledger=ledger))
    if book.seen is not None:
        return Observed(records=tuple(await _replayed(session, book.seen, write)), replayed=True)
    held = {slot.record.id: slot for slot in map(book.find, named) if slot is not None}
    corrected = superseded(records, {id: slot.record for id, slot in held.items()}, now=write.now)
    for record in records:
        insert(book, *book.new(record))
    for record in corrected:
        change(book, book.slot(held[record.id].key), record)
    if key is not None:
        book.noted = Entry(write.scope, key, write.digest, [record.id for record in records])
    await save(session, book, meant)
    return Observed(records=tuple(records))


async def update(
    session: Session, id: str, patch: Patch, meant: Meant | None, *, revision: str | None, now: datetime
) -> Record:
    """Apply a patch."""

    def step(record: Record) -> Record:
        return patched(record, patch, now=now)

    return await _changed(session, id, step, meant=meant, revision=revision, now=now)


async def invalidate(
    session: Session, id: str, reason: str | None, *, revision: str | None, now: datetime
) -> Record:
    """Hide a record and keep it."""

    def step(record: Record) -> Record:
        return invalidated(record, reason, now=now)

    return await _changed(session, id, step, revision=revision, now=now)


async def delete(session: Session, id: str, meant: Meant | None, *, revision: str | None) -> None:
    """Forget a record, its index entries and its place in chain and session."""
    book = await load(session, Needs(ids=[id]))
    slot = _held(book, id)
    check_revision(slot.record, revision)
    links = [link for link in (slot.record.supersedes, slot.record.superseded_by) if link is not None]
    near = {found.record.id: found for found in map(book.find, links) if found is not None}
    for record in unlinked(slot.record, {link: found.record for link, found in near.items()}):
        book.save(replace(near[record.id], record=record))
    slot = book.slot(slot.key)
    drop(book, slot)
    book.forget(slot)
    await save(session, book, meant)


async def restore(session: Session, records: Sequence[Record], meant: Meant | None) -> Restored:
    """Write complete records under their own ids."""
    book = await load(session, Needs(new=records, ids=[record.id for record in records]))
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
    await save(session, book, meant)
    return Restored({record.id: record.id for record in records})


async def purge(session: Session, scope: Scope, meant: Meant | None, *, exact: bool) -> int:
    """Remove whole scopes: records, index, vectors, ledger, and the scopes themselves."""
    condition, values = reached([scope], exact=exact)
    [rows] = await session.ask(
        (f"SELECT s.id, {GUARD} FROM scope s WHERE {condition} ORDER BY s.id FOR UPDATE OF s", values)
    )
    for _, guard in rows:
        check_guard(guard, session.terms.mark)
    places = _OF_SCOPE if meant is None else (*_OF_SCOPE, ("meaning", "scope"))
    numbers = ([number for number, _ in rows],)
    [[(count,)], *_] = await session.ask(
        (_PURGE_RECORDS, numbers),
        *((f"DELETE FROM {table} WHERE {column} = ANY(%s::int[])", numbers) for table, column in places),
        commit=True,
    )
    return int(count)


async def _changed(
    session: Session,
    id: str,
    step: Callable[[Record], Record],
    *,
    meant: Meant | None = None,
    revision: str | None,
    now: datetime,
) -> Record:
    book = await load(session, Needs(ids=[id]))
    slot = _held(book, id)
    if expired(slot.record, now):
        raise NotFound(f"no record {id!r}")
    check_revision(slot.record, revision)
    record = step(slot.record)
    if record is not slot.record:
        change(book, slot, record)
        await save(session, book, meant)
    return record


def _held(book: Book, id: str) -> Slot:
    slot = book.find(id)
    if slot is None:
        raise NotFound(f"no record {id!r}")
    return slot


async def _replayed(session: Session, seen: Entry, write: Write) -> list[Record]:
    if seen.digest != write.digest:
        raise Conflict("idempotency_key: was used in this scope with another payload; use a new key")
    return await get(session, seen.ids, now=write.now)
