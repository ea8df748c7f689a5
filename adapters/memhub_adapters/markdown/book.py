"""What one write changes: the index, as in the SQLite adapter, and the files behind it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from memhub.errors import Conflict
from memhub.records import Record
from memhub.scope import Scope
from memhub.search.indexing import Slot, drop, insert, is_turn
from memhub_adapters.markdown import files
from memhub_adapters.markdown.errors import Fault, Stale
from memhub_adapters.markdown.fields import Memory, memory_of, new_text, rewritten
from memhub_adapters.markdown.files import Row
from memhub_adapters.markdown.journal import Batch
from memhub_adapters.markdown.look import MOST_BYTES, Look, digest_of
from memhub_adapters.markdown.names import file_name
from memhub_adapters.markdown.note import read
from memhub_adapters.markdown.reach import EVERYTHING, Reach
from memhub_adapters.markdown.spent import spent_path, spent_text
from memhub_adapters.markdown.tree import Place, Stamp, Tree
from memhub_adapters.sqlite.book import Book
from memhub_adapters.sqlite.transaction import Transaction

__all__ = ["TreeBook", "TreeTransaction", "written_order"]

_NOTHING = Stamp(0, 0, 0)


class TreeTransaction(Transaction):
    """One transaction of the index, and the files that change with it.

    `change` is its number among those that changed rows of files, which readers go by.
    `trusted`: scopes that this process has compared with the index before, and that only others
    who keep the index up to date have written to since. `marked`: one of those may have been killed
    before it could. `complete`: the whole index has been found, or made, true.
    """

    def __init__(
        self,
        db: sqlite3.Connection,
        tree: Tree,
        now: Callable[[], int],
        *,
        trusted: set[Scope],
        marked: bool,
    ) -> None:
        super().__init__(db)
        self.change = files.next_change(db)
        self.tree = tree
        self.now = now
        self.batch = Batch()
        self.rows: dict[str, Row] = {}
        self.trusted = trusted
        self.marked = marked
        self.compared: set[Scope] = set()
        self.complete = False
        self.erases = False

    def look(self) -> Look:
        """A look at the tree that leaves out what this transaction is about to change."""
        return Look(self.tree, self.now, self.batch)


class TreeBook(Book):
    """One write.

    `mirrors`: what it changes comes from the files, so none is written. `key`: the idempotency key
    and digest of what it creates. `compared`: scopes that it has found, or made, equal to the index.
    """

    transaction: TreeTransaction

    def __init__(self, transaction: Transaction) -> None:
        super().__init__(transaction)
        self.mirrors = False
        self.key: tuple[str, str] | None = None
        self.compared: set[Scope] = set()
        self._gone: list[Slot] = []
        self._batch = Batch()
        self._rows: dict[str, Row] = {}

    def expect(self, scope: Scope) -> None:
        """Raise Stale where the index may not know all that is in a scope."""
        if self.transaction.marked and not self.transaction.complete:
            self.expect_everywhere()
        elif scope not in self.transaction.trusted:
            self.transaction.look().at(self.db, Reach((scope,)))
            self.compared.add(scope)

    def expect_everywhere(self) -> None:
        """Raise Stale where the index does not know all that is in the tree."""
        self.transaction.look().at(self.db, EVERYTHING)
        self.transaction.complete = True

    def expect_record(self, id: str) -> None:
        """Raise Stale where the index does not know what a record's file holds.

        Raises Conflict, naming file and line, where the file that has this id cannot be read.
        """
        if self.transaction.look().at_record(self.db, id):
            return
        self.expect_everywhere()
        for row in files.by_id(self.db, id):
            if row.fault is not None:
                path = Place(self.transaction.scope(row.scope), row.name)
                raise Conflict(f"{path}:{row.line}: {row.fault}; mend the file, then repeat")

    def forget(self, slot: Slot) -> None:
        super().forget(slot)
        if slot.key in self._new:
            self._new.remove(slot.key)
        self._gone.append(slot)

    def resettle(self, scope: int, conversation: str) -> dict[int, int]:
        """Put the turns of a conversation in the order of writing; returns their new keys by the old ones."""
        sql = "SELECT key FROM record WHERE scope = ? AND conversation = ? AND role IS NOT NULL"
        keys = [row[0] for row in self.db.execute(sql, (scope, conversation))]
        keys += [
            key for key in self._new if key >> 32 == scope and _is_of(self._slots[key].record, conversation)
        ]
        records = {key: self.slot(key).record for key in keys}
        for key in keys:
            drop(self, self.slot(key))
            self.forget(self.slot(key))
        self._turns.pop((scope, conversation), None)
        keys.sort(key=lambda key: written_order(records[key]))
        return {key: insert(self, *self.new(records[key])).key for key in keys}

    def discard(self, path: str, stamp: Stamp | None) -> None:
        """Remove a file that the index need not know."""
        self._batch.remove(path, stamp)

    def finish(self) -> None:
        if not self.mirrors:
            for slot in self._gone:
                self._remove(slot)
            for key in self._new:
                self._create(self._slots[key])
            for key in sorted(self._changed.difference(self._new)):
                self._rewrite(self._slots[key])
        super().finish()
        self.transaction.batch.merge(self._batch)
        self.transaction.rows |= self._rows
        self.transaction.compared |= self.compared

    def _create(self, slot: Slot) -> None:
        record = slot.record
        place = Place(record.scope, file_name(record))
        if self._is_taken(place):
            place = Place(record.scope, file_name(record, longer=True))
        key, digest = self.key or (None, None)
        data = new_text(Memory(record, key, digest)).encode()
        self._put(place, data, None, Row(slot.key >> 32, place.name, _NOTHING, 0, b"", slot.key, key=key))

    def _rewrite(self, slot: Slot) -> None:
        """Write the file of a record that has changed; new neighbours alone change no file."""
        stored = self.db.execute("SELECT revision FROM record WHERE key = ?", (slot.key,)).fetchone()
        if stored == (slot.record.revision,):
            return
        row = files.by_record(self.db, slot.key)
        if row is None:
            raise Stale(EVERYTHING)
        place = Place(slot.record.scope, row.name)
        try:
            note = read(self._text(place, row.stamp))
            old = memory_of(note, place, row.stamp.mtime)
            old = replace(old, record=replace(old.record, id=slot.record.id))
            data = rewritten(note, old, slot.record).encode()
        except Fault as fault:
            raise Conflict(f"{place}:{fault.line}: {fault.problem}; mend the file, then repeat") from None
        self._put(place, data, row.stamp, row._replace(digest=b""))

    def _remove(self, slot: Slot) -> None:
        """Remove a record's file, and the copies of it."""
        held = files.by_record(self.db, slot.key)
        copies = [row for row in files.by_id(self.db, slot.record.id) if row.fault is None]
        for row in filter(None, (held, *copies)):
            files.remove(self.db, row.scope, row.name)
            path = str(Place(self.transaction.scope(row.scope), row.name))
            self._rows.pop(path, None)
            self._batch.remove(path, row.stamp)
        if held is not None and held.key is not None:
            self._spend(slot.record, held.scope, held.key)

    def _spend(self, record: Record, scope: int, key: str) -> None:
        """Once the last record of an idempotency key goes, keep the key where no index is needed."""
        sql = "SELECT digest, ids FROM ledger WHERE scope = ? AND key = ?"
        found = self.db.execute(sql, (scope, key)).fetchone()
        if found is None or any(map(self.find, json.loads(found[1]))):
            return
        path = spent_path(record.scope, key)
        self._batch.put(path, spent_text(key, found[0]), self.transaction.tree.stamp(path))

    def _put(self, place: Place, data: bytes, expected: Stamp | None, row: Row) -> None:
        path = str(place)
        self._batch.put(path, data, expected)
        self._rows[path] = row._replace(digest=digest_of(data))
        files.put(self.db, [row], change=self.transaction.change)

    def _text(self, place: Place, stamp: Stamp) -> str:
        """The text of a file as this transaction leaves it."""
        path = str(place)
        pending = self.transaction.batch.puts.get(path)
        if pending is not None:
            return pending.data.decode()
        try:
            data, found = self.transaction.tree.read(path, MOST_BYTES)
        except FileNotFoundError:
            raise Stale(EVERYTHING) from None
        if found != stamp:
            raise Stale(Reach((place.scope,)))
        return data.decode()

    def _is_taken(self, place: Place) -> bool:
        path = str(place)
        if path in self._batch or path in self.transaction.batch:
            return True
        return self.transaction.tree.exists(path)


def written_order(record: Record) -> tuple[datetime, int]:
    """What orders records that were not written one after another before our eyes."""
    return record.created_at, record.position


def _is_of(record: Record, conversation: str) -> bool:
    return is_turn(record) and record.provenance.conversation_id == conversation
