"""The Markdown adapter: a folder of files that people read and edit, every capability."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Final, TypeVar
from weakref import WeakKeyDictionary

from memhub.adapter import Adapter, Read, Write
from memhub.capabilities import Capabilities
from memhub.errors import HubError, Unavailable
from memhub.records import Observed, Page, Patch, Recalled, Record, Restored, Stats
from memhub.scope import Scope
from memhub_adapters.markdown import writes
from memhub_adapters.markdown.book import TreeBook
from memhub_adapters.markdown.capabilities import CAPABILITIES, CAPABILITIES_APPEND_ONLY
from memhub_adapters.markdown.errors import Lost, Stale, translate
from memhub_adapters.markdown.home import Home, is_damage
from memhub_adapters.markdown.look import Look
from memhub_adapters.markdown.reach import EVERYTHING, Reach
from memhub_adapters.markdown.sync import sync
from memhub_adapters.markdown.tree import Tree
from memhub_adapters.markdown.upkeep import MarkdownUpkeep
from memhub_adapters.markdown.writer import TreeWriter
from memhub_adapters.sqlite import reads
from memhub_adapters.sqlite.threads import Readers

__all__ = ["MarkdownAdapter"]

T = TypeVar("T")

ATTEMPTS: Final = 5
"""How often a call is begun anew because the files, or the index, have changed under it."""


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
        self._tree = Tree(Path(root))
        self.home = Home(self._tree, timeout=lock_timeout)
        self._writer = TreeWriter(self.home, now)
        self._readers = Readers(self.home)
        self._look = Look(self._tree, now, cache=WeakKeyDictionary())

    async def open(self) -> None:
        """Make the folder where missing, finish what was interrupted, open the index.

        Raises Unavailable where the folder cannot be used.
        """
        try:
            return await self._guarded(lambda: self._readers.run(lambda _: None))
        except Exception as error:  # noqa: BLE001 - raised below, without the native error as context
            failed = error
        raise self.translate(failed) or failed

    async def observe(self, write: Write) -> Observed:
        return await self.write(lambda book: writes.observe(book, write))

    async def recall(self, read: Read) -> Recalled:
        reach = Reach(read.scopes, read.exact)
        if read.text is None:
            return await self.read(reach, lambda db: reads.listing(db, read))
        return await self.read(reach, partial(reads.search, read=read, text=read.text))

    async def get(self, ids: Sequence[str], *, now: datetime) -> list[Record]:
        def look(db: sqlite3.Connection) -> None:
            if not all(self._look.at_record(db, id) for id in ids):
                self._look.at(db, EVERYTHING)

        return await self._looked(look, lambda db: reads.get(db, ids, now=now))

    async def update(self, id: str, patch: Patch, *, revision: str | None, now: datetime) -> Record:
        return await self.write(lambda book: writes.update(book, id, patch, revision=revision, now=now))

    async def invalidate(self, id: str, reason: str | None, *, revision: str | None, now: datetime) -> Record:
        return await self.write(lambda book: writes.invalidate(book, id, reason, revision=revision, now=now))

    async def delete(self, id: str, *, revision: str | None, now: datetime) -> None:
        await self.write(lambda book: writes.delete(book, id, revision=revision), erases=True)

    async def scan(self, cursor: str | None, limit: int, *, now: datetime) -> Page:
        return await self.read(EVERYTHING, lambda db: reads.scan(db, cursor, limit))

    async def restore(self, records: Sequence[Record], *, now: datetime) -> Restored:
        return await self.write(lambda book: writes.restore(book, records))

    async def stats(self, scope: Scope | None, *, by_scope: bool, now: datetime) -> Stats:
        def count(db: sqlite3.Connection) -> Stats:
            (size,) = db.execute("SELECT coalesce(sum(size), 0) FROM file").fetchone()
            return reads.stats(db, scope, by_scope=by_scope, now=now, size=size)

        reach = EVERYTHING if scope is None else Reach((scope,), exact=False)
        return replace(await self.read(reach, count), erasure_pending=self._writer.erasure_pending)

    async def purge(self, scope: Scope, *, exact: bool, now: datetime) -> int:
        return await self.write(lambda book: writes.purge(book, scope, exact=exact), erases=True)

    async def ping(self) -> None:
        await self._guarded(lambda: self._readers.run(lambda db: db.execute("SELECT 1").fetchone()))

    async def aclose(self) -> None:
        await asyncio.to_thread(self._close)

    def upkeep(self) -> MarkdownUpkeep:
        return MarkdownUpkeep(self)

    def translate(self, error: Exception) -> HubError | None:
        return translate(error, self._tree.root)

    async def read(self, reach: Reach, work: Callable[[sqlite3.Connection], T]) -> T:
        return await self._looked(lambda db: self._look.at(db, reach), work)

    async def _looked(
        self, look: Callable[[sqlite3.Connection], object], work: Callable[[sqlite3.Connection], T]
    ) -> T:
        """The result of `work` on an index that knows what the files held when the call came."""

        def both(db: sqlite3.Connection) -> T:
            look(db)
            return work(db)

        async def attempt() -> T:
            try:
                return await self._readers.run(both)
            except Stale as stale:
                await self._sync(stale.reach)
            # What changes from here on may show or not: it came after the call.
            return await self._readers.run(work)

        return await self._guarded(attempt)

    async def write(self, work: Callable[[TreeBook], T], *, erases: bool = False) -> T:
        """The result of `work`, on an index that knows the files it is about."""

        async def attempt() -> T:
            for _ in range(ATTEMPTS):
                try:
                    return await self._writer.write(work, erases=erases)
                except Stale as stale:
                    await self._sync(stale.reach)
            raise Unavailable(
                f"{self._tree.root}: files keep changing while they are written to; repeat",
                retryable=True,
                unapplied=True,
            )

        return await self._guarded(attempt)

    async def _sync(self, reach: Reach) -> None:
        await self._writer.write(lambda book: sync(book, reach))

    async def _guarded(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """The result of `attempt`, begun anew with a new index where the old one was of no use."""
        for _ in range(ATTEMPTS):
            try:
                return await attempt()
            except Lost:
                # Each thread that had the old one open notices by itself.
                continue
            except Exception as error:
                if not is_damage(error):
                    raise
                await asyncio.to_thread(self.home.discard)
        return await attempt()

    def _close(self) -> None:
        self._readers.close()
        self._writer.close()
