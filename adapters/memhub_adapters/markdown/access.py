"""The way to a tree: reads and writes on an index that knows what the files hold."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Final, TypeVar
from weakref import WeakKeyDictionary

from memhub.errors import HubError, Unavailable
from memhub_adapters.markdown.book import TreeBook
from memhub_adapters.markdown.errors import Lost, Stale, translate
from memhub_adapters.markdown.home import Home, is_damage
from memhub_adapters.markdown.look import Look
from memhub_adapters.markdown.reach import EVERYTHING, Reach
from memhub_adapters.markdown.sync import sync
from memhub_adapters.markdown.tree import Tree
from memhub_adapters.markdown.writer import TreeWriter
from memhub_adapters.sqlite.threads import Readers

__all__ = ["Access"]

T = TypeVar("T")

ATTEMPTS: Final = 5
"""How often a call is begun anew because the files, or the index, have changed under it."""


class Access:
    """Everything behind an adapter's verbs: files, index, threads. Opened on first use."""

    def __init__(self, root: Path, *, lock_timeout: float, now: Callable[[], int]) -> None:
        self.tree = Tree(root)
        self.home = Home(self.tree, timeout=lock_timeout)
        self._writer = TreeWriter(self.home, now)
        self._readers = Readers(self.home)
        self._look = Look(self.tree, now, cache=WeakKeyDictionary())

    @property
    def erasure_pending(self) -> bool:
        """Whether something deleted is still in the index's log."""
        return self._writer.erasure_pending

    async def index(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """The result of `work` on the index as it is."""
        return await self._guarded(lambda: self._readers.run(work))

    async def read(self, reach: Reach, work: Callable[[sqlite3.Connection], T]) -> T:
        """The result of `work` on an index that knows what the files within reach held when the call came."""
        return await self._looked(lambda db: self._look.at(db, reach), work)

    async def read_records(self, ids: Sequence[str], work: Callable[[sqlite3.Connection], T]) -> T:
        """The same for these records: where one has moved, the whole tree is looked at."""

        def look(db: sqlite3.Connection) -> None:
            if not all(self._look.at_record(db, id) for id in ids):
                self._look.at(db, EVERYTHING)

        return await self._looked(look, work)

    async def write(self, work: Callable[[TreeBook], T], *, erases: bool = False) -> T:
        """The result of `work`, on an index that knows the files it is about."""

        async def attempt() -> T:
            for _ in range(ATTEMPTS):
                try:
                    return await self._writer.write(work, erases=erases)
                except Stale as stale:
                    await self._sync(stale.reach)
            raise Unavailable(
                f"{self.tree.root}: files keep changing while they are written to; repeat",
                retryable=True,
                unapplied=True,
            )

        return await self._guarded(attempt)

    def translate(self, error: Exception) -> HubError | None:
        """The contract's error for one of the file system or the index."""
        return translate(error, self.tree.root)

    async def discard(self) -> None:
        """Remove the index; the next call makes it anew."""
        await asyncio.to_thread(self.home.discard)

    async def aclose(self) -> None:
        """Close the index; safe twice."""
        await asyncio.to_thread(self._close)

    async def _looked(
        self, look: Callable[[sqlite3.Connection], object], work: Callable[[sqlite3.Connection], T]
    ) -> T:
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
                await self.discard()
        return await attempt()

    def _close(self) -> None:
        self._readers.close()
        self._writer.close()
