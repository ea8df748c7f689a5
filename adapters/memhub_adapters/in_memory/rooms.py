"""Where the in-memory adapter keeps records: slots, postings and counts by exact scope."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from memhub.records import Record
from memhub.scope import Scope
from memhub.search import BLOCK, STOPS, Document, Postings, Totals, without
from memhub.search.documents import LENGTHS
from memhub.search.indexing import Slot, continues, is_turn

__all__ = ["Room", "Rooms"]


@dataclass(slots=True)
class Room:
    """One exact scope: its number, its records in the order written, the sum of their lengths.

    `turns` counts those that are turns; `last_turns` holds the last one of each conversation id.
    """

    scope: Scope
    number: int
    next: int = 0
    length: int = 0
    turns: int = 0
    slots: dict[int, Slot] = field(default_factory=dict)
    postings: dict[str, dict[int, bytes]] = field(default_factory=dict)
    last_turns: dict[str | None, int] = field(default_factory=dict)


class Rooms:
    """Everything that is stored. Keys are scope number << 32 | number in its scope."""

    def __init__(self) -> None:
        self._rooms: dict[Scope, Room] = {}
        self._numbers: dict[int, Room] = {}
        self._keys: dict[str, int] = {}
        self._written: dict[int, int] = {}
        self._rooms_made = 0
        self.newest = 0

    def matching(self, scopes: Iterable[Scope], *, exact: bool) -> list[Room]:
        """The rooms that a query for any of these scopes reaches, each once."""
        if exact:
            return [self._rooms[scope] for scope in scopes if scope in self._rooms]
        wanted = tuple(scopes)
        return [room for room in self._rooms.values() if any(s.covers(room.scope) for s in wanted)]

    def all(self) -> Iterator[Slot]:
        """Every slot, scope by scope, in the order written."""
        for room in self._rooms.values():
            yield from room.slots.values()

    def find(self, id: str) -> Slot | None:
        """The slot of a record."""
        key = self._keys.get(id)
        return None if key is None else self.slot(key)

    def new(self, record: Record) -> tuple[Slot, Slot | None]:
        """A slot for a new record, and the last turn of its session, if it has one."""
        room = self._rooms.get(record.scope)
        if room is None:
            self._rooms_made += 1
            room = Room(record.scope, self._rooms_made)
            self._rooms[record.scope] = self._numbers[room.number] = room
        key = room.number << 32 | room.next
        room.next += 1
        room.turns += is_turn(record)
        self.newest += 1
        self._keys[record.id], self._written[key] = key, self.newest
        return Slot(key, record), self._last_turn(room, record, key)

    def written(self, slot: Slot) -> int:
        """The place of a slot in the order in which everything was written."""
        return self._written[slot.key]

    def forget(self, slot: Slot) -> None:
        """Remove a slot that has been dropped from the index."""
        room = self._room(slot.key)
        del room.slots[slot.key]
        if is_turn(slot.record):
            room.turns -= 1
            _forget_turn(room, slot)
        del self._keys[slot.record.id], self._written[slot.key]

    def clear(self, room: Room) -> None:
        """Remove a whole scope."""
        for slot in list(room.slots.values()):
            self.forget(slot)
        del self._rooms[room.scope], self._numbers[room.number]

    def postings(self, rooms: list[Room], terms: list[str]) -> Postings:
        """The postings of these terms in these scopes."""
        return {
            term: [
                ((room.number << 32) + (block << BLOCK), blob)
                for room in rooms
                for block, blob in room.postings.get(term, {}).items()
            ]
            for term in terms
        }

    def totals(self, rooms: list[Room]) -> Totals:
        """What BM25 must know of these scopes."""
        return Totals(sum(len(room.slots) for room in rooms), sum(room.length for room in rooms))

    def slot(self, key: int) -> Slot:
        return self._room(key).slots[key]

    def save(self, slot: Slot) -> None:
        self._room(slot.key).slots[slot.key] = slot

    def add(self, key: int, document: Document) -> None:
        room, number = self._room(key), key & 0xFFFFFFFF
        room.length += LENGTHS[document.length]
        for term, entry in document.entries(number & 127).items():
            blocks = room.postings.setdefault(term, {})
            blocks[number >> BLOCK] = blocks.get(number >> BLOCK, b"") + entry

    def remove(self, key: int, document: Document) -> None:
        room, number = self._room(key), key & 0xFFFFFFFF
        room.length -= LENGTHS[document.length]
        for term in document.entries(number & 127):
            blocks = room.postings[term]
            left = without(blocks.pop(number >> BLOCK), number & 127, stops=term == STOPS)
            if left:
                blocks[number >> BLOCK] = left
            if not blocks:
                del room.postings[term]

    def _room(self, key: int) -> Room:
        return self._numbers[key >> 32]

    def _last_turn(self, room: Room, record: Record, key: int) -> Slot | None:
        """The last turn of the record's session, which from now on is `key`."""
        if not is_turn(record):
            return None
        conversation = record.provenance.conversation_id
        last, room.last_turns[conversation] = room.last_turns.get(conversation), key
        slot = None if last is None else room.slots[last]
        return slot if slot is not None and continues(slot.record, record) else None


def _forget_turn(room: Room, slot: Slot) -> None:
    """Where the last turn of a conversation id has gone, the one before it is the last, of whichever session."""
    conversation = slot.record.provenance.conversation_id
    if room.last_turns.get(conversation) != slot.key:
        return
    del room.last_turns[conversation]
    for key in reversed(room.slots):
        record = room.slots[key].record
        if is_turn(record) and record.provenance.conversation_id == conversation:
            room.last_turns[conversation] = key
            return
