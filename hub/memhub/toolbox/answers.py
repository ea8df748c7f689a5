"""What the tools answer: small JSON objects that a model reads well."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC
from typing import Final

from memhub.blocks import shortened
from memhub.records import Fact, Json, Observed, Recalled, Record
from memhub.scope import Scope

__all__ = ["ANSWER", "Answer", "failed", "invalidated", "listed", "memory", "saved"]

ANSWER: Final = 16_000
"""Characters of memories in one answer, where the host does not say."""

SHARE: Final = 4
"""One memory takes at most this part of an answer."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A tool's answer: `data` as JSON values, `text` the same for a model. `ok` is False for an error."""

    data: Mapping[str, Json]
    ok: bool = True

    @property
    def text(self) -> str:
        """The data as JSON text."""
        return _json(self.data)

    def __str__(self) -> str:
        return self.text


def failed(code: str, message: str) -> Answer:
    """An error: a stable code, and what to do about it."""
    return Answer({"error": {"code": code, "message": message}}, ok=False)


def saved(done: Observed, fact: Fact) -> Answer:
    """What became of a memory that was to be saved."""
    if done.operation is not None and done.operation.status == "pending":
        return Answer({"pending": True, "note": "Accepted; it will be found a little later."})
    if not done.persisted:
        return Answer({"saved": None, "note": "This memory keeps nothing: it is switched off."})
    if not done.records:
        return Answer({"saved": None, "note": "That is what you were shown from memory; it is kept already."})
    record = done.records[0]
    data: dict[str, Json] = {"saved": record.id, "kind": record.kind, "date": _date(record)}
    if fact.supersedes is not None:
        data["superseded"] = fact.supersedes
    if done.replayed:
        data["note"] = "It was remembered already."
    return Answer(data)


def invalidated(record: Record) -> Answer:
    """A memory that is hidden now, or was already."""
    return Answer({"invalidated": record.id, "reason": record.invalid_reason})


def listed(found: Recalled, *, own: Scope, budget: int, note: str | None = None) -> Answer:
    """Memories, as many as fit into `budget` characters, long ones shortened with a mark.

    What does not fit makes room for what does, so that no memory keeps all others from being seen.
    """
    memories: list[Json] = []
    room = budget
    for hit in found.hits:
        one = memory(hit.record, own=own, most=budget // SHARE)
        size = len(_json(one))
        if size <= room:
            room -= size
            memories.append(one)
    notes = [note or "", *_notes(found, len(memories))]
    told = " ".join(one for one in notes if one)
    return Answer({"memories": memories, **({"note": told} if told else {})})


def memory(record: Record, *, own: Scope, most: int | None = None) -> dict[str, Json]:
    """A record as a model sees it; what says nothing is left out."""
    content = record.content if most is None else _fitted(record.content, most)
    shown: dict[str, Json] = {
        "id": record.id,
        "date": _date(record),
        "kind": record.kind,
        "content": content,
        "tags": list(record.tags),
        "by": record.provenance.author or record.provenance.role,
        "replaces": record.supersedes,
        "invalid_since": None
        if record.invalid_at is None
        else f"{record.invalid_at.astimezone(UTC):%Y-%m-%d}",
        "shared": record.scope != own,
    }
    return {name: value for name, value in shown.items() if value not in (None, [], False)}


def _fitted(content: str, most: int) -> str:
    """The content in at most `most` characters of JSON, where a character can take six."""
    text, kept = shortened(content, most), most
    while len(_json(text)) - 2 > most:
        kept -= kept // 4
        text = shortened(content, kept)
    return text


def _notes(found: Recalled, shown: int) -> list[str]:
    if not found.hits:
        return ["Nothing found."]
    if shown < len(found.hits):
        return [f"{len(found.hits) - shown} more did not fit; ask for fewer, or more precisely."]
    return ["There are more; search, or narrow by kinds or tags."] if found.cursor is not None else []


def _date(record: Record) -> str:
    return f"{record.observed_at.astimezone(UTC):%Y-%m-%d}"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
