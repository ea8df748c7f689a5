"""The index in the file: rows of packed postings, and the fresh documents beside them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence

from memhub.search import BLOCK, STOPS, Document, without
from memhub.search.fresh import FRESH, entry, mark, packed, unpacked
from memhub_adapters.sqlite.scopes import Room
from memhub_adapters.sqlite.sql import integers, marks

__all__ = ["add", "fetch", "remove"]

Row = tuple[int, str, int]
"""Scope number, term, block: the key of a posting row."""

_NUMBER = 0xFFFFFFFF
_PLACES = (1 << BLOCK) - 1


def add(db: sqlite3.Connection, scope: int, documents: Mapping[int, Document], *, fresh: int) -> int:
    """Index documents of one scope, by key, beside `fresh` fresh ones; returns how many are now."""
    if fresh + len(documents) <= FRESH:
        rows = [(scope, key & _NUMBER, packed(document)) for key, document in documents.items()]
        db.executemany("INSERT INTO fresh VALUES(?, ?, ?)", rows)
        return fresh + len(documents)
    whole = dict(documents)
    if fresh:
        stored = db.execute("SELECT number, entries FROM fresh WHERE scope = ?", (scope,))
        whole |= {scope << 32 | number: unpacked(row) for number, row in stored}
        db.execute("DELETE FROM fresh WHERE scope = ?", (scope,))
    _append(db, scope, whole)
    return 0


def remove(db: sqlite3.Connection, scope: int, documents: Mapping[int, Document], *, fresh: int) -> int:
    """Take documents of one scope out of the index; returns how many fresh ones are left."""
    gone: dict[Row, list[int]] = {}
    for key, document in documents.items():
        number, row = key & _NUMBER, (scope, key & _NUMBER)
        if fresh and db.execute("DELETE FROM fresh WHERE scope = ? AND number = ?", row).rowcount:
            fresh -= 1
            continue
        for term in document.entries(0):
            gone.setdefault((scope, term, number >> BLOCK), []).append(number & _PLACES)
    for where, places in gone.items():
        _rewrite(db, where, places)
    return fresh


def fetch(
    db: sqlite3.Connection, rooms: Sequence[Room], terms: Sequence[str]
) -> dict[str, list[tuple[int, bytes]]]:
    """What the index of these scopes holds under each term, as `memhub.search.score` takes it."""
    found: dict[str, list[tuple[int, bytes]]] = {}
    numbers = [room.number for room in rooms]
    for term, scope, block, entries in _select(
        db, "term, scope, block, entries FROM posting", numbers, terms
    ):
        found.setdefault(term, []).append(((scope << 32) + (block << BLOCK), entries))
    unmerged = [room.number for room in rooms if room.fresh]
    sought = [(term, mark(term)) for term in terms]
    for scope, number, row in _select(db, "scope, number, entries FROM fresh", unmerged):
        first, place = (scope << 32) + (number >> BLOCK << BLOCK), number & _PLACES
        for term, at in sought:
            if held := entry(row, at, place):
                found.setdefault(term, []).append((first, held))
    return found


def _select(
    db: sqlite3.Connection, what: str, scopes: Sequence[int], terms: Sequence[str] = ()
) -> Iterable[tuple]:  # type: ignore[type-arg]
    if not scopes:
        return ()
    # One scope, by far the commonest case, is bound: the statement then stays prepared.
    where = "scope = ?" if len(scopes) == 1 else f"scope IN ({integers(scopes)})"
    bound: list[object] = list(scopes) if len(scopes) == 1 else []
    if terms:
        where += f" AND term IN ({marks(terms)})"
    return db.execute(f"SELECT {what} WHERE {where}", (*bound, *terms))


def _append(db: sqlite3.Connection, scope: int, documents: Mapping[int, Document]) -> None:
    added: dict[Row, bytes] = {}
    for key, document in documents.items():
        block, place = (key & _NUMBER) >> BLOCK, key & _PLACES
        for term, held in document.entries(place).items():
            row = (scope, term, block)
            added[row] = added.get(row, b"") + held
    db.executemany(
        "INSERT INTO posting VALUES(?, ?, ?, ?) ON CONFLICT(scope, term, block) "
        "DO UPDATE SET entries = CAST(entries || excluded.entries AS BLOB)",
        [(*row, added[row]) for row in sorted(added)],
    )


def _rewrite(db: sqlite3.Connection, row: Row, places: Iterable[int]) -> None:
    at = "scope = ? AND term = ? AND block = ?"
    found = db.execute(f"SELECT entries FROM posting WHERE {at}", row).fetchone()
    left: bytes = found[0] if found else b""
    for place in places:
        left = without(left, place, stops=row[1] == STOPS)
    if left:
        db.execute(f"UPDATE posting SET entries = ? WHERE {at}", (left, *row))
    else:
        db.execute(f"DELETE FROM posting WHERE {at}", row)
