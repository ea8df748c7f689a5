"""One transaction of the writer: what its jobs share, and what is written once at its end."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, field

from memhub.scope import Scope
from memhub.search import Document
from memhub_adapters.sqlite import postings

__all__ = ["Change", "Transaction"]


@dataclass(slots=True)
class Change:
    """What happens to one scope: its counts, and its documents by key."""

    count: int = 0
    length: int = 0
    turns: int = 0
    added: dict[int, Document] = field(default_factory=dict)
    removed: dict[int, Document] = field(default_factory=dict)

    def add(self, key: int, document: Document) -> None:
        """Index a document."""
        self.added[key] = document

    def remove(self, key: int, document: Document) -> None:
        """Take a document out of the index; one added here was never written."""
        if self.added.pop(key, None) is None:
            self.removed[key] = document

    def merge(self, later: Change) -> None:
        """Go on with what a later job did."""
        self.count += later.count
        self.length += later.length
        self.turns += later.turns
        for key, document in later.removed.items():
            self.remove(key, document)
        self.added |= later.added


@dataclass(slots=True)
class _Known:
    """What the file says of a scope, and what this transaction has given away since."""

    scope: Scope
    next: int
    fresh: int


class Transaction:
    """Shared by the jobs of one transaction: scope numbers, counters, documents to be indexed."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self.db = db
        self._changes: dict[int, Change] = {}
        self._numbers: dict[Scope, int] = {}
        self._known: dict[int, _Known] = {}
        self._newest: int | None = None

    def number(self, scope: Scope) -> int | None:
        """The number of an exact scope, None where the file has none."""
        known = self._numbers.get(scope)
        if known is not None:
            return known
        sql = "SELECT id, next, fresh FROM scope WHERE canonical = ?"
        found = self.db.execute(sql, (scope.canonical,)).fetchone()
        return None if found is None else self._know(found[0], _Known(scope, *found[1:]))

    def make(self, scope: Scope) -> int:
        """A number for a new scope."""
        sql = "INSERT INTO scope(canonical) VALUES(?)"
        made = self.db.execute(sql, (scope.canonical,)).lastrowid
        if made is None:
            raise sqlite3.DatabaseError("the scope was not stored")
        if scope.pairs:
            labels = [(label, made) for label in sorted(scope.labels)]
            self.db.executemany("INSERT INTO label VALUES(?, ?)", labels)
        return self._know(made, _Known(scope, 0, 0))

    def scope(self, number: int) -> Scope:
        """The scope of this number."""
        if number not in self._known:
            sql = "SELECT canonical, next, fresh FROM scope WHERE id = ?"
            text, *rest = self.db.execute(sql, (number,)).fetchone()
            self._know(number, _Known(Scope.parse(text), *rest))
        return self._known[number].scope

    def forget(self, number: int) -> None:
        """Know nothing more of a scope: it was purged, or its making undone."""
        known = self._known.pop(number, None)
        if known is not None:
            self._numbers.pop(known.scope, None)

    def next_key(self, scope: int) -> int:
        """The key of a new record. Never given twice, though a job that took it may be undone."""
        known = self._known[scope]
        known.next += 1
        return scope << 32 | known.next - 1

    def next_seq(self) -> int:
        """The place of a new record in the order in which everything is written."""
        if self._newest is None:
            sql = "SELECT value FROM meta WHERE name = 'newest'"
            self._newest = int(self.db.execute(sql).fetchone()[0])
        self._newest += 1
        return self._newest

    def merge(self, changes: dict[int, Change]) -> None:
        """Take over what a job has done."""
        for scope, change in changes.items():
            before = self._changes.get(scope)
            if before is None:
                self._changes[scope] = change
            else:
                before.merge(change)

    def flush(self) -> None:
        """Write what was gathered so far."""
        for number, change in self._changes.items():
            self._write(number, self._known[number], change)
        self._changes.clear()
        if self._newest is not None:
            self.db.execute("UPDATE meta SET value = ? WHERE name = 'newest'", (self._newest,))

    def _write(self, number: int, known: _Known, change: Change) -> None:
        known.fresh = postings.remove(self.db, number, change.removed, fresh=known.fresh)
        known.fresh = postings.add(self.db, number, change.added, fresh=known.fresh)
        self.db.execute(
            "UPDATE scope SET next = ?, fresh = ?, count = count + ?, length = length + ?, turns = turns + ? "
            "WHERE id = ?",
            (known.next, known.fresh, change.count, change.length, change.turns, number),
        )

    def _know(self, number: int, known: _Known) -> int:
        self._numbers[known.scope] = number
        self._known[number] = known
        return number
