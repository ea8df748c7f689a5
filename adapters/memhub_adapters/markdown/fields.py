"""A record as front matter and content, and back: what is the default is left out."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from memhub.errors import InvalidInput
from memhub.interchange import time_from_json
from memhub.records import Provenance, Record
from memhub.requests import check_record
from memhub.validation import identifier
from memhub_adapters.markdown.errors import Fault
from memhub_adapters.markdown.names import derived_id
from memhub_adapters.markdown.note import Note, composed
from memhub_adapters.markdown.tree import Place
from memhub_adapters.markdown.yamltext import Value

__all__ = ["Memory", "memory_of", "new_text", "rewritten"]

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_DAY: Final = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_WORD: Final = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Memory:
    """What one file holds: a record, and its observation's idempotency key with its digest.

    `named`: the file itself holds the record's id. `written_at` is the `updated_at` that it holds,
    which a hand that changes the file leaves as it was.
    """

    record: Record
    key: str | None = None
    digest: str | None = None
    named: bool = True
    written_at: datetime | None = field(default=None, compare=False)


def _time(moment: datetime) -> str:
    return moment.isoformat().removesuffix("+00:00") + "Z"


def _quoted(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _json(value: object) -> str:
    """For comparing: the order of an object's keys says nothing."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def _same(value: Any) -> Any:  # noqa: ANN401 - any value of a record
    return value


_Get = Callable[[Record], object]
_Write = Callable[[Any], Value]
_FIELDS: Final[Mapping[str, tuple[_Get, _Write]]] = {
    "id": (lambda record: record.id, _same),
    "kind": (lambda record: None if record.kind == "fact" else record.kind, _same),
    "tags": (lambda record: record.tags or None, list),
    "attributes": (lambda record: record.attributes or None, dict),
    "author": (lambda record: record.provenance.author, _same),
    "role": (lambda record: record.provenance.role, _same),
    "conversation_id": (lambda record: record.provenance.conversation_id, _same),
    "run_id": (lambda record: record.provenance.run_id, _same),
    "created_at": (lambda record: record.created_at, _time),
    "observed_at": (lambda record: _unless(record.created_at, record.observed_at), _time),
    "updated_at": (lambda record: _unless(record.created_at, record.updated_at), _time),
    "position": (lambda record: record.position or None, _same),
    "expires_at": (lambda record: record.expires_at, _time),
    "invalid_at": (lambda record: record.invalid_at, _time),
    "invalid_reason": (lambda record: record.invalid_reason, _same),
    "supersedes": (lambda record: record.supersedes, _same),
    "superseded_by": (lambda record: record.superseded_by, _same),
    "target": (lambda record: record.target, _same),
    "payload": (lambda record: record.payload, _quoted),
    "supports": (lambda record: record.supports or None, list),
}
"""Each key of the front matter: its value in a record, None for the default; how it is written."""

_OURS: Final = dict.fromkeys((*_FIELDS, "idempotency_key", "idempotency_digest", "revision"))


def new_text(memory: Memory) -> str:
    """The file of a new memory."""
    written = _written(memory.record)
    if memory.key is not None:
        written |= {"idempotency_key": memory.key, "idempotency_digest": memory.digest}
    return composed({**written, "revision": _signed(memory)}, memory.record.content).text()


def rewritten(note: Note, old: Memory, record: Record) -> str:
    """The file of a memory once it holds `record`; whatever else stands in it stays.

    Raises Fault where its front matter cannot be changed safely.
    """
    # The time of a hand's change stands in no entry yet.
    stood = replace(old.record, updated_at=old.written_at or old.record.updated_at)
    before, after = _written(stood), _written(record)
    absent = {key for key in ("id", "created_at") if key not in note.lines}
    changes = {
        key: after.get(key)
        for key in _FIELDS
        if key in absent or _json(before.get(key)) != _json(after.get(key))
    }
    changes["revision"] = _signed(replace(old, record=record))
    return note.changed(changes, record.content, last="revision").text()


def memory_of(note: Note, place: Place, mtime: int) -> Memory:
    """What a file holds; `mtime`, in nanoseconds, stands in for the times that it does not say.

    Raises Fault for front matter or content that no record can have.
    """
    values = {key: value for key, value in note.values(_OURS).items() if value is not None}
    try:
        memory = Memory(
            check_record("record", _record(values, note, place, mtime)),
            _optional(values, "idempotency_key"),
            _optional(values, "idempotency_digest"),
            "id" in values,
        )
    except InvalidInput as error:
        problem = error.message.removeprefix("record.")
        named = [word for word in _WORD.findall(problem.partition(":")[0]) if word in note.lines]
        line = note.lines[named[-1]] if named else note.first_line
        raise Fault(problem, line) from None
    return _revised(memory, values.get("revision"), mtime)


def _written(record: Record) -> dict[str, Value]:
    """The entries of a record, defaults left out."""
    return {key: write(value) for key, (get, write) in _FIELDS.items() if (value := get(record)) is not None}


def _signed(memory: Memory) -> str:
    """The revision as the file holds it: a hand that changes the file need not know of it."""
    return f"{memory.record.revision}/{_checksum(memory)[:8]}"


def _checksum(memory: Memory) -> str:
    record = memory.record
    parts = [record.scope.canonical, _written(record), record.content, memory.key]
    return hashlib.sha256(_json(parts).encode()).hexdigest()


def _revised(memory: Memory, stored: object, mtime: int) -> Memory:
    """The memory under its revision, which is another once a hand has changed the file."""
    record, checksum = memory.record, _checksum(memory)
    token, _, check = stored.rpartition("/") if isinstance(stored, str) else ("", "", "")
    written = record.updated_at
    if token and check == checksum[:8]:
        return replace(memory, record=replace(record, revision=token), written_at=written)
    touched = written if stored is None else max(written, _moment(mtime))
    changed = replace(record, revision=checksum[:16], updated_at=touched)
    return replace(memory, record=changed, written_at=written)


def _record(values: Mapping[str, Any], note: Note, place: Place, mtime: int) -> Record:
    """The record, not yet checked."""
    created = _when(values, "created_at") or _moment(mtime)
    source = (values.get(name) for name in ("conversation_id", "run_id", "author", "role"))
    tags = values.get("tags", ())
    return Record(
        id=values.get("id") or derived_id(place.scope, place.name),
        scope=place.scope,
        kind=values.get("kind", "fact"),
        content=note.content,
        tags=(tags,) if isinstance(tags, str) else tags,
        attributes=values.get("attributes", {}),
        provenance=Provenance(*source),
        created_at=created,
        updated_at=_when(values, "updated_at") or created,
        observed_at=_when(values, "observed_at") or created,
        invalid_at=_when(values, "invalid_at"),
        invalid_reason=values.get("invalid_reason"),
        supersedes=values.get("supersedes"),
        superseded_by=values.get("superseded_by"),
        expires_at=_when(values, "expires_at"),
        revision="unknown",
        position=values.get("position", 0),
        target=values.get("target"),
        payload=_payload(values.get("payload")),
        supports=values.get("supports", ()),
    )


def _when(values: Mapping[str, Any], key: str) -> datetime | None:
    value = values.get(key)
    if value is None:
        return None
    text = f"{value}T00:00Z" if isinstance(value, str) and _DAY.fullmatch(value) else value
    return time_from_json(f"record.{key}", text)


def _payload(text: object) -> Any:  # noqa: ANN401 - any JSON value
    if text is None:
        return None
    try:
        return json.loads(text if isinstance(text, str) else "")
    except (ValueError, RecursionError):
        raise InvalidInput("record.payload: must be JSON in quotes") from None


def _optional(values: Mapping[str, Any], key: str) -> str | None:
    return identifier(f"record.{key}", values[key]) if key in values else None


def _unless(default: datetime, moment: datetime) -> datetime | None:
    return None if moment == default else moment


def _moment(nanoseconds: int) -> datetime:
    return _EPOCH + timedelta(microseconds=nanoseconds // 1000)
