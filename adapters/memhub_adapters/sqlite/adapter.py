"""The SQLite adapter: one file, several processes, every capability."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Final

from memhub.adapter import Adapter, Read, Write
from memhub.capabilities import FULL
from memhub.errors import HubError
from memhub.records import Observed, Page, Patch, Recalled, Record, Restored, Stats
from memhub.scope import Scope
from memhub_adapters.sqlite import reads, writes
from memhub_adapters.sqlite.errors import translate
from memhub_adapters.sqlite.file import Durability, File
from memhub_adapters.sqlite.threads import Readers, Writer
from memhub_adapters.sqlite.upkeep import SqliteUpkeep
from memhub_adapters.translating import translated

__all__ = ["CAPABILITIES", "SqliteAdapter"]

CAPABILITIES: Final = replace(FULL, provider="sqlite", erasure="complete")


class SqliteAdapter(Adapter):
    """Memories in one SQLite file, made with its folder where missing.

    `durability`: "full" syncs every commit; "normal" leaves that to checkpoints, so that a power
    cut may take the last commits, whole. `busy_timeout` is in seconds: how long a write waits for
    another process's. The file is opened on first use, or by `open`.
    """

    capabilities = CAPABILITIES

    def __init__(
        self, path: Path | str, *, durability: Durability = "full", busy_timeout: float = 10.0
    ) -> None:
        self._file = File(Path(path), durability=durability, busy_timeout=busy_timeout)
        self._writer = Writer(self._file)
        self._readers = Readers(self._file)

    async def open(self) -> None:
        """Open the file now, and migrate it if it is older.

        Raises InvalidConfig for a foreign file or one that a newer Memhub wrote, and Unavailable
        for a corrupt one; all three stay untouched.
        """
        await translated(self._readers.run(lambda _: None), self.translate)

    @property
    def commits(self) -> int:
        """How many transactions this adapter has committed; with "full", each is one sync."""
        return self._writer.commits

    async def observe(self, write: Write) -> Observed:
        return await self._writer.run(lambda book: writes.observe(book, write))

    async def recall(self, read: Read) -> Recalled:
        if read.text is None:
            return await self._readers.run(lambda db: reads.listing(db, read))
        return await self._readers.run(partial(reads.search, read=read, text=read.text))

    async def get(self, ids: Sequence[str], *, now: datetime) -> list[Record]:
        return await self._readers.run(lambda db: reads.get(db, ids, now=now))

    async def update(self, id: str, patch: Patch, *, revision: str | None, now: datetime) -> Record:
        return await self._writer.run(lambda book: writes.update(book, id, patch, revision=revision, now=now))

    async def invalidate(self, id: str, reason: str | None, *, revision: str | None, now: datetime) -> Record:
        return await self._writer.run(
            lambda book: writes.invalidate(book, id, reason, revision=revision, now=now)
        )

    async def delete(self, id: str, *, revision: str | None, now: datetime) -> None:
        await self._writer.run(lambda book: writes.delete(book, id, revision=revision), erases=True)

    async def scan(self, cursor: str | None, limit: int, *, now: datetime) -> Page:
        return await self._readers.run(lambda db: reads.scan(db, cursor, limit))

    async def restore(self, records: Sequence[Record], *, now: datetime) -> Restored:
        return await self._writer.run(lambda book: writes.restore(book, records))

    async def stats(self, scope: Scope | None, *, by_scope: bool, now: datetime) -> Stats:
        size = self._file.size()
        found = await self._readers.run(
            lambda db: reads.stats(db, scope, by_scope=by_scope, now=now, size=size)
        )
        return replace(found, erasure_pending=self._writer.erasure_pending)

    async def purge(self, scope: Scope, *, exact: bool, now: datetime) -> int:
        return await self._writer.run(lambda book: writes.purge(book, scope, exact=exact), erases=True)

    async def ping(self) -> None:
        await self._readers.run(lambda db: db.execute("SELECT 1").fetchone())

    async def aclose(self) -> None:
        await asyncio.to_thread(self._close)

    def upkeep(self) -> SqliteUpkeep:
        return SqliteUpkeep(self._file)

    def translate(self, error: Exception) -> HubError | None:
        return translate(error, self._file.path)

    def _close(self) -> None:
        self._readers.close()
        self._writer.close()
