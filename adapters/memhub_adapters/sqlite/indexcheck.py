"""The index against its records: checking it, building it anew."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from memhub.search import BLOCK, STOPS
from memhub.search.analyzer import fingerprint
from memhub.search.documents import LENGTHS, Document
from memhub.search.fresh import unpacked
from memhub.search.indexing import Slot, is_turn, rebuilt
from memhub_adapters.sqlite.book import Book
from memhub_adapters.sqlite.rows import COLUMNS, slot_of
from memhub_adapters.sqlite.scopes import Room, rooms
from memhub_adapters.sqlite.transaction import Transaction

__all__ = ["index_faults", "reindex"]

_BATCH = 2_000
_NUMBER = 0xFFFFFFFF
_PLACES = (1 << BLOCK) - 1


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
    return [fault for room in rooms(db) for fault in _faults(db, room)]


def _faults(db: sqlite3.Connection, room: Room) -> Iterator[str]:
    wanted: dict[tuple[str, int], list[bytes]] = {}
    count = length = turns = 0
    for slot, document in _documents(db, room):
        count += 1
        length += LENGTHS[document.length]
        turns += is_turn(slot.record)
        _spread(wanted, slot.key & _NUMBER, document)
    held, fresh = _held(db, room)
    for place in sorted(wanted.keys() | held.keys()):
        if sorted(wanted.get(place, ())) != sorted(held.get(place, ())):
            yield f"scope {room.number}: postings of block {place[1]} differ from its records"
    stored = (room.records, room.length, room.turns, room.fresh)
    if stored != (count, length, turns, fresh):
        yield f"scope {room.number}: its counts are {stored}, not {(count, length, turns, fresh)}"


def _held(db: sqlite3.Connection, room: Room) -> tuple[dict[tuple[str, int], list[bytes]], int]:
    """What the file's index holds of a scope, and how many documents of it are fresh."""
    found: dict[tuple[str, int], list[bytes]] = {}
    one = (room.number,)
    for term, block, entries in db.execute("SELECT term, block, entries FROM posting WHERE scope = ?", one):
        found[term, block] = list(_split(entries, stops=term == STOPS))
    rows = db.execute("SELECT number, entries FROM fresh WHERE scope = ?", one).fetchall()
    for number, row in rows:
        _spread(found, number, unpacked(row))
    return found, len(rows)


def _spread(into: dict[tuple[str, int], list[bytes]], number: int, document: Document) -> None:
    for term, entry in document.entries(number & _PLACES).items():
        into.setdefault((term, number >> BLOCK), []).append(entry)


def _rebuild(db: sqlite3.Connection) -> int:
    db.execute("DELETE FROM posting")
    db.execute("DELETE FROM fresh")
    db.execute("UPDATE scope SET length = 0, fresh = 0")
    transaction, count = Transaction(db), 0
    for room in rooms(db):
        transaction.scope(room.number)
        book = Book(transaction)
        for number, (slot, document) in enumerate(_documents(db, room), 1):
            book.add(slot.key, document)
            if number % _BATCH == 0:
                book = _written(book)
        count += room.records
        _written(book)
    return count


def _written(book: Book) -> Book:
    book.finish()
    book.transaction.flush()
    return Book(book.transaction)


def _documents(db: sqlite3.Connection, room: Room) -> Iterator[tuple[Slot, Document]]:
    """The slots of a scope, each with the document that it must have."""
    looking = Book(Transaction(db))
    sql = f"SELECT {COLUMNS} FROM record WHERE key > ? AND key <= ? ORDER BY key LIMIT {_BATCH}"
    after, last = (room.number << 32) - 1, room.number << 32 | _NUMBER
    while rows := db.execute(sql, (after, last)).fetchall():
        after = rows[-1][0]
        for row in rows:
            slot = slot_of(row, {room.number: room.scope})
            yield slot, rebuilt(looking, slot)


def _split(entries: bytes, *, stops: bool) -> Iterator[bytes]:
    at = 0
    while at < len(entries):
        size = 2 + entries[at + 1] if stops else 3
        yield entries[at : at + size]
        at += size
