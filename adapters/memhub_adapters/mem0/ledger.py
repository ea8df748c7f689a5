"""Idempotency keys, where a flavor has a place of ours to keep them: digest and ids, never content."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from memhub.adapter import Write
from memhub.changes import expired
from memhub.errors import Conflict
from memhub.records import Observed
from memhub_adapters.failure import Failure
from memhub_adapters.mem0.memories import Memories, each
from memhub_adapters.mem0.scopes import user_of

__all__ = ["Entry", "Ledger", "LedgerFile", "observed_once"]

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


async def observed_once(
    ledger: Ledger, memories: Memories, write: Write, store: Callable[[str], Awaitable[Observed]]
) -> Observed:
    """What `store` comes to the first time, and what has become of that since.

    `store` is given a mark for what it stores; by it an observation is recognised whose process
    ended before it was noted. The caller holds a lock for the key.
    """
    user, key = user_of(write.scope), write.idempotency_key or ""
    mark = f"key:{hashlib.sha256(f'{user} {key}'.encode()).hexdigest()[:32]}"
    entry = await ledger.find(user, key)
    if entry is not None and entry.digest != write.digest:
        raise Conflict("idempotency_key: was used in this scope with another payload; use a new key")
    if entry is not None:
        ids = entry.ids if entry.ids is not None else await _marked(memories, write, mark)
        if ids is not None:
            await ledger.note(user, key, Entry(write.digest, ids))
            return await _replayed(memories, write, ids)
    await ledger.note(user, key, Entry(write.digest, None))
    try:
        done = await store(mark)
    except Exception as error:
        if not isinstance(error, Failure) or error.effect == "none":
            await ledger.forget(user, key)
        raise
    await ledger.note(user, key, Entry(write.digest, tuple(record.id for record in done.records)))
    return done


async def _marked(memories: Memories, write: Write, mark: str) -> tuple[str, ...] | None:
    made = [one.record.id for one in await memories.within(write.scope) if one.origin == mark]
    return tuple(made) or None


async def _replayed(memories: Memories, write: Write, ids: tuple[str, ...]) -> Observed:
    found = await each(ids, memories.find)
    alive = [one.record for one in found if one is not None and not expired(one.record, write.now)]
    return Observed(records=tuple(alive), replayed=True)
