"""What Mem0 has no place for, in its metadata: one JSON text under one key of ours, written whole.

One text, so that a merge of metadata cannot mix two versions of a record, and every number keeps its
digits. `token` is the revision as it was written; it marks the row of a write whose answer was lost.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, timedelta
from typing import Any, Final

from memhub.errors import InvalidInput
from memhub.interchange import record_from_json, record_to_json
from memhub.records import Attributes, Record
from memhub.scope import Scope
from memhub.validation import attributes
from memhub_adapters.mem0.locators import Locator
from memhub_adapters.mem0.rows import Row
from memhub_adapters.mem0.scopes import scope_of

__all__ = ["KEY", "Held", "held", "written"]

KEY: Final = "memhub"
"""The metadata key that is ours."""

_ELSEWHERE: Final = ("id", "scope", "content", "revision")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Held:
    """A row that is in one of our scopes, as a record; `origin` is the id that it was restored from."""

    row: Row
    user: str
    record: Record
    token: str | None = None
    origin: str | None = None


def written(
    record: Record, *, others: Mapping[str, Any] | None = None, origin: str | None = None
) -> dict[str, Any]:
    """The metadata of a record whose revision is a fresh token; `others` is what the row had beside it."""
    given = record_to_json(record)
    kept = {
        name: value for name, value in given.items() if name not in _ELSEWHERE and value not in (None, [], {})
    }
    own = {"token": record.revision, "origin": origin, **kept}
    text = json.dumps({name: value for name, value in own.items() if value is not None}, ensure_ascii=False)
    return {**(others or {}), KEY: text}


def held(row: Row) -> Held | None:
    """What a row holds; None where its user id is none of ours. Rows that others wrote are plain facts."""
    scope = scope_of(row.user)
    if scope is None or row.user is None:
        return None
    id = Locator.of(row.id, row.user).text()
    own = _own(row.metadata.get(KEY))
    token, origin = own.pop("token", None), own.pop("origin", None)
    if isinstance(token, str):
        try:
            record = _recorded(own, row, id, scope, token)
        except InvalidInput:
            token = None  # someone else wrote under our key: read like any row that others wrote
        else:
            return Held(row, row.user, record, token, origin if isinstance(origin, str) else None)
    return Held(row, row.user, _foreign(row, id, scope))


def _recorded(own: dict[str, Any], row: Row, id: str, scope: Scope, token: str) -> Record:
    given = {**own, "id": id, "scope": scope.name or dict(scope.pairs), "revision": token}
    # A text that others changed may be longer than ours can be; it is shown all the same.
    record = record_from_json({**given, "content": "-"})
    return replace(record, content=row.text, revision=f"{token}.{_hash(row.text)}")


def _own(value: object) -> dict[str, Any]:
    try:
        own = json.loads(value) if isinstance(value, str) else None
    except (ValueError, RecursionError):
        return {}
    return own if isinstance(own, dict) else {}


def _foreign(row: Row, id: str, scope: Scope) -> Record:
    made = row.created or _EPOCH
    shown = json.dumps([row.text, row.metadata, str(row.expires)], sort_keys=True, default=str)
    return Record(
        id=id,
        scope=scope,
        kind="fact",
        content=row.text,
        attributes=_attributes(row.metadata),
        created_at=made,
        updated_at=made,
        observed_at=made,
        # Mem0's expiration_date is the last day on which the memory is shown, in UTC.
        expires_at=datetime.combine(row.expires, time(), UTC) + timedelta(days=1) if row.expires else None,
        revision=_hash(shown),
    )


def _attributes(metadata: Mapping[str, Any]) -> Attributes:
    """What others put beside their memory, as far as it is attributes to us."""
    found: dict[str, Any] = {}
    for name, value in metadata.items():
        try:
            found |= attributes("metadata", {name: value}) if name != KEY else {}
        except InvalidInput:
            continue
    return found


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]
