"""Looking after the file: backup and restore while others use it, checks, reindexing."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final, TypeVar

from memhub.errors import InvalidInput, Unavailable
from memhub.upkeep import Progress
from memhub_adapters.sqlite.errors import translate
from memhub_adapters.sqlite.file import File
from memhub_adapters.sqlite.indexcheck import index_faults, reindex
from memhub_adapters.sqlite.schema import VERSION, verify
from memhub_adapters.translating import translated

__all__ = ["SqliteUpkeep"]

T = TypeVar("T")

PAGES: Final = 2_000
"""Pages a backup copies between two reports; all of them belong to one moment."""


class SqliteUpkeep:
    """Implements `memhub.upkeep.Upkeep` for one file. Each call has a connection of its own."""

    def __init__(self, file: File) -> None:
        self._file = file

    async def backup(self, target: Path, *, progress: Progress | None = None) -> None:
        await self._apart(lambda: self._backup(Path(target), progress))

    async def restore_backup(self, source: Path, *, progress: Progress | None = None) -> None:
        await self._apart(lambda: self._restore(Path(source), progress))

    async def check(self, *, deep: bool = False) -> list[str]:
        return await self._apart(lambda: self._check(deep=deep))

    async def reindex(self) -> int:
        return await self._apart(self._reindex)

    async def compact(self) -> None:
        await self._apart(self._compact)

    async def _apart(self, work: Callable[[], T]) -> T:
        """Run `work` on a thread; its native errors come out as the contract's."""
        return await translated(asyncio.to_thread(work), lambda error: translate(error, self._file.path))

    def _backup(self, target: Path, progress: Progress | None) -> None:
        if target.exists():
            raise InvalidInput(f"target: {target} exists already; choose a new file or move it away")
        partial = target.with_name(f"{target.name}.partial")
        partial.unlink(missing_ok=True)
        # The system names a folder that takes no file; SQLite would not.
        partial.touch()
        try:
            with closing(self._file.connect(writable=False)) as source, closing(_plain(partial)) as copy:
                # One read transaction spans the copy, so that writers neither wait nor show.
                source.execute("BEGIN")
                source.execute("SELECT count(*) FROM meta").fetchone()
                source.backup(copy, pages=PAGES, progress=_reporting(progress))
                copy.execute("PRAGMA journal_mode = DELETE")
                _sound(copy, partial)
            _sync(partial)
            os.link(partial, target)
        except FileExistsError:
            raise InvalidInput(f"target: {target} exists already; choose a new file") from None
        finally:
            partial.unlink(missing_ok=True)
        _sync(target.parent)

    def _restore(self, source: Path, progress: Progress | None) -> None:
        if not source.is_file():
            raise InvalidInput(f"source: {source} is no file; name a backup")
        with closing(_plain(source, readonly=True)) as backup:
            _sound(backup, source)
            if backup.execute("PRAGMA user_version").fetchone()[0] != VERSION:
                raise InvalidInput(f"source: {source} has another schema version; open it as a store first")
            with closing(self._file.connect(writable=True)) as target:
                backup.backup(target, progress=_reporting(progress))
                target.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def _check(self, *, deep: bool) -> list[str]:
        with closing(self._file.connect(writable=False)) as db, _snapshot(db):
            pragma = "integrity_check" if deep else "quick_check"
            faults = [str(row[0]) for row in db.execute(f"PRAGMA {pragma}") if row[0] != "ok"]
            return faults + (index_faults(db) if deep and not faults else [])

    def _compact(self) -> None:
        # SQLite's secure_delete clears the cell that is deleted. Copies of it that page splits had
        # left in the unused space of other pages go only when every page is written anew.
        with closing(self._file.connect(writable=True)) as db:
            db.execute("VACUUM")
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def _reindex(self) -> int:
        with closing(self._file.connect(writable=True)) as db:
            return reindex(db)


@contextmanager
def _snapshot(db: sqlite3.Connection) -> Iterator[None]:
    db.execute("BEGIN")
    try:
        yield
    finally:
        db.execute("ROLLBACK")


def _plain(path: Path, *, readonly: bool = False) -> sqlite3.Connection:
    uri = f"{path.absolute().as_uri()}?mode={'ro' if readonly else 'rwc'}"
    return sqlite3.connect(uri, uri=True, isolation_level=None)


def _sound(db: sqlite3.Connection, path: Path) -> None:
    """Raise unless this is a whole and undamaged file of ours."""
    try:
        if verify(db, str(path)) == 0:
            raise InvalidInput(f"source: {path} is empty; name a backup")
        faults = [row[0] for row in db.execute("PRAGMA integrity_check") if row[0] != "ok"]
    except sqlite3.DatabaseError as error:
        raise Unavailable(f"{path} is damaged: {error}") from error
    if faults := faults or index_faults(db):
        raise Unavailable(f"{path} is damaged: {faults[0]} ({len(faults)} faults in all)")


def _reporting(progress: Progress | None) -> Callable[[int, int, int], None] | None:
    if progress is None:
        return None

    def report(_status: int, left: int, total: int) -> None:
        progress(total - left, total)

    return report


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
