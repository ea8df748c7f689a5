"""Dialect: how one HTTP flavor of Mem0 words its requests, and how its answers are read. No I/O."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote

from memhub_adapters.http import HttpFailure
from memhub_adapters.mem0.gateway import Added, Event, Message, Metadata
from memhub_adapters.mem0.rows import Row, row_of, rows_of

__all__ = ["Call", "Dialect", "Page", "quoted", "unexpected"]

_SUCCEEDED: Final = frozenset({"succeeded", "success", "completed", "complete"})
_FAILED: Final = frozenset({"failed", "error"})
_PENDING: Final = frozenset({"pending", "running", "queued", "processing", "in_progress"})


@dataclass(frozen=True, slots=True)
class Call:
    """One request: a path below the endpoint, query parameters, a JSON body."""

    method: str
    path: str
    params: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """A page of a listing; `count` is the service's own total, where it tells.

    `cut`: there may be more rows, and no way to ask for them.
    """

    rows: list[Row]
    more: bool = False
    count: int | None = None
    cut: bool = False


class Dialect(ABC):
    """Builds calls and reads answers. `most_found` is the largest search, None where nothing bounds it.

    `memory` is the path of one memory, with a place for its id.
    """

    memory: str
    most_found: int | None = None

    @abstractmethod
    def headers(self, key: str | None) -> dict[str, str]:
        """What authorises a request."""

    @abstractmethod
    def ping(self) -> Call:
        """The cheapest request that needs the key."""

    def answered(self, body: Any) -> None:  # noqa: ANN401 - any JSON value
        """Raise HttpFailure unless this is what `ping` is answered with."""
        self.page(body)

    @abstractmethod
    def add(self, user: str, messages: Sequence[Message], metadata: Metadata, *, infer: bool) -> Call:
        """Store messages as they are, or what is made of them."""

    def added(self, body: Any) -> Added:  # noqa: ANN401 - any JSON value
        """What came of `add`."""
        items = body.get("results") if isinstance(body, dict) else None
        if not isinstance(items, list):
            raise unexpected()
        rows = tuple(row_of(item) for item in items)
        return Added(rows, new=all(str(item.get("event", "ADD")).upper() == "ADD" for item in items))

    @abstractmethod
    def rows(self, user: str, page: int) -> Call:
        """A page of a user's rows, the first one being 1."""

    @abstractmethod
    def page(self, body: Any) -> Page:  # noqa: ANN401 - any JSON value
        """What `rows` answered."""

    @abstractmethod
    def search(self, user: str, text: str, most: int) -> Call:
        """The rows of a user that are nearest to a text."""

    def found(self, body: Any) -> list[Row]:  # noqa: ANN401 - any JSON value
        """What `search` answered."""
        return rows_of(body)

    def get(self, id: str) -> Call:
        """One row."""
        return Call("GET", self.memory.format(quoted(id)))

    def put(self, id: str, text: str | None, metadata: Metadata) -> Call:
        """A row's new text, where there is one, and metadata."""
        changed = {} if text is None else {"text": text}
        return Call("PUT", self.memory.format(quoted(id)), body={**changed, "metadata": metadata})

    def remove(self, id: str) -> Call:
        """One row, away."""
        return Call("DELETE", self.memory.format(quoted(id)))

    def event(self, id: str) -> Call:
        """How far an event has come."""
        raise NotImplementedError

    def event_of(self, body: Any) -> Event:  # noqa: ANN401 - any JSON value
        """What `event` answered. Raises HttpFailure for a status that nobody has told us of."""
        word = str(body.get("status", "")).lower() if isinstance(body, dict) else ""
        if word in _PENDING:
            return Event("pending")
        if word in _FAILED:
            return Event("failed")
        if word not in _SUCCEEDED:
            raise unexpected()
        items = body.get("results") or ()
        named = (item.get("id") or item.get("memory_id") for item in items if isinstance(item, dict))
        return Event("succeeded", tuple(dict.fromkeys(id for id in named if isinstance(id, str))))

    def users(self, page: int) -> Call:
        """A page of the users that have rows."""
        raise NotImplementedError

    def users_of(self, body: Any) -> tuple[list[str], bool]:  # noqa: ANN401 - any JSON value
        """What `users` answered, and whether there are more."""
        raise NotImplementedError


def quoted(id: str) -> str:
    """An id as one piece of a path."""
    return quote(id, safe="")


def unexpected() -> HttpFailure:
    """An answer of a shape that the dialect does not have."""
    return HttpFailure("UnexpectedBody", "done")
