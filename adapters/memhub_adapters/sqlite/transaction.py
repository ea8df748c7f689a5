"""One transaction of the writer: what its jobs share, and what is written once at its end."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, field

from memhub.scope import Scope
from memhub.search import STOPS, without

__all__ = ["Count", "Entries", "Place", "Transaction"]

Place = tuple[int, str, int]
"""Scope number, term, block: the key of a posting row."""


@dataclass(slots=True)
class Count:
    """A change of one scope's counts."""

    count: int = 0
    length: int = 0
    turns: int = 0


@dataclass(slots=True)
class Entries:
    """Posting entries added and taken away, by row; an entry added here is taken from here first."""

    added: dict[Place, bytes] = field(default_factory=dict)
    gone: dict[Place, list[int]] = field(default_factory=dict)

    def add(self, row: Place, entry: bytes) -> None:
        """Add a record's entry to a row."""
        before = self.added.get(row)
        self.added[row] = entry if before is None else before + entry

    def remove(self, row: Place, place: int) -> None:
        """Take the entry of the record at `place` away from a row."""
        before = self.added.get(row, b"")
        left = without(before, place, stops=row[1] == STOPS)
        if len(left) < len(before):
            self.added[row] = left
        else:
            self.gone.setdefault(row, []).append(place)

    def merge(self, later: Entries) -> None:
        """Go on with what a later job did."""
        for row, places in later.gone.items():
            for place in places:
                self.remove(row, place)
        for row, entry in later.added.items():
            self.add(row, entry)

    def write(self, db: sqlite3.Connection) -> None:
        """Write the rows, in the order in which they lie."""
        db.executemany(
            "INSERT INTO posting VALUES(?, ?, ?, ?) ON CONFLICT(scope, term, block) "
            "DO UPDATE SET entries = CAST(entries || excluded.entries AS BLOB)",
            [
                (*row, self.added[row])
                for row in sorted(self.added)
                if row not in self.gone and self.added[row]
            ],
        )
        for row, places in self.gone.items():
            self._rewrite(db, row, places)
        self.added.clear()
        self.gone.clear()

    def _rewrite(self, db: sqlite3.Connection, row: Place, places: list[int]) -> None:
        at = "scope = ? AND term = ? AND block = ?"
        found = db.execute(f"SELECT entries FROM posting WHERE {at}", row).fetchone()
        left: bytes = found[0] if found else b""
        for place in places:
            left = without(left, place, stops=row[1] == STOPS)
        left += self.added.get(row, b"")
        if left:
            db.execute("REPLACE INTO posting VALUES(?, ?, ?, ?)", (*row, left))
        else:
            db.execute(f"DELETE FROM posting WHERE {at}", row)


class Transaction:
    """Shared by the jobs of one transaction: scope numbers, counters, postings to be written."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self.db = db
        self.entries = Entries()
        self.counts: dict[int, Count] = {}
        self._numbers: dict[Scope, int] = {}
        self._scopes: dict[int, Scope] = {}
        self._next: dict[int, int] = {}
        self._newest: int | None = None

    def number(self, scope: Scope) -> int | None:
        """The number of an exact scope, None where the file has none."""
        known = self._numbers.get(scope)
        if known is not None:
            return known
        sql = "SELECT id, next FROM scope WHERE canonical = ?"
        found = self.db.execute(sql, (scope.canonical,)).fetchone()
        return None if found is None else self._know(scope, *found)

    def make(self, scope: Scope) -> int:
        """A number for a new scope."""
        sql = "INSERT INTO scope VALUES(NULL, ?, 0, 0, 0, 0)"
        made = self.db.execute(sql, (scope.canonical,)).lastrowid
        if made is None:
            raise sqlite3.DatabaseError("the scope was not stored")
        if scope.pairs:
            labels = [(label, made) for label in sorted(scope.labels)]
            self.db.executemany("INSERT INTO label VALUES(?, ?)", labels)
        return self._know(scope, made, 0)

    def scope(self, number: int) -> dict[int, Scope]:
        """A mapping that holds the scope of this number."""
        if number not in self._scopes:
            sql = "SELECT canonical, next FROM scope WHERE id = ?"
            text, following = self.db.execute(sql, (number,)).fetchone()
            self._know(Scope.parse(text), number, following)
        return self._scopes

    def forget(self, number: int) -> None:
        """Know nothing more of a scope: it was purged, or its making undone."""
        scope = self._scopes.pop(number, None)
        if scope is not None:
            self._numbers.pop(scope, None)
            self._next.pop(number, None)

    def next_key(self, scope: int) -> int:
        """The key of a new record. Never given twice, though a job that took it may be undone."""
        number = self._next[scope]
        self._next[scope] = number + 1
        return scope << 32 | number

    def next_seq(self) -> int:
        """The place of a new record in the order in which everything is written."""
        if self._newest is None:
            sql = "SELECT value FROM meta WHERE name = 'newest'"
            self._newest = int(self.db.execute(sql).fetchone()[0])
        self._newest += 1
        return self._newest

    def flush(self) -> None:
        """Write what was gathered so far."""
        self.entries.write(self.db)
        rows = [
            (self._next[scope], change.count, change.length, change.turns, scope)
            for scope, change in self.counts.items()
            if scope in self._next
        ]
        self.db.executemany(
            "UPDATE scope SET next = ?, count = count + ?, length = length + ?, turns = turns + ? "
            "WHERE id = ?",
            rows,
        )
        self.counts.clear()
        if self._newest is not None:
            self.db.execute("UPDATE meta SET value = ? WHERE name = 'newest'", (self._newest,))

    def _know(self, scope: Scope, number: int, following: int) -> int:
        self._numbers[scope], self._scopes[number] = number, scope
        self._next.setdefault(number, following)
        return number
