"""A record as a row of the `record` table, and back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from memhub.records import Provenance, Record
from memhub.scope import Scope
from memhub.search import Candidate
from memhub.search.indexing import Slot

__all__ = [
    "CANDIDATE",
    "SLOT",
    "SLOTS",
    "UPDATE",
    "Scopes",
    "candidate_of",
    "inserted",
    "row_of",
    "same_row",
    "slot_of",
]

_TYPES: Final = {
    "key": "bigint",
    "id": "text",
    "kind": "text",
    "content": "text",
    "tags": "jsonb",
    "attributes": "json",
    "conversation": "text",
    "run": "text",
    "author": "text",
    "role": "text",
    "created_at": "timestamptz",
    "updated_at": "timestamptz",
    "observed_at": "timestamptz",
    "invalid_at": "timestamptz",
    "invalid_reason": "text",
    "supersedes": "text",
    "superseded_by": "text",
    "expires_at": "timestamptz",
    "revision": "text",
    "position": "bigint",
    "target": "text",
    "payload": "json",
    "supports": "json",
    "session": "bigint",
    "previous": "bigint",
}
_NAMES: Final = ", ".join(_TYPES)
_AS_TEXT: Final = {"json": "text", "jsonb": "text"}

SLOT: Final = (
    f"{', '.join(f'r.{name}' for name in _TYPES)}, "
    "(SELECT f.key FROM record f WHERE f.previous = r.key), s.canonical"
)
"""Of a record `r` and its scope `s`, what `slot_of` takes."""

SLOTS: Final = f"SELECT {SLOT} FROM record r JOIN scope s ON s.id = r.scope"
"""Selects rows for `slot_of`; what follows may name the record `r` and its scope `s`."""

_GIVEN: Final = ", ".join(f"%s::{_AS_TEXT.get(type, type)}[]" for type in _TYPES.values())
_CAST: Final = ", ".join(f"{name}::{type}" for name, type in _TYPES.items())

_INSERT: Final = (
    f"INSERT INTO record(scope, {_NAMES}) SELECT key >> 32, {_CAST} FROM unnest({_GIVEN}) AS given({_NAMES})"
)

_ROW: Final = ", ".join(f"%s::{type}" for type in _TYPES.values())
_INSERT_ONE: Final = f"INSERT INTO record(scope, {_NAMES}) VALUES(%s, {_ROW})"

UPDATE: Final = f"UPDATE record SET ({_NAMES}) = ROW({_ROW}) WHERE key = %s"
"""Takes a row and its key."""


CANDIDATE: Final = (
    "r.key, r.observed_at, r.created_at, r.position, r.id, r.session, r.previous, "
    "r.role IS NOT NULL AND r.invalid_at IS NULL AND r.expires_at IS NULL"
)
"""Selects what ranking must know of a record `r`, for `candidate_of`."""


class Scopes(dict[str, Scope]):
    """Scopes by their canonical text, each parsed once."""

    def __missing__(self, canonical: str) -> Scope:
        self[canonical] = Scope.parse(canonical)
        return self[canonical]


def row_of(slot: Slot) -> tuple[object, ...]:
    """The row of a slot, in the order of the table's columns; JSON as text."""
    record, source = slot.record, slot.record.provenance
    return (
        slot.key,
        record.id,
        record.kind,
        record.content,
        _dumped(record.tags or None),
        _dumped(record.attributes or None),
        source.conversation_id,
        source.run_id,
        source.author,
        source.role,
        record.created_at,
        record.updated_at,
        record.observed_at,
        record.invalid_at,
        record.invalid_reason,
        record.supersedes,
        record.superseded_by,
        record.expires_at,
        record.revision,
        record.position,
        record.target,
        _dumped(record.payload),
        _dumped(record.supports or None),
        slot.session,
        slot.previous,
    )


def inserted(slots: Sequence[Slot]) -> tuple[str, Sequence[object]]:
    """Stores new slots: one as it is, since arrays of a single value cost more, several as columns."""
    if len(slots) == 1:
        return _INSERT_ONE, (slots[0].key >> 32, *row_of(slots[0]))
    return _INSERT, [list(column) for column in zip(*map(row_of, slots), strict=True)]


def slot_of(row: tuple[Any, ...], scopes: Scopes) -> Slot:
    """The slot of a row that SLOTS selected."""
    key, id, kind, content, tags, attributes, conversation, run, author, role, *rest = row
    created, updated, observed, invalid, reason, supersedes, superseded_by, expires, *last = rest
    revision, position, target, payload, supports, session, previous, following, canonical = last
    record = Record(
        id=id,
        scope=scopes[canonical],
        kind=kind,
        content=content,
        tags=tuple(tags or ()),
        attributes=attributes or {},
        provenance=Provenance(conversation, run, author, role),
        created_at=created,
        updated_at=updated,
        observed_at=observed,
        invalid_at=invalid,
        invalid_reason=reason,
        supersedes=supersedes,
        superseded_by=superseded_by,
        expires_at=expires,
        revision=revision,
        position=position,
        target=target,
        payload=payload,
        supports=tuple(supports or ()),
    )
    return Slot(key, record, session, previous, following)


def candidate_of(row: Sequence[Any]) -> Candidate:
    """What ranking must know of a row that CANDIDATE selected, whatever follows in it."""
    return Candidate(tuple(row[1:5]), *row[5:8])


def same_row(one: Slot, other: Slot) -> bool:
    """Whether two slots are stored alike: the turn after a turn is no part of its row."""
    return (one.record, one.session, one.previous) == (other.record, other.session, other.previous)


def _dumped(value: object) -> str | None:
    if value is None:
        return None
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
