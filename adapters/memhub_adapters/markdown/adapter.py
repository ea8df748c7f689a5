"""The Markdown adapter: a folder of files that people read and edit, every capability."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path

from memhub.adapter import Adapter, Read, Write
from memhub.capabilities import Capabilities
from memhub.errors import HubError
from memhub.records import Observed, Page, Patch, Recalled, Record, Restored, Stats
from memhub.scope import Scope
from memhub_adapters.markdown import writes
from memhub_adapters.markdown.access import Access
from memhub_adapters.markdown.capabilities import CAPABILITIES, CAPABILITIES_APPEND_ONLY
from memhub_adapters.markdown.reach import EVERYTHING, Reach
from memhub_adapters.markdown.upkeep import MarkdownUpkeep
from memhub_adapters.sqlite import reads
from memhub_adapters.translating import translated

__all__ = ["MarkdownAdapter"]


class MarkdownAdapter(Adapter):
    """Memories as Markdown files below `root`, made where missing.

    `append_only`: nothing is ever changed or removed through this adapter. `lock_timeout`, in
    seconds, is how long a write waits for another process's. `now` is the present of the file
    system's clock in nanoseconds. The folder is opened on first use, or by `open`.
    """

    def __init__(
        self,
        root: Path | str,
        *,
        append_only: bool = False,
        lock_timeout: float = 10.0,
        now: Callable[[], int] = time.time_ns,
    ) -> None:
        self.capabilities: Capabilities = CAPABILITIES_APPEND_ONLY if append_only else CAPABILITIES
        self._access = Access(Path(root), lock_timeout=lock_timeout, now=now)

    async def open(self) -> None:
        """Make the folder where missing, finish what was interrupted, open the index.

        Raises Unavailable where the folder cannot be used.
        """
        await translated(self._access.index(lambda _: None), self.translate)

    async def observe(self, write: Write) -> Observed:
        return await self._access.write(lambda book: writes.observe(book, write))

    async def recall(self, read: Read) -> Recalled:
        reach = Reach(read.scopes, read.exact)
        if read.text is None:
            return await self._access.read(reach, lambda db: reads.listing(db, read))
        return await self._access.read(reach, partial(reads.search, read=read, text=read.text))

    async def get(self, ids: Sequence[str], *, now: datetime) -> list[Record]:
        return await self._access.read_records(ids, lambda db: reads.get(db, ids, now=now))

    async def update(self, id: str, patch: Patch, *, revision: str | None, now: datetime) -> Record:
        return await self._access.write(
            lambda book: writes.update(book, id, patch, revision=revision, now=now)
        )

    async def invalidate(self, id: str, reason: str | None, *, revision: str | None, now: datetime) -> Record:
        return await self._access.write(
            lambda book: writes.invalidate(book, id, reason, revision=revision, now=now)
        )

    async def delete(self, id: str, *, revision: str | None, now: datetime) -> None:
        await self._access.write(lambda book: writes.delete(book, id, revision=revision), erases=True)

    async def scan(self, cursor: str | None, limit: int, *, now: datetime) -> Page:
        return await self._access.read(EVERYTHING, lambda db: reads.scan(db, cursor, limit))

    async def restore(self, records: Sequence[Record], *, now: datetime) -> Restored:
        return await self._access.write(lambda book: writes.restore(book, records))

    async def stats(self, scope: Scope | None, *, by_scope: bool, now: datetime) -> Stats:
        def count(db: sqlite3.Connection) -> Stats:
            (size,) = db.execute("SELECT coalesce(sum(size), 0) FROM file").fetchone()
            return reads.stats(db, scope, by_scope=by_scope, now=now, size=size)

        reach = EVERYTHING if scope is None else Reach((scope,), exact=False)
        return replace(await self._access.read(reach, count), erasure_pending=self._access.erasure_pending)

    async def purge(self, scope: Scope, *, exact: bool, now: datetime) -> int:
        return await self._access.write(lambda book: writes.purge(book, scope, exact=exact), erases=True)

    async def ping(self) -> None:
        await self._access.index(lambda db: db.execute("SELECT 1").fetchone())

    async def aclose(self) -> None:
        await self._access.aclose()

    def upkeep(self) -> MarkdownUpkeep:
        return MarkdownUpkeep(self._access)

    def translate(self, error: Exception) -> HubError | None:
        return self._access.translate(error)
