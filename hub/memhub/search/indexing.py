"""Keeping an index true to its records: who precedes whom, and what a turn lends to the next.

A turn is a record with a role. Its session is one conversation of its exact scope, else one
observation; the turn before it is the nearest earlier one of the session that still exists.
An adapter gives the storage, as an `Index`; the rules are here, once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

from memhub.records import Record
from memhub.search.documents import Document, document, lent_terms

__all__ = ["Index", "Slot", "change", "continues", "drop", "insert", "is_turn", "rebuilt"]


@dataclass(frozen=True, slots=True)
class Slot:
    """A stored record and its neighbours, by key (scope number << 32 | number in its scope).

    `session` is the key of the session's first turn, None for a stand-alone record.
    """

    key: int
    record: Record
    session: int | None = None
    previous: int | None = None
    following: int | None = None


class Index(Protocol):
    """What an adapter stores: slots by key, and documents by key."""

    def slot(self, key: int) -> Slot: ...
    def save(self, slot: Slot) -> None:
        """Store a slot whose record or links have changed."""

    def add(self, key: int, document: Document) -> None: ...
    def remove(self, key: int, document: Document) -> None: ...


def is_turn(record: Record) -> bool:
    """Whether the record is one message of a conversation."""
    return record.provenance.role is not None


def continues(last: Record, new: Record) -> bool:
    """Whether `new` goes on with the session of `last`, the last turn with the same conversation id.

    Without a conversation a session is one observation: one `created_at`, positions going up.
    """
    if new.provenance.conversation_id is not None:
        return True
    return last.created_at == new.created_at and last.position < new.position


def insert(index: Index, slot: Slot, previous: Slot | None) -> Slot:
    """Index a new record after `previous`, the last turn of its session. Returns its slot, linked."""
    if previous is not None:
        slot = replace(slot, session=previous.session, previous=previous.key)
        index.save(replace(previous, following=slot.key))
    elif is_turn(slot.record):
        slot = replace(slot, session=slot.key)
    index.save(slot)
    index.add(slot.key, document(slot.record, lent_terms(previous.record) if previous else None))
    return slot


def change(index: Index, slot: Slot, record: Record) -> None:
    """Store a changed record; index it anew where its words, or what it lends, have changed."""
    index.save(replace(slot, record=record))
    before = index.slot(slot.previous).record if slot.previous is not None else None
    lent = lent_terms(before)
    old, new = document(slot.record, lent), document(record, lent)
    if old != new:
        index.remove(slot.key, old)
        index.add(slot.key, new)
    if slot.following is not None:
        _relend(index, index.slot(slot.following), slot.record, record)


def drop(index: Index, slot: Slot) -> None:
    """Take a record out of the index and out of its session; the adapter deletes its slot."""
    before = index.slot(slot.previous) if slot.previous is not None else None
    index.remove(slot.key, document(slot.record, lent_terms(before.record) if before else None))
    if before is not None:
        index.save(replace(before, following=slot.following))
    if slot.following is not None:
        after = replace(index.slot(slot.following), previous=slot.previous)
        index.save(after)
        _relend(index, after, slot.record, before.record if before else None)


def rebuilt(index: Index, slot: Slot) -> Document:
    """The document that a slot must have, from the records alone."""
    before = index.slot(slot.previous).record if slot.previous is not None else None
    return document(slot.record, lent_terms(before))


def _relend(index: Index, slot: Slot, old: Record | None, new: Record | None) -> None:
    was, now = lent_terms(old), lent_terms(new)
    if was != now:
        index.remove(slot.key, document(slot.record, was))
        index.add(slot.key, document(slot.record, now))
