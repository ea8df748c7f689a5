"""Looking after a tree: what is wrong with its files, and its index made anew."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from memhub.errors import Unsupported
from memhub.scope import Scope
from memhub.upkeep import Progress
from memhub_adapters.markdown import files
from memhub_adapters.markdown.access import Access
from memhub_adapters.markdown.book import TreeBook
from memhub_adapters.markdown.look import MOST_BYTES, digest_of
from memhub_adapters.markdown.reach import EVERYTHING
from memhub_adapters.markdown.sync import sync
from memhub_adapters.markdown.tree import Place, Tree
from memhub_adapters.sqlite.indexcheck import index_faults
from memhub_adapters.sqlite.scopes import rooms
from memhub_adapters.translating import translated

__all__ = ["MarkdownUpkeep"]

_COPY: Final = "the files are the store: copy the folder, or use `memhub export` and `memhub import`"


class MarkdownUpkeep:
    """Implements `memhub.upkeep.Upkeep` for one tree."""

    def __init__(self, access: Access) -> None:
        self._access = access

    async def backup(self, target: Path, *, progress: Progress | None = None) -> None:
        """Raises Unsupported."""
        raise Unsupported(f"markdown makes no backup: {_COPY}", provider="markdown", operation="backup")

    async def restore_backup(self, source: Path, *, progress: Progress | None = None) -> None:
        """Raises Unsupported."""
        raise Unsupported(f"markdown restores no backup: {_COPY}", provider="markdown", operation="restore")

    async def check(self, *, deep: bool = False) -> list[str]:
        """Files that cannot be read, copies, strangers, an interrupted write; `deep`: the index too."""
        return await translated(self._check(deep=deep), self._access.translate)

    async def reindex(self) -> int:
        """Make the index anew from the files; returns how many records there are."""
        return await translated(self._reindex(), self._access.translate)

    async def compact(self) -> None:
        """Make the index anew: the files themselves have no unused space."""
        await self.reindex()

    async def _check(self, *, deep: bool) -> list[str]:
        journal = self._access.home.journal
        found = (
            ["a write was interrupted; it has been finished now"]
            if await asyncio.to_thread(journal.pending)
            else []
        )
        await self._access.write(_look_again)
        tree = self._access.tree
        found += await self._access.read(EVERYTHING, lambda db: [*_amiss(db), *_strange(tree)])
        if deep:
            found += await self._access.read(
                EVERYTHING, lambda db: [*index_faults(db), *_differing(db, tree)]
            )
        return found

    async def _reindex(self) -> int:
        await self._access.discard()
        return await self._access.read(EVERYTHING, _count)


def _look_again(book: TreeBook) -> None:
    """Read anew what was amiss: permissions, for one, may have changed and left no trace."""
    book.db.execute("DELETE FROM file WHERE record IS NULL")
    sync(book, EVERYTHING)


def _amiss(db: sqlite3.Connection) -> Iterator[str]:
    """A line for each file that is no record."""
    scopes = _scopes(db)
    for row in files.amiss(db):
        place = Place(scopes[row.scope], row.name)
        if row.fault is not None:
            yield f"{place}:{row.line}: {row.fault}"
        else:
            first = files.place_of_id(db, row.id or "")
            yield f"{place}: has the id of {first[0] if first else 'another file'}; remove it, or remove its id line"


def _strange(tree: Tree) -> Iterator[str]:
    for path in sorted(tree.strangers()):
        if path.endswith("/"):
            yield f"{path}: is no scope's folder by its name; see docs/markdown.md for how scopes are written"
        else:
            yield f"{path}: lies in no scope's folder, so it is no memory; move it into one"


def _differing(db: sqlite3.Connection, tree: Tree) -> Iterator[str]:
    """A line for each file that the index holds another text of."""
    for number, scope in _scopes(db).items():
        for row in files.by_scope(db, number):
            place = Place(scope, row.name)
            try:
                data, _ = tree.read(str(place), MOST_BYTES + 1)
            except OSError as error:
                yield f"{place}: cannot be read: {error.strerror}"
                continue
            if digest_of(data) != row.digest:
                yield f"{place}: is not what the index holds of it; run `memhub reindex`"


def _scopes(db: sqlite3.Connection) -> dict[int, Scope]:
    return {room.number: room.scope for room in rooms(db)}


def _count(db: sqlite3.Connection) -> int:
    return int(db.execute("SELECT count(*) FROM record").fetchone()[0])
