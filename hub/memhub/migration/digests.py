"""What is compared at the end: a digest over everything that a target must hold of a record."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import replace

from memhub.interchange import record_to_json
from memhub.records import Record

__all__ = ["digest", "relinked"]


def digest(record: Record, *, ignoring: Collection[str]) -> bytes:
    """SHA-256 of the record's canonical JSON without the fields of these names."""
    given = {name: value for name, value in record_to_json(record).items() if name not in ignoring}
    return hashlib.sha256(json.dumps(given, sort_keys=True, ensure_ascii=False).encode()).digest()


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
