"""Records as JSON values, and back: lossless, strict, the one form that leaves the process.

Times are RFC 3339 in UTC with microseconds and `Z`; a scope is its canonical JSON, a string or an
object; `provenance` is an object. Every field is always there, `null` where it says nothing.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import fields
from datetime import UTC, datetime
from typing import Any, Final

from memhub.errors import InvalidInput
from memhub.records import Json, Provenance, Record
from memhub.requests import check_record
from memhub.scope import Scope

__all__ = [
    "record_from_json",
    "record_to_json",
    "scope_from_json",
    "scope_to_json",
    "time_from_json",
    "time_to_json",
]

_TIMES: Final = ("created_at", "updated_at", "observed_at", "invalid_at", "expires_at")
_RECORD: Final = tuple(field.name for field in fields(Record))
_PROVENANCE: Final = tuple(field.name for field in fields(Provenance))
_NEEDED: Final = ("id", "scope", "kind", "content", "created_at", "updated_at", "observed_at", "revision")
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(:\d\d(\.\d+)?)?([Zz]|[+-]\d\d:\d\d)?", re.ASCII)


def record_to_json(record: Record) -> dict[str, Json]:
    """The record as a JSON object: the contract's field names, in its order."""
    return {name: _to_json(getattr(record, name)) for name in _RECORD}


def record_from_json(value: object, field: str = "record") -> Record:
    """The record that `record_to_json` gave. InvalidInput names the field that is wrong."""
    given = _object(field, value, _RECORD)
    for name in _NEEDED:
        if given.get(name) is None:
            raise InvalidInput(f"{field}.{name}: is required")
    found: dict[str, Any] = {name: item for name, item in given.items() if item is not None}
    for name in _TIMES:
        if name in found:
            found[name] = time_from_json(f"{field}.{name}", found[name])
    found["scope"] = scope_from_json(f"{field}.scope", found["scope"])
    if "provenance" in found:
        found["provenance"] = _provenance(f"{field}.provenance", found["provenance"])
    for name in ("tags", "supports"):
        found[name] = _texts(f"{field}.{name}", found.get(name, []))
    _check_position(field, found.get("position", 0))
    return check_record(field, Record(**found))


def scope_to_json(scope: Scope) -> Json:
    """A string for a name, an object for pairs."""
    return scope.name if scope.name is not None else dict(scope.pairs)


def scope_from_json(field: str, value: object) -> Scope:
    """The scope of a string or an object of strings."""
    if not isinstance(value, str | Mapping):
        raise InvalidInput(f"{field}: must be a string or an object of strings")
    return Scope(value)


def time_to_json(moment: datetime) -> str:
    """RFC 3339 in UTC, to the microsecond: `2026-03-01T09:30:00.000000Z`."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds").removesuffix("+00:00") + "Z"


def time_from_json(field: str, value: object) -> datetime:
    """An aware UTC datetime from RFC 3339 text. InvalidInput for a time without a zone."""
    if not isinstance(value, str) or _TIME.fullmatch(value) is None:
        raise InvalidInput(f"{field}: must be an RFC 3339 time such as 2026-03-01T09:30:00Z")
    try:
        moment = datetime.fromisoformat(value.upper())
        aware = moment if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        raise InvalidInput(f"{field}: is no time that exists") from None
    if aware.tzinfo is None:
        raise InvalidInput(f"{field}: has no time zone; end it with Z for UTC, or an offset such as +02:00")
    return aware


def _to_json(value: object) -> Json:
    if isinstance(value, datetime):
        return time_to_json(value)
    if isinstance(value, Scope):
        return scope_to_json(value)
    if isinstance(value, Provenance):
        return {part: getattr(value, part) for part in _PROVENANCE}
    return _plain(value)


def _plain(value: object) -> Json:
    """Tuples as lists, mappings as dicts, all the way down."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, str | int | float):
        return value
    raise InvalidInput(f"record: holds a {type(value).__name__}, which is no JSON value")


def _object(field: str, value: object, known: tuple[str, ...]) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise InvalidInput(f"{field}: must be an object, not {type(value).__name__}")
    for name in value:
        if name not in known:
            near = difflib.get_close_matches(str(name), known, n=1)
            raise InvalidInput(
                f"{field}.{name}: no such field" + (f"; did you mean {near[0]}?" if near else "")
            )
    return value


def _provenance(field: str, value: object) -> Provenance:
    given = _object(field, value, _PROVENANCE)
    for name, item in given.items():
        if item is not None and not isinstance(item, str):
            raise InvalidInput(f"{field}.{name}: must be text, not {type(item).__name__}")
    return Provenance(**given)  # type: ignore[arg-type]


def _texts(field: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
        raise InvalidInput(f"{field}: must be a list of text")
    return tuple(value)


def _check_position(field: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise InvalidInput(f"{field}.position: must be a whole number, 0 or more")
