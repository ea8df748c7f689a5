"""Gateway: what the adapter asks of Mem0, whichever flavor answers. Rows in, rows out; no records."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from memhub.upkeep import Progress
from memhub_adapters.mem0.ledger import Ledger
from memhub_adapters.mem0.rows import Row

__all__ = ["Added", "Event", "Gateway", "Message", "Metadata"]

Metadata = Mapping[str, Any]
Message = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Added:
    """What came of adding: rows that are there, or the `event` that will make them.

    `new` is False where the service answered with rows that it held already.
    """

    rows: tuple[Row, ...] = ()
    event: str | None = None
    new: bool = True


@dataclass(frozen=True, slots=True)
class Event:
    """How far an extraction has come, and the native ids that it names."""

    status: Literal["pending", "succeeded", "failed"]
    ids: tuple[str, ...] = ()


class Gateway(ABC):
    """One flavor of Mem0. Methods raise the flavor's own failures; absence is None or False.

    `ledger` is where the flavor can keep idempotency keys, if anywhere.
    """

    ledger: Ledger | None = None

    @abstractmethod
    async def add(self, user: str, text: str, metadata: Metadata) -> Added:
        """Store a text as it is. No rows where the service merged it with an equal one."""

    @abstractmethod
    async def extract(self, user: str, messages: Sequence[Message], metadata: Metadata) -> Added:
        """Let the service make memories of messages."""

    @abstractmethod
    async def get(self, id: str) -> Row | None:
        """The row of a native id."""

    @abstractmethod
    async def rows(self, user: str) -> list[Row]:
        """Every row of a native user, expired ones too, each once."""

    @abstractmethod
    async def some(self, user: str) -> list[Row]:
        """Every row of a native user, or, where that is more than can be told, some."""

    @abstractmethod
    async def search(self, user: str, text: str, most: int) -> list[Row]:
        """The rows nearest to a text, expired ones too; all there are when fewer than `most` come."""

    @abstractmethod
    async def put(self, id: str, text: str | None, metadata: Metadata) -> bool:
        """Change a row's text where given, and its metadata; False where there is no such row."""

    @abstractmethod
    async def remove(self, id: str) -> bool:
        """Delete a row; False where there is none."""

    async def event(self, id: str) -> Event | None:
        """How far an event has come; None where it is unknown."""
        raise NotImplementedError

    async def users(self) -> list[str]:
        """Every native user that has rows."""
        raise NotImplementedError

    async def reembed(self, progress: Progress | None) -> int | None:
        """Make every vector anew; None where changing each row does."""
        return None

    @abstractmethod
    async def ping(self) -> None:
        """Return when the service answers us."""

    @abstractmethod
    async def aclose(self) -> None:
        """Close what was opened."""
