"""Idempotency keys, where a flavor has a place of ours to keep them: digest and ids, never content."""

from __future__ import annotations

import json
import sqlite3
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Final

__all__ = ["Entry", "Ledger", "LedgerFile"]

_SCHEMA: Final = "CREATE TABLE IF NOT EXISTS ledger(user TEXT, key TEXT, digest TEXT NOT NULL, ids TEXT, PRIMARY KEY(user, key))"


@dataclass(frozen=True, slots=True)
class Entry:
    """A key that was used; `ids` is None while nobody knows what came of it."""

    digest: str
    ids: tuple[str, ...] | None


class Ledger(ABC):
    """The keys of each native user."""

    @abstractmethod
    async def find(self, user: str, key: str) -> Entry | None:
        """What is known of a key."""

    @abstractmethod
    async def note(self, user: str, key: str, entry: Entry) -> None:
        """Know this of a key from now on."""

    @abstractmethod
    async def forget(self, user: str, key: str | None = None) -> None:
        """Know nothing of a key any more, or of any key of the user."""


class LedgerFile:
    """A ledger in a file of SQLite's, for the one thread that opened it."""

    def __init__(self, path: Path) -> None:
        self._db = sqlite3.connect(path, isolation_level=None)
        self._db.execute(_SCHEMA)

    def find(self, user: str, key: str) -> Entry | None:
        """What is known of a key."""
        row = self._db.execute(
            "SELECT digest, ids FROM ledger WHERE user = ? AND key = ?", (user, key)
        ).fetchone()
        if row is None:
            return None
        return Entry(row[0], None if row[1] is None else tuple(json.loads(row[1])))

    def note(self, user: str, key: str, entry: Entry) -> None:
        """Know this of a key from now on."""
        ids = None if entry.ids is None else json.dumps(entry.ids)
        self._db.execute("REPLACE INTO ledger VALUES(?, ?, ?, ?)", (user, key, entry.digest, ids))

    def forget(self, user: str, key: str | None) -> None:
        """Know nothing of a key any more, or of any key of the user."""
        self._db.execute("DELETE FROM ledger WHERE user = ?1 AND (?2 IS NULL OR key = ?2)", (user, key))

    def close(self) -> None:
        """Close the file."""
        self._db.close()
