"""What is compared at the end: a digest over everything that a target must hold of a record."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import fields, replace
from datetime import UTC, datetime
from typing import Final

from memhub.records import Provenance, Record
from memhub.scope import Scope

__all__ = ["digest", "relinked"]

_SINGLE: Final = (str, int, float)
_FIELDS: Final = tuple(field.name for field in fields(Record))


def digest(record: Record, *, ignoring: Collection[str]) -> bytes:
    """SHA-256 of all that the record says but for the fields of these names.

    Equal for records that read equal as JSON; computed without going through JSON, since every
    record of a migration is digested twice.
    """
    said = [_plain(getattr(record, name)) for name in _FIELDS if name not in ignoring]
    return hashlib.sha256(repr(said).encode()).digest()


def relinked(record: Record, names: Mapping[str, str]) -> Record:
    """The record with its links under new names; a link that has none stays as it is."""
    before, after = record.supersedes, record.superseded_by
    if before is None and after is None:
        return record
    return replace(
        record,
        supersedes=None if before is None else names.get(before, before),
        superseded_by=None if after is None else names.get(after, after),
    )


def _plain(value: object) -> object:
    """The value as one that has a single spelling."""
    if value is None or isinstance(value, _SINGLE):
        return value
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    if isinstance(value, Scope):
        return value.canonical
    if isinstance(value, Provenance):
        return (value.conversation_id, value.run_id, value.author, value.role)
    if isinstance(value, Mapping):
        return (json.dumps(value, sort_keys=True),) if value else {}
    return (json.dumps(value, sort_keys=True),) if value else ()
