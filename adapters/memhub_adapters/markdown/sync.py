"""Bringing the index up to date with the files: what a hand has added, changed, moved or removed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Final

from memhub.records import Record
from memhub.search.indexing import Slot, change, drop, insert, is_turn
from memhub_adapters.markdown import files
from memhub_adapters.markdown.book import TreeBook, written_order
from memhub_adapters.markdown.errors import Fault
from memhub_adapters.markdown.fields import Memory, memory_of
from memhub_adapters.markdown.files import Row
from memhub_adapters.markdown.look import MOST_BYTES, Difference, digest_of
from memhub_adapters.markdown.names import SUFFIX, derived_id, short_id
from memhub_adapters.markdown.note import read
from memhub_adapters.markdown.reach import Reach
from memhub_adapters.markdown.tree import Place, Stamp

__all__ = ["sync"]

MOST_TURNS: Final = 100
"""Most files that may need an id derived from one and the same place, one after another."""

_ID: Final = re.compile(r"^id:[ \t]*[\"']?([^\s\"']+)", re.MULTILINE)


def sync(book: TreeBook, reach: Reach) -> None:
    """Make the index of these scopes true to their files. Writes no file."""
    book.mirrors = True
    work = _Sync(book)
    look = book.transaction.look()
    while work.take(list(look.differences(book.db, reach))):
        # A copy has lost its original, and is now looked at again.
        continue
    book.compared.update(look.scopes(book.db, reach))
    book.transaction.complete = book.transaction.complete or reach.scopes is None


@dataclass(frozen=True, slots=True)
class _File:
    """A file just read: what it holds, or what is wrong with it."""

    place: Place
    stamp: Stamp
    digest: bytes
    memory: Memory | None = None
    fault: Fault | None = None
    id: str | None = None

    def order(self) -> tuple[Any, ...]:
        """The order of writing; of files with one id, the one that others are copies of comes first."""
        if self.memory is None:
            return (0,)
        record = self.memory.record
        own_name = self.place.name.endswith(short_id(record.id) + SUFFIX)
        written = -(self.memory.written_at or record.updated_at).timestamp()
        age = (not self.memory.named, written, not own_name, self.stamp.mtime, str(self.place))
        return (1, *written_order(record), *age)


class _Sync:
    """One pass over what differs; `_leaving` holds the files of records that may turn up elsewhere."""

    def __init__(self, book: TreeBook) -> None:
        self._book = book
        self._tree = book.transaction.tree
        self._now = book.transaction.now()
        self._leaving: dict[str, Row] = {}
        self._placed: dict[str, int] = {}
        self._claimed: set[str] = set()
        self._disordered: set[tuple[int, str]] = set()

    def take(self, found: Iterable[Difference]) -> bool:
        """Read what has changed, and take it over. Whether that has made more to be read."""
        read = [file for difference in found for file in self._differing(difference)]
        self._claimed = {file.memory.record.id for file in read if file.memory and file.memory.named}
        for file in read:
            self._give_way(file)
        for file in sorted(read, key=_File.order):
            if file.memory is None:
                self._store(file, None)
            else:
                self._place(file, file.memory)
        leaving, self._leaving = self._leaving, {}
        again = False
        for id, row in leaving.items():
            again = self._drop(id, row) or again
        self._resettle()
        return again

    def _differing(self, difference: Difference) -> list[_File]:
        number = self._book.number(difference.scope)
        for name in difference.gone:
            self._leave(files.by_place(self._book.db, number, name))
        read = []
        for name in difference.changed:
            row = files.by_place(self._book.db, number, name)
            file = self._read(Place(difference.scope, name), row)
            if file is None:
                self._leave(row)
            elif row and row.digest == file.digest and row.stamp.mtime == file.stamp.mtime:
                self._put(row._replace(stamp=file.stamp, seen=self._now))
            else:
                if row and row.record is not None and (file.memory is None or file.id != self._id_of(row)):
                    self._leave(row)
                read.append(file)
        return read

    def _read(self, place: Place, row: Row | None) -> _File | None:
        """A file, None where it has just gone."""
        try:
            data, stamp = self._tree.read(str(place), MOST_BYTES + 1)
        except FileNotFoundError:
            return None
        except OSError as error:
            stamp = self._tree.stamp(str(place)) or Stamp(0, 0, 0)
            return _File(place, stamp, b"", fault=Fault(f"cannot be read: {error.strerror}"))
        digest, text = digest_of(data), data.decode(errors="replace")
        try:
            memory = self._named(memory_of(read(_decoded(data)), place, stamp.mtime), place, row)
        except Fault as fault:
            known = _ID.search(text)
            return _File(place, stamp, digest, fault=fault, id=known[1] if known else None)
        return _File(place, stamp, digest, memory, id=memory.record.id)

    def _named(self, memory: Memory, place: Place, row: Row | None) -> Memory:
        """A memory without an id of its own keeps the one that was derived for its file before."""
        if memory.named or row is None or row.record is None:
            return memory
        known = self._id_of(row)
        if known == memory.record.id:
            return memory
        if all(known != derived_id(*place, turn=turn) for turn in range(1, MOST_TURNS)):
            return memory
        return replace(memory, record=replace(memory.record, id=known))

    def _give_way(self, file: _File) -> None:
        """Where a file had an id that is written in another one now, that one was the record's."""
        if file.memory is None or file.memory.named or file.id not in self._claimed:
            return
        row = files.by_place(self._book.db, self._book.number(file.place.scope), file.place.name)
        if row is not None and row.record is not None and self._id_of(row) == file.id:
            self._leave(row)

    def _place(self, file: _File, memory: Memory) -> None:
        """Give a memory its slot: the one its file has, the one of the file it was, or a new one."""
        record = memory.record
        if record.id in self._claimed and not memory.named:
            return self._second(file, memory)
        number = self._book.number(file.place.scope)
        row = files.by_place(self._book.db, number, file.place.name)
        if row is not None and row.record is not None and self._id_of(row) == record.id:
            return self._store(file, self._revise(row.record, record), memory)
        if record.id in self._leaving:
            left = self._leaving.pop(record.id)
            self._release(left)
            return self._store(file, self._revise(left.record or 0, record), memory)
        holder = self._holder(record.id)
        if holder is None:
            return self._store(file, self._insert(record), memory)
        if self._is_there(holder):
            return self._second(file, memory)
        files.remove(self._book.db, holder.scope, holder.name)
        return self._store(file, self._revise(holder.record or 0, record), memory)

    def _second(self, file: _File, memory: Memory) -> None:
        """Another file has this id: a written one makes this a copy, a derived one goes on to the next."""
        if memory.named:
            return self._store(replace(file, id=memory.record.id), None)
        ids = (derived_id(*file.place, turn=turn) for turn in range(1, MOST_TURNS))
        id = next(id for id in ids if self._holder(id) is None)
        return self._place(file, replace(memory, record=replace(memory.record, id=id)))

    def _store(self, file: _File, record: int | None, memory: Memory | None = None) -> None:
        """Note what a file is."""
        number = self._book.number(file.place.scope)
        if memory is not None and record is not None:
            self._placed[memory.record.id] = record
            self._enter(number, memory)
        fault, line = (file.fault.problem, file.fault.line) if file.fault else (None, None)
        id, key = (file.id if record is None else None), (memory.key if memory else None)
        row = Row(number, file.place.name, file.stamp, self._now, file.digest, record, id, key, fault, line)
        self._put(row)

    def _put(self, row: Row) -> None:
        files.put(self._book.db, [row], change=self._book.transaction.change)

    def _revise(self, key: int, record: Record) -> int:
        """Take over a record that has changed in its file; returns its key."""
        slot = self._book.slot(key)
        if slot.record == record:
            return key
        if _same_session(slot.record, record):
            change(self._book, slot, record)
            return key
        self._take_out(slot)
        return self._insert(record)

    def _insert(self, record: Record) -> int:
        slot, before = self._book.new(record)
        conversation = record.provenance.conversation_id
        if before is not None and conversation and written_order(record) < written_order(before.record):
            self._disordered.add((slot.key >> 32, conversation))
        return insert(self._book, slot, before).key

    def _resettle(self) -> None:
        """Put in order the conversations that have got a turn from before their last."""
        for scope, conversation in self._disordered:
            moved = self._book.resettle(scope, conversation)
            files.rekey(self._book.db, moved, change=self._book.transaction.change)
            self._placed = {id: moved.get(key, key) for id, key in self._placed.items()}
        self._disordered.clear()

    def _take_out(self, slot: Slot) -> None:
        drop(self._book, slot)
        self._book.forget(self._book.slot(slot.key))
        self._book.transaction.erases = True

    def _leave(self, row: Row | None) -> None:
        """A file is gone, or holds something else now."""
        if row is None:
            return
        if row.record is None:
            files.remove(self._book.db, row.scope, row.name)
        else:
            self._leaving[self._id_of(row)] = row

    def _drop(self, id: str, row: Row) -> bool:
        """A record's file is gone for good. Whether a copy of it is there, which then is the record."""
        self._take_out(self._book.slot(row.record or 0))
        self._release(row)
        copies = [copy for copy in files.by_id(self._book.db, id) if copy.fault is None]
        for copy in copies:
            files.remove(self._book.db, copy.scope, copy.name)
        return bool(copies)

    def _release(self, row: Row) -> None:
        """Forget what a file was, unless it has become something else already."""
        held = files.by_place(self._book.db, row.scope, row.name)
        if held is not None and held.record == row.record:
            files.remove(self._book.db, row.scope, row.name)

    def _holder(self, id: str) -> Row | None:
        """The row of the file whose record has this id."""
        key = self._placed.get(id)
        if key is None:
            slot = self._book.find(id)
            key = None if slot is None else slot.key
        return None if key is None else files.by_record(self._book.db, key)

    def _is_there(self, row: Row) -> bool:
        return self._tree.stamp(str(Place(self._book.transaction.scope(row.scope), row.name))) is not None

    def _id_of(self, row: Row) -> str:
        return self._book.slot(row.record or 0).record.id

    def _enter(self, number: int, memory: Memory) -> None:
        """Enter the memory's idempotency key into the ledger, which other records may share."""
        if memory.key is None or memory.digest is None:
            return
        db, where = self._book.db, (number, memory.key)
        found = db.execute("SELECT ids FROM ledger WHERE scope = ? AND key = ?", where).fetchone()
        ids = json.loads(found[0]) if found else []
        if memory.record.id not in ids:
            ids.append(memory.record.id)
            db.execute(
                "INSERT OR REPLACE INTO ledger VALUES(?, ?, ?, ?)", (*where, memory.digest, json.dumps(ids))
            )


def _decoded(data: bytes) -> str:
    """A file's text. Raises Fault naming the line of the first byte that is not UTF-8."""
    if len(data) > MOST_BYTES:
        raise Fault(f"is larger than {MOST_BYTES:,} bytes; split it")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise Fault("is not UTF-8; save it as UTF-8", data.count(b"\n", 0, error.start) + 1) from None


def _same_session(old: Record, new: Record) -> bool:
    """Whether a record keeps its place among the turns of its scope."""
    conversations = {record.provenance.conversation_id for record in (old, new)}
    return old.scope == new.scope and is_turn(old) == is_turn(new) and len(conversations) == 1
