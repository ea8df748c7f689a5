"""The `.memhub` folder of a tree: the lock, the journal, and the index, which can always be made anew."""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import Final

from memhub.errors import HubError, Unavailable
from memhub_adapters.markdown.errors import Lost
from memhub_adapters.markdown.files import FORMAT, TABLES
from memhub_adapters.markdown.journal import Journal
from memhub_adapters.markdown.lock import Lock, Taken
from memhub_adapters.markdown.tree import OWN, Tree
from memhub_adapters.sqlite.errors import Unreadable, is_busy
from memhub_adapters.sqlite.file import Connection, File

__all__ = ["Home", "is_damage"]

_SPOILED: Final = (
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_NOTADB,
    sqlite3.SQLITE_ERROR,
    sqlite3.SQLITE_CONSTRAINT,
)


class Home(File):
    """The index of one tree. Where it is missing, damaged or foreign, a new one takes its place.

    `timeout`, in seconds, is how long to wait for another process's write.
    """

    def __init__(self, tree: Tree, *, timeout: float) -> None:
        self.folder = tree.root / OWN
        super().__init__(self.folder / "index.db", durability="normal", busy_timeout=timeout)
        self.tree = tree
        self.journal = Journal(tree)
        self._tree_lock = Lock(self.folder / "lock", timeout=timeout)
        self._was_there = False

    def take(self) -> Taken:
        """Wait for the tree's lock, and finish what another left unfinished.

        Raises Unavailable where the root is gone that was there before: its disk may be.
        """
        if not self.folder.is_dir():
            if self._was_there and not self.tree.root.is_dir():
                raise Unavailable(
                    f"{self.tree.root} was removed while in use; put it back, or open the store anew"
                )
            self.folder.mkdir(parents=True, exist_ok=True)
        self._was_there = True
        taken = self._tree_lock.take()
        try:
            self.journal.recover()
        except BaseException:
            taken.release()
            raise
        return taken

    def connect(self, *, writable: bool) -> Connection:
        """A connection to the index. Raises Unavailable where the folder cannot be used."""
        self.claim()
        with self.take():
            self._ignore()
            try:
                return super().connect(writable=writable)
            except (HubError, sqlite3.DatabaseError) as error:
                if isinstance(error, sqlite3.DatabaseError) and not is_damage(error):
                    raise
            self._remove()
            return super().connect(writable=writable)

    def check(self, db: Connection, *, committed: bool = False) -> None:
        """Raise Lost where the index was removed or replaced; what is committed lies in the files."""
        if self._seen() == db.identity:
            return
        self._lost = True
        if not committed:
            raise Lost(f"{self.path} was removed or replaced; it is made anew", unapplied=True)

    def discard(self) -> None:
        """Remove the index; the next connection makes a new one."""
        with self.take():
            self._remove()

    def _bring_up_to_date(self) -> None:
        super()._bring_up_to_date()
        db = self._open(self.path)
        try:
            held = db.execute("SELECT value FROM meta WHERE name = 'markdown'").fetchone()
            tables = db.execute("SELECT count(*) FROM sqlite_master WHERE name = 'file'").fetchone()
            if held is None and tables == (0,):
                db.executescript(TABLES)
                db.execute("INSERT INTO meta VALUES('markdown', ?)", (FORMAT,))
            elif held != (FORMAT,) or tables != (1,):
                raise Lost(f"{self.path} was made by another version of Memhub; it is made anew")
        finally:
            db.close()

    def _remove(self) -> None:
        with self._lock:
            for suffix in ("", "-wal", "-shm", "-journal"):
                self._beside(suffix).unlink(missing_ok=True)
            self._identity, self._logs, self._lost = None, {}, False

    def _ignore(self) -> None:
        """Keep the folder out of version control."""
        path = Path(self.folder, ".gitignore")
        with suppress(FileExistsError), path.open("x", encoding="utf-8") as file:
            file.write("*\n")


def is_damage(error: BaseException) -> bool:
    """Whether a new index would mend this."""
    if isinstance(error, Unreadable):
        return True
    if not isinstance(error, sqlite3.DatabaseError) or is_busy(error):
        return False
    code = getattr(error, "sqlite_errorcode", None)
    return code is None or code & 0xFF in _SPOILED or code == sqlite3.SQLITE_IOERR_SHORT_READ
