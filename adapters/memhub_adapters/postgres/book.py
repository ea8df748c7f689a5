"""What one write changes, worked out over the slots that it loaded; saved afterwards, together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from memhub.records import Record
from memhub.scope import Scope
from memhub.search import Document
from memhub.search.documents import LENGTHS
from memhub.search.indexing import Slot, continues, is_turn
from memhub_adapters.postgres.rows import same_row
from memhub_adapters.postgres.scopes import Room

__all__ = ["Book", "Change", "Entry"]


@dataclass(slots=True)
class Change:
    """What happens to the documents of one scope, by key."""

    added: dict[int, Document] = field(default_factory=dict)
    removed: dict[int, Document] = field(default_factory=dict)

    def add(self, key: int, document: Document) -> None:
        """Index a document."""
        self.added[key] = document

    def remove(self, key: int, document: Document) -> None:
        """Take a document out of the index; one added here was never written."""
        if self.added.pop(key, None) is None:
            self.removed[key] = document


@dataclass(frozen=True, slots=True)
class Entry:
    """What the ledger keeps of an idempotency key."""

    scope: Scope
    key: str
    digest: str
    ids: list[str]


class Book:
    """Implements `memhub.search.indexing.Index` over what was loaded for one write.

    `rooms` are the scopes that it holds. `slots` are the records that it named with the turns beside
    them, `turns` the last turn of each session that it may go on with. `seen` is the ledger's entry
    for its idempotency key.
    """

    def __init__(
        self, rooms: Iterable[Room], slots: Iterable[Slot], turns: Iterable[Slot], seen: Entry | None
    ) -> None:
        self.rooms = {room.number: room for room in rooms}
        self.seen = seen
        self.noted: Entry | None = None
        self.changes: dict[int, Change] = {}
        self._numbers = {room.canonical: room.number for room in self.rooms.values()}
        self._stored = {slot.key: slot for slot in (*turns, *slots)}
        self._slots = dict(self._stored)
        self._keys = {slot.record.id: key for key, slot in self._slots.items()}
        self._turns = {(slot.key >> 32, slot.record.provenance.conversation_id): slot.key for slot in turns}
        self._gone: list[int] = []

    def find(self, id: str) -> Slot | None:
        """The slot of a record that was named in the loading, or written here."""
        key = self._keys.get(id)
        return None if key is None else self._slots[key]

    def slot(self, key: int) -> Slot:
        return self._slots[key]

    def new(self, record: Record) -> tuple[Slot, Slot | None]:
        """A slot for a new record, and the last turn of its session, if it has one."""
        room = self.room(record.scope)
        key = room.number << 32 | room.next
        room.next += 1
        room.count += 1
        room.turns += is_turn(record)
        self._keys[record.id] = key
        return Slot(key, record), self._last_turn(room, record, key) if is_turn(record) else None

    def room(self, scope: Scope) -> Room:
        """The scope, which this write holds."""
        return self.rooms[self._numbers[scope.canonical]]

    def save(self, slot: Slot) -> None:
        self._slots[slot.key] = slot

    def forget(self, slot: Slot) -> None:
        """Delete a slot that has been dropped from the index."""
        room = self.rooms[slot.key >> 32]
        room.count -= 1
        room.turns -= is_turn(slot.record)
        del self._slots[slot.key], self._keys[slot.record.id]
        self._gone.append(slot.key)

    def add(self, key: int, document: Document) -> None:
        self._change(key).add(key, document)
        self.rooms[key >> 32].length += LENGTHS[document.length]

    def remove(self, key: int, document: Document) -> None:
        self._change(key).remove(key, document)
        self.rooms[key >> 32].length -= LENGTHS[document.length]

    @property
    def deleted(self) -> list[int]:
        """The keys whose rows go."""
        return self._gone

    @property
    def inserted(self) -> list[Slot]:
        """The slots that have no row yet."""
        return [slot for key, slot in self._slots.items() if key not in self._stored]

    @property
    def updated(self) -> list[Slot]:
        """The slots whose rows change."""
        stored = self._stored
        return [
            slot for key, slot in self._slots.items() if key in stored and not same_row(slot, stored[key])
        ]

    def _change(self, key: int) -> Change:
        return self.changes.setdefault(key >> 32, Change())

    def _last_turn(self, room: Room, record: Record, key: int) -> Slot | None:
        """The last turn of the record's session, which from now on is `key`."""
        conversation = record.provenance.conversation_id
        last = self._turns.get((room.number, conversation))
        self._turns[room.number, conversation] = key
        slot = None if last is None else self._slots[last]
        return slot if slot is not None and continues(slot.record, record) else None
