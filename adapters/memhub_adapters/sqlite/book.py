"""The index and the slots as one write sees them: gathered in memory, written once at its end."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass, field

from memhub.records import Record
from memhub.scope import Scope
from memhub.search import BLOCK, STOPS, Document, without
from memhub.search.documents import LENGTHS
from memhub.search.indexing import Slot, continues, is_turn
from memhub_adapters.sqlite.rows import COLUMNS, id_of, row_of, slot_of

__all__ = ["Book"]

_NUMBER = 0xFFFFFFFF
_PLACES = (1 << BLOCK) - 1
_MARKS = ", ".join("?" * len(COLUMNS.split(",")))
_INSERT = f"INSERT INTO record(seq, {COLUMNS}) VALUES(?, {_MARKS})"
_UPDATE = f"UPDATE record SET ({COLUMNS}) = ({_MARKS}) WHERE key = ?"


@dataclass(slots=True)
class _Entry:
    """What a write changes under one term of one block."""

    gone: set[int] = field(default_factory=set)
    added: dict[int, bytes] = field(default_factory=dict)


@dataclass(slots=True)
class _Count:
    """What a write changes in one scope's counts."""

    count: int = 0
    length: int = 0
    turns: int = 0


class Book:
    """Implements `memhub.search.indexing.Index` over one connection, within one transaction."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._scopes: dict[int, Scope] = {}
        self._numbers: dict[Scope, int] = {}
        self._next: dict[int, int] = {}
        self._slots: dict[int, Slot] = {}
        self._new: set[int] = set()
        self._changed: set[int] = set()
        self._turns: dict[tuple[int, str | None], int] = {}
        self._entries: dict[tuple[int, str, int], _Entry] = {}
        self._counts: dict[int, _Count] = {}

    def find(self, id: str) -> Slot | None:
        """The slot of a record by its id."""
        return self._one("id = ?", id_of(id))

    def slot(self, key: int) -> Slot:
        found = self._slots.get(key) or self._one("key = ?", key)
        if found is None:
            raise KeyError(key)
        return found

    def new(self, record: Record) -> tuple[Slot, Slot | None]:
        """A slot for a new record, and the last turn of its session, if it has one."""
        scope = self.number(record.scope, create=True)
        number = self._next[scope]
        self._next[scope] = number + 1
        key = scope << 32 | number
        previous = self._last_turn(scope, record, key) if is_turn(record) else None
        self._new.add(key)
        count = self._counts.setdefault(scope, _Count())
        count.count += 1
        count.turns += is_turn(record)
        return Slot(key, record), previous

    def number(self, scope: Scope, *, create: bool = False) -> int:
        """The number of an exact scope; 0 where it has none and none is to be made."""
        if scope in self._numbers:
            return self._numbers[scope]
        found = self._db.execute(
            "SELECT id, next FROM scope WHERE canonical = ?", (scope.canonical,)
        ).fetchone()
        if found is None and not create:
            return 0
        number, following = found or (self._make(scope), 0)
        self._numbers[scope], self._scopes[number] = number, scope
        self._next[number] = following
        return number

    def save(self, slot: Slot) -> None:
        self._slots[slot.key] = slot
        self._changed.add(slot.key)

    def forget(self, slot: Slot) -> None:
        """Delete a slot that has been dropped from the index."""
        self._db.execute("DELETE FROM record WHERE key = ?", (slot.key,))
        self._slots.pop(slot.key, None)
        self._changed.discard(slot.key)
        count = self._counts.setdefault(slot.key >> 32, _Count())
        count.count -= 1
        count.turns -= is_turn(slot.record)

    def add(self, key: int, document: Document) -> None:
        scope, block, place = key >> 32, (key & _NUMBER) >> BLOCK, key & _PLACES
        for term, data in document.entries(place).items():
            entry = self._entries.get((scope, term, block))
            if entry is None:
                entry = self._entries[scope, term, block] = _Entry()
            entry.added[place] = data
        self._counts.setdefault(scope, _Count()).length += LENGTHS[document.length]

    def remove(self, key: int, document: Document) -> None:
        scope, block, place = key >> 32, (key & _NUMBER) >> BLOCK, key & _PLACES
        for term in document.entries(place):
            entry = self._entries.setdefault((scope, term, block), _Entry())
            if entry.added.pop(place, None) is None:
                entry.gone.add(place)
        self._counts.setdefault(scope, _Count()).length -= LENGTHS[document.length]

    def flush(self) -> None:
        """Write what was gathered; the transaction is the caller's."""
        self._flush_slots()
        self._flush_entries()
        rows = [
            (self._next.get(scope), count.count, count.length, count.turns, scope)
            for scope, count in self._counts.items()
        ]
        self._db.executemany(
            "UPDATE scope SET next = coalesce(?, next), count = count + ?, length = length + ?, "
            "turns = turns + ? WHERE id = ?",
            rows,
        )

    def _flush_slots(self) -> None:
        new = sorted(self._new)
        if new:
            (newest,) = self._db.execute("SELECT value FROM meta WHERE name = 'newest'").fetchone()
            rows = ((newest + n, *row_of(self._slots[key])) for n, key in enumerate(new, 1))
            self._db.executemany(_INSERT, rows)
            self._db.execute("UPDATE meta SET value = ? WHERE name = 'newest'", (newest + len(new),))
        changed = sorted(self._changed - self._new)
        self._db.executemany(_UPDATE, [(*row_of(self._slots[key]), key) for key in changed])

    def _flush_entries(self) -> None:
        plain, rewritten = [], []
        for (scope, term, block), entry in sorted(self._entries.items()):
            data = b"".join(entry.added.values())
            if entry.gone:
                rewritten.append((scope, term, block, entry.gone, data))
            elif data:
                plain.append((scope, term, block, data))
        self._db.executemany(
            "INSERT INTO posting VALUES(?, ?, ?, ?) ON CONFLICT(scope, term, block) "
            "DO UPDATE SET entries = CAST(entries || excluded.entries AS BLOB)",
            plain,
        )
        for scope, term, block, gone, data in rewritten:
            self._rewrite((scope, term, block), gone, data)

    def _rewrite(self, where: tuple[int, str, int], gone: Iterable[int], data: bytes) -> None:
        at = "scope = ? AND term = ? AND block = ?"
        found = self._db.execute(f"SELECT entries FROM posting WHERE {at}", where).fetchone()
        left: bytes = found[0] if found else b""
        for place in gone:
            left = without(left, place, stops=where[1] == STOPS)
        if left + data:
            self._db.execute("REPLACE INTO posting VALUES(?, ?, ?, ?)", (*where, left + data))
        else:
            self._db.execute(f"DELETE FROM posting WHERE {at}", where)

    def _make(self, scope: Scope) -> int:
        made = self._db.execute("INSERT INTO scope VALUES(NULL, ?, 0, 0, 0, 0)", (scope.canonical,)).lastrowid
        if made is None:
            raise sqlite3.DatabaseError("the scope was not stored")
        if scope.pairs:
            labels = [(label, made) for label in sorted(scope.labels)]
            self._db.executemany("INSERT INTO label VALUES(?, ?)", labels)
        return made

    def _last_turn(self, scope: int, record: Record, key: int) -> Slot | None:
        """The last turn of the record's session, which from now on is `key`."""
        conversation = record.provenance.conversation_id
        unsaved = self._turns.get((scope, conversation))
        self._turns[scope, conversation] = key
        last = self.slot(unsaved) if unsaved is not None else self._stored_turn(scope, record)
        return last if last is not None and continues(last.record, record) else None

    def _stored_turn(self, scope: int, record: Record) -> Slot | None:
        conversation = record.provenance.conversation_id
        if conversation is not None:
            return self._one("scope = ? AND conversation = ? AND role IS NOT NULL", scope, conversation)
        if record.position == 0:
            return None
        first, last = scope << 32, scope << 32 | _NUMBER
        return self._one("key BETWEEN ? AND ? AND conversation IS NULL AND role IS NOT NULL", first, last)

    def _one(self, where: str, *values: object) -> Slot | None:
        sql = f"SELECT {COLUMNS} FROM record WHERE {where} ORDER BY key DESC LIMIT 1"
        row = self._db.execute(sql, values).fetchone()
        if row is None:
            return None
        key: int = row[0]
        return self._slots.get(key) or slot_of(row, self._scope_of(key))

    def _scope_of(self, key: int) -> dict[int, Scope]:
        number = key >> 32
        if number not in self._scopes:
            sql = "SELECT canonical FROM scope WHERE id = ?"
            self._scopes[number] = Scope.parse(self._db.execute(sql, (number,)).fetchone()[0])
        return self._scopes
