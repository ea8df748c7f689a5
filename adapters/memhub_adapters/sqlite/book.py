"""What one job changes: slots written as it ends, documents and counts handed to its transaction."""

from __future__ import annotations

from memhub.records import Record
from memhub.scope import Scope
from memhub.search import Document
from memhub.search.documents import LENGTHS
from memhub.search.indexing import Slot, continues, is_turn
from memhub_adapters.sqlite.rows import COLUMNS, id_of, row_of, slot_of
from memhub_adapters.sqlite.transaction import Change, Transaction

__all__ = ["Book"]

_NUMBER = 0xFFFFFFFF
_MARKS = ", ".join("?" * len(COLUMNS.split(",")))
_INSERT = f"INSERT INTO record(seq, {COLUMNS}) VALUES(?, {_MARKS})"
_UPDATE = f"UPDATE record SET ({COLUMNS}) = ({_MARKS}) WHERE key = ?"


class Book:
    """Implements `memhub.search.indexing.Index` for one job of a transaction."""

    def __init__(self, transaction: Transaction) -> None:
        self.transaction = transaction
        self.db = transaction.db
        self._slots: dict[int, Slot] = {}
        self._new: list[int] = []
        self._changed: set[int] = set()
        self._turns: dict[tuple[int, str | None], int] = {}
        self._changes: dict[int, Change] = {}
        self._made: list[int] = []

    def find(self, id: str) -> Slot | None:
        """The slot of a record by its id."""
        return self._one("id = ?", id_of(id))

    def slot(self, key: int) -> Slot:
        found = self._slots.get(key) or self._one("key = ?", key)
        if found is None:
            raise KeyError(key)
        return found

    def number(self, scope: Scope) -> int:
        """The number of an exact scope, made where there is none."""
        found = self.transaction.number(scope)
        if found is None:
            found = self.transaction.make(scope)
            self._made.append(found)
        return found

    def new(self, record: Record) -> tuple[Slot, Slot | None]:
        """A slot for a new record, and the last turn of its session, if it has one."""
        scope = self.number(record.scope)
        key = self.transaction.next_key(scope)
        turn = is_turn(record)
        previous = self._last_turn(scope, record, key) if turn else None
        self._new.append(key)
        change = self._change(scope)
        change.count += 1
        change.turns += turn
        return Slot(key, record), previous

    def save(self, slot: Slot) -> None:
        self._slots[slot.key] = slot
        self._changed.add(slot.key)

    def forget(self, slot: Slot) -> None:
        """Delete a slot that has been dropped from the index."""
        self.db.execute("DELETE FROM record WHERE key = ?", (slot.key,))
        self._slots.pop(slot.key, None)
        self._changed.discard(slot.key)
        change = self._change(slot.key >> 32)
        change.count -= 1
        change.turns -= is_turn(slot.record)

    def add(self, key: int, document: Document) -> None:
        change = self._change(key >> 32)
        change.add(key, document)
        change.length += LENGTHS[document.length]

    def remove(self, key: int, document: Document) -> None:
        change = self._change(key >> 32)
        change.remove(key, document)
        change.length -= LENGTHS[document.length]

    def finish(self) -> None:
        """Write the slots; let the transaction go on with the rest."""
        if self._new:
            rows = ((self.transaction.next_seq(), *row_of(self._slots[key])) for key in self._new)
            self.db.executemany(_INSERT, rows)
        if changed := sorted(self._changed.difference(self._new)):
            self.db.executemany(_UPDATE, [(*row_of(self._slots[key]), key) for key in changed])
        self.transaction.merge(self._changes)

    def undo(self) -> None:
        """Forget what the file, rolled back, no longer holds."""
        for number in self._made:
            self.transaction.forget(number)

    def _change(self, scope: int) -> Change:
        found = self._changes.get(scope)
        if found is None:
            found = self._changes[scope] = Change()
        return found

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
        row = self.db.execute(sql, values).fetchone()
        if row is None:
            return None
        key: int = row[0]
        return self._slots.get(key) or slot_of(row, {key >> 32: self.transaction.scope(key >> 32)})
