"""A record as a row of the `record` table, and back."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Final

from memhub.records import KINDS, Provenance, Record
from memhub.scope import Scope
from memhub.search.indexing import Slot
from memhub_adapters.sqlite.errors import Unreadable

__all__ = ["COLUMNS", "id_from", "id_of", "micros", "row_of", "slot_of", "time_of"]

Value = str | int | bytes | None
Row = tuple[Value, ...]

COLUMNS: Final = (
    "key, id, kind, content, tags, attributes, conversation, run, author, role, created_at, updated_at, "
    "observed_at, invalid_at, invalid_reason, supersedes, superseded_by, expires_at, revision, position, "
    "reserved, session, previous, following"
)

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_UUID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_KIND_NUMBER: Final = {kind: number for number, kind in enumerate(KINDS)}


def micros(moment: datetime) -> int:
    """A moment as stored."""
    return (moment - _EPOCH) // _MICROSECOND


def time_of(stored: int) -> datetime:
    """A stored moment."""
    return _EPOCH + timedelta(microseconds=stored)


def id_of(id: str) -> str | bytes:
    """An id as stored: 16 bytes for a canonical UUID, else the text."""
    return bytes.fromhex(id.replace("-", "")) if _UUID.fullmatch(id) else id


def id_from(stored: str | bytes) -> str:
    """A stored id."""
    if isinstance(stored, str):
        return stored
    text = stored.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def row_of(slot: Slot) -> Row:
    """The row of a slot, in the order of COLUMNS."""
    record, source = slot.record, slot.record.provenance
    return (
        slot.key,
        id_of(record.id),
        _KIND_NUMBER[record.kind],
        record.content,
        _dumped(record.tags),
        _dumped(record.attributes),
        source.conversation_id,
        source.run_id,
        source.author,
        source.role,
        micros(record.created_at),
        None if record.updated_at == record.created_at else micros(record.updated_at),
        micros(record.observed_at),
        _optional(record.invalid_at),
        record.invalid_reason,
        None if record.supersedes is None else id_of(record.supersedes),
        None if record.superseded_by is None else id_of(record.superseded_by),
        _optional(record.expires_at),
        record.revision,
        record.position,
        _reserved(record),
        slot.session,
        slot.previous,
        slot.following,
    )


def slot_of(row: tuple, scopes: Mapping[int, Scope]) -> Slot:  # type: ignore[type-arg]
    """The slot of a row, with its scope by number. Raises Unreadable where a damaged file gave it."""
    try:
        return _slot(row, scopes)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        raise Unreadable from None


def _slot(row: tuple, scopes: Mapping[int, Scope]) -> Slot:  # type: ignore[type-arg]
    key, id, kind, content, tags, attributes, conversation, run, author, role, *rest = row
    created, updated, observed, invalid, reason, supersedes, superseded_by, expires, *last = rest
    revision, position, reserved, session, previous, following = last
    kept = json.loads(reserved) if reserved else _NOTHING
    record = Record(
        id=id_from(id),
        scope=scopes[key >> 32],
        kind=KINDS[kind],
        content=_text(content),
        tags=tuple(json.loads(tags)) if tags else (),
        attributes=json.loads(attributes) if attributes else {},
        provenance=Provenance(conversation, run, author, role),
        created_at=time_of(created),
        updated_at=time_of(created if updated is None else updated),
        observed_at=time_of(observed),
        invalid_at=None if invalid is None else time_of(invalid),
        invalid_reason=reason,
        supersedes=None if supersedes is None else id_from(supersedes),
        superseded_by=None if superseded_by is None else id_from(superseded_by),
        expires_at=None if expires is None else time_of(expires),
        revision=revision,
        position=position,
        target=kept[0],
        payload=kept[1],
        supports=tuple(kept[2]),
    )
    return Slot(key, record, session, previous, following)


_NOTHING: Final = (None, None, ())


def _text(stored: object) -> str:
    if type(stored) is not str:
        raise TypeError
    return stored


def _reserved(record: Record) -> str | None:
    if record.target is None and record.payload is None and not record.supports:
        return None
    return json.dumps([record.target, record.payload, record.supports], ensure_ascii=False)


def _dumped(value: object) -> str | None:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")) if value else None


def _optional(moment: datetime | None) -> int | None:
    return None if moment is None else micros(moment)
