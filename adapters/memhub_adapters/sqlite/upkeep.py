"""Looking after the file: rebuilding the index, checking it against the records."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from memhub.search.analyzer import fingerprint
from memhub.search.documents import LENGTHS, Document
from memhub.search.indexing import Slot, is_turn, rebuilt
from memhub_adapters.sqlite.book import Book
from memhub_adapters.sqlite.rows import COLUMNS, slot_of
from memhub_adapters.sqlite.scopes import every
from memhub_adapters.sqlite.transaction import Transaction

__all__ = ["index_faults", "reindex"]

_BATCH = 2_000


def reindex(db: sqlite3.Connection) -> int:
    """Rebuild the whole index from the records, in one transaction; returns how many records."""
    db.execute("BEGIN IMMEDIATE")
    try:
        count = _rebuild(db)
        db.execute("UPDATE meta SET value = ? WHERE name = 'analyzer'", (fingerprint(),))
        db.execute("COMMIT")
    finally:
        if db.in_transaction:
            db.execute("ROLLBACK")
    return count


def index_faults(db: sqlite3.Connection) -> list[str]:
    """Where the index differs from what the records demand; empty when it is true to them."""
    faults = []
    expected: dict[tuple[int, str, int], dict[int, bytes]] = {}
    counts: dict[int, list[int]] = {}
    for slot, document in _documents(db):
        number = slot.key & 0xFFFFFFFF
        row = counts.setdefault(slot.key >> 32, [0, 0, 0])
        row[0] += 1
        row[1] += LENGTHS[document.length]
        row[2] += is_turn(slot.record)
        for term, entry in document.entries(number & 127).items():
            expected.setdefault((slot.key >> 32, term, number >> 7), {})[number & 127] = entry
    for scope, term, block, entries in db.execute("SELECT scope, term, block, entries FROM posting"):
        wanted = expected.pop((scope, term, block), {})
        if sorted(_split(entries, stops=not term)) != sorted(wanted.values()):
            faults.append(f"scope {scope}, block {block}: a posting differs from its records")
    faults += [f"scope {scope}, block {block}: a posting is missing" for scope, _, block in expected]
    for number, *stored in db.execute("SELECT id, count, length, turns FROM scope"):
        if stored != counts.get(number, [0, 0, 0]):
            faults.append(f"scope {number}: its counts are {stored}, not {counts.get(number, [0, 0, 0])}")
    return faults


def _rebuild(db: sqlite3.Connection) -> int:
    db.execute("DELETE FROM posting")
    db.execute("UPDATE scope SET length = 0")
    transaction, count = Transaction(db), 0
    for slot, document in _documents(db):
        book = Book(transaction)
        transaction.scope(slot.key >> 32)
        book.add(slot.key, document)
        book.finish()
        count += 1
        if count % _BATCH == 0:
            transaction.flush()
    transaction.flush()
    return count


def _documents(db: sqlite3.Connection) -> Iterator[tuple[Slot, Document]]:
    scopes = every(db)
    looking = Book(Transaction(db))
    sql, last = f"SELECT {COLUMNS} FROM record WHERE key > ? ORDER BY key LIMIT {_BATCH}", -1
    while rows := db.execute(sql, (last,)).fetchall():
        last = rows[-1][0]
        for row in rows:
            slot = slot_of(row, scopes)
            yield slot, rebuilt(looking, slot)


def _split(entries: bytes, *, stops: bool) -> Iterator[bytes]:
    at = 0
    while at < len(entries):
        size = 2 + entries[at + 1] if stops else 3
        yield entries[at : at + size]
        at += size
