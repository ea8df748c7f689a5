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

from memhub import validation
from memhub.errors import InvalidInput
from memhub.records import KINDS, Attributes, Kind, Provenance, Record
from memhub.scope import Scope
from memhub_adapters.mem0.locators import Locator
from memhub_adapters.mem0.rows import Row
from memhub_adapters.mem0.scopes import scope_of

__all__ = ["KEY", "Held", "as_stored", "held", "written"]

KEY: Final = "memhub"
"""The metadata key that is ours."""

_KINDS: Final[Mapping[str, Kind]] = {kind: kind for kind in KINDS}
_UNKNOWN: Final = Provenance()
_LIKE_CREATED: Final = ("updated_at", "observed_at")
_OTHER_TIMES: Final = ("invalid_at", "expires_at")
_TEXTS: Final = ("invalid_reason", "supersedes", "superseded_by", "target")
_SAID: Final = ("conversation_id", "run_id", "author", "role")
_UNSAID: Final[tuple[object, ...]] = (None, (), [], {})
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
    times = {name: getattr(record, name) for name in _OTHER_TIMES}
    times |= {name: at for name in _LIKE_CREATED if (at := getattr(record, name)) != record.created_at}
    said = {name: getattr(record.provenance, name) for name in _SAID}
    own = {
        "token": record.revision,
        "origin": origin,
        "kind": record.kind,
        "created_at": record.created_at.isoformat(),
        **{name: at.isoformat() for name, at in times.items() if at is not None},
        **{name: getattr(record, name) for name in _TEXTS},
        "tags": record.tags,
        "attributes": record.attributes,
        "provenance": {name: text for name, text in said.items() if text is not None},
        "position": record.position or None,
        "payload": None if record.payload is None else [record.payload],
        "supports": record.supports,
    }
    given = {name: value for name, value in own.items() if value not in _UNSAID}
    return {**(others or {}), KEY: json.dumps(given, ensure_ascii=False)}


def held(row: Row) -> Held | None:
    """What a row holds; None where its user id is none of ours. Rows that others wrote are plain facts."""
    scope = scope_of(row.user)
    if scope is None or row.user is None:
        return None
    id = Locator.of(row.id, row.user).text()
    own = _own(row.metadata.get(KEY))
    try:
        record = _recorded(own, row, id, scope)
    except (LookupError, TypeError, ValueError, InvalidInput):
        # Someone else's row, or one under whose key of ours someone else wrote.
        return Held(row, row.user, _foreign(row, id, scope))
    return Held(row, row.user, record, own["token"], own.get("origin"))


def as_stored(record: Record, row: Row, user: str, origin: str | None) -> Held:
    """What `held` reads of the row that a record has just been written to."""
    id, revision = Locator.of(row.id, user).text(), _revision(record.revision, record.content)
    return Held(row, user, replace(record, id=id, revision=revision), record.revision, origin)


def _recorded(own: dict[str, Any], row: Row, id: str, scope: Scope) -> Record:
    made = _moment(own["created_at"])
    given, payload = own.get("attributes"), own.get("payload")
    return Record(
        id=id,
        scope=scope,
        kind=_KINDS[own["kind"]],
        content=row.text,
        tags=tuple(map(_text, own.get("tags", ()))),
        attributes=validation.attributes("attributes", given) if given else {},
        provenance=Provenance(**own["provenance"]) if "provenance" in own else _UNKNOWN,
        created_at=made,
        updated_at=_time(own, "updated_at") or made,
        observed_at=_time(own, "observed_at") or made,
        invalid_at=_time(own, "invalid_at"),
        invalid_reason=_name(own, "invalid_reason"),
        supersedes=_name(own, "supersedes"),
        superseded_by=_name(own, "superseded_by"),
        expires_at=_time(own, "expires_at"),
        revision=_revision(own["token"], row.text),
        position=int(own.get("position", 0)),
        target=_name(own, "target"),
        payload=payload[0] if payload is not None else None,
        supports=tuple(map(_text, own.get("supports", ()))),
    )


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
            found |= validation.attributes("metadata", {name: value}) if name != KEY else {}
        except InvalidInput:
            continue
    return found


def _time(own: Mapping[str, Any], name: str) -> datetime | None:
    value = own.get(name)
    return None if value is None else _moment(value)


def _name(own: Mapping[str, Any], name: str) -> str | None:
    value = own.get(name)
    return None if value is None else _text(value)


def _moment(value: str) -> datetime:
    moment = datetime.fromisoformat(value)
    if moment.utcoffset() != timedelta(0):
        raise ValueError("not in UTC")
    return moment


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("not a text")
    return value


def _revision(token: str, text: str) -> str:
    """Of the token and the text, so that a text that others change changes it too."""
    return f"{_text(token)}.{_hash(text)}"


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]
