"""What the stand-ins for Mem0 have in common: rows in a dictionary, near ones found, facts made of turns."""

from __future__ import annotations

import hashlib
import math
import re
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import lru_cache
from typing import Any, Final

from memhub_adapters.standins.messages import Request, Response

__all__ = ["IDS", "Refused", "Routes", "Row", "Rows", "expired", "facts_of", "md5", "nearest", "routed"]

Routes = Mapping[tuple[str, str], Callable[..., object]]
"""What answers which method and path; a group of the path's pattern is an argument."""

IDS: Final = ("user_id", "agent_id", "app_id", "run_id")
"""The names of the native ids that say whose a memory is."""

_WORD: Final = re.compile(r"\w+|[^\w\s]")
_SHORTEST: Final = 3
"""Words that a sentence needs for the make-believe model to make a fact of it."""


class Refused(Exception):
    """The request is answered with an error."""

    def __init__(self, status: int, body: object) -> None:
        super().__init__(status)
        self.response = Response(status, body)


@dataclass(slots=True)
class Row:
    """One memory. `born` is the number of requests that had been answered when it was made."""

    id: str
    text: str
    ids: Mapping[str, str]
    metadata: dict[str, Any]
    created: str
    updated: str
    expires: str | None = None
    born: int = 0
    role: str | None = None


class Rows:
    """Every memory, deleted ones in the history alone. `tick` counts requests."""

    def __init__(self) -> None:
        self.all: dict[str, Row] = {}
        self.history: dict[str, list[dict[str, Any]]] = {}
        self.tick = 0

    def add(self, text: str, ids: Mapping[str, str], metadata: Mapping[str, Any], expires: str | None) -> Row:
        """A new row."""
        now = _now()
        row = Row(str(uuid.uuid4()), text, ids, dict(metadata), now, now, expires, self.tick)
        self.all[row.id] = row
        self._note(row.id, None, text, "ADD")
        return row

    def change(self, row: Row, text: str | None, metadata: Mapping[str, Any] | None, *, merge: bool) -> None:
        """New text where given; metadata merged into what is there, or put in its place."""
        self._note(row.id, row.text, text or row.text, "UPDATE")
        row.text, row.updated, row.born = text or row.text, _now(), self.tick
        if metadata is not None:
            row.metadata = {**(row.metadata if merge else {}), **metadata}

    def remove(self, id: str) -> None:
        """A row, away; its history stays."""
        row = self.all.pop(id)
        self._note(id, row.text, None, "DELETE")

    def of(self, ids: Mapping[str, str]) -> list[Row]:
        """The rows with all of these ids."""
        return [row for row in self.all.values() if ids.items() <= row.ids.items()]

    def _note(self, id: str, old: str | None, new: str | None, event: str) -> None:
        self.history.setdefault(id, []).append(
            {"old_memory": old, "new_memory": new, "event": event, "is_deleted": event == "DELETE"}
        )


def nearest(query: str, rows: Iterable[Row], *, threshold: float, most: int) -> list[tuple[Row, float]]:
    """The rows nearest to a text with their similarity, from `threshold` on."""
    wanted = _vector(query)
    scored = [(row, sum(wanted.get(at, 0.0) * b for at, b in _vector(row.text).items())) for row in rows]
    kept = [(row, round(score, 6)) for row, score in scored if score >= threshold]
    return sorted(kept, key=lambda one: one[1], reverse=True)[:most]


def facts_of(messages: Iterable[Mapping[str, str]]) -> Iterator[str]:
    """What the make-believe model makes of messages: each sentence of the user's, greetings left out."""
    for message in messages:
        if message.get("role") == "user":
            for sentence in re.split(r"(?<=[.!?])\s+", message["content"].strip()):
                if len(sentence.split()) >= _SHORTEST:
                    yield sentence


def expired(row: Row) -> bool:
    """Whether the last day on which a row is shown has passed."""
    return row.expires is not None and date.fromisoformat(row.expires) < datetime.now(UTC).date()


def md5(text: str) -> str:
    """Mem0's hash of a text."""
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


def routed(routes: Routes, request: Request, *, unknown: object) -> Response:
    """What the route of a request answers; 404 with `unknown` where none is."""
    for (method, pattern), handle in routes.items():
        found = re.fullmatch(pattern, request.path)
        if found and method == request.method:
            try:
                return Response(200, handle(request, *found.groups()))
            except Refused as refused:
                return refused.response
    return Response(404, unknown)


def _now() -> str:
    return datetime.now(UTC).isoformat()


@lru_cache(4096)
def _vector(text: str) -> dict[int, float]:
    """A text as the sum of the directions that its words hash to: what is not zero of it, by place."""
    vector: dict[int, float] = {}
    for word in _WORD.findall(text.casefold()) or [text]:
        first, sign, second, other = hashlib.blake2b(word.encode("utf-8"), digest_size=4).digest()
        for place, bit in ((first, sign), (second, other)):
            vector[place] = vector.get(place, 0.0) + (1.0 if bit & 1 else -1.0)
    length = math.sqrt(sum(value * value for value in vector.values())) or 1.0
    return {place: value / length for place, value in vector.items()}
