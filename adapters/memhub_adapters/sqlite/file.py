"""The file on disk: opening it, knowing it again, noticing when it is gone."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from threading import Lock
from typing import Final, Literal

from memhub.errors import Unavailable
from memhub.search.analyzer import fingerprint
from memhub_adapters.sqlite.errors import is_busy
from memhub_adapters.sqlite.schema import VERSION, migrate, verify

__all__ = ["Connection", "Durability", "File"]

Durability = Literal["full", "normal"]
"""`full` syncs the log at each commit; `normal` only at checkpoints, so that a power cut may take
the last commits with it, never a half one."""

Identity = tuple[int, int]
"""Device and inode: a file keeps them when it is moved on its disk."""

_LOG_BYTES: Final = 64 * 2**20
_CACHE_KIB: Final = 16 * 1024


class Connection(sqlite3.Connection):
    """A connection that knows which file it opened."""

    identity: Identity | None = None


class File:
    """One SQLite file, shared by the connections of one adapter. `busy_timeout` is in seconds."""

    def __init__(self, path: Path, *, durability: Durability, busy_timeout: float) -> None:
        self.path = path.absolute()
        self.busy_timeout = busy_timeout
        self._durability = durability
        self._lock = Lock()
        self._identity: Identity | None = None
        self._logs: dict[Path, Identity | None] = {}
        self._lost = False
        self._process: int | None = None

    def claim(self) -> None:
        """Take the file into use by this process.

        Raises Unavailable where it was in use when this process was forked: neither threads nor
        SQLite's locks survive that, and to wait for them would be forever.
        """
        if self._process is None:
            self._process = os.getpid()
        elif self._process != os.getpid():
            raise Unavailable(
                "the store was in use when this process was forked; open it anew in each process"
            )

    def connect(self, *, writable: bool) -> Connection:
        """A connection to a current file, made and migrated if it must be.

        Raises InvalidConfig for a foreign or newer file, which stays untouched; Unavailable when
        the file has gone since it was first opened: it is not quietly replaced by an empty one.
        """
        self.claim()
        with self._lock:
            self._prepare()
            db = self._open(self.path)
            try:
                db.identity = self._identity
                # A first read makes SQLite open its logs, to be known again beside another file.
                db.execute("PRAGMA schema_version")
                self._logs = {log: _identity(log) for log in map(self._beside, ("-wal", "-shm"))}
                if not writable:
                    db.execute("PRAGMA query_only = ON")
            except BaseException:
                db.close()
                raise
        return db

    def check(self, db: Connection, *, committed: bool = False) -> None:
        """Raise Unavailable unless the path still leads to the file that `db` opened."""
        if self._seen() == db.identity:
            return
        self._lost = True
        if committed:
            raise Unavailable(f"{self._gone()}; what was just written went with it")
        raise Unavailable(self._gone(), unapplied=True)

    def check_version(self, db: Connection) -> None:
        """Raise Unavailable where another version of Memhub has meanwhile brought the file to its own.

        Called inside each write: two versions at once would write into one index by two rules.
        """
        if db.execute("PRAGMA user_version").fetchone()[0] != VERSION or _analyzer(db) != fingerprint():
            raise Unavailable(
                f"{self.path} is in use by another version of Memhub; let all its processes run the same one"
            )

    def size(self) -> int:
        """Bytes of the file and its log."""
        return _size(self.path) + self.logged()

    def logged(self) -> int:
        """Bytes of the log."""
        return _size(self._beside("-wal"))

    def _prepare(self) -> None:
        """Verify a file that is new to us, or back again, and bring it up to date."""
        logged, seen = self.logged(), self._seen()
        if seen is not None and seen == self._identity and not self._lost:
            return
        if seen is None and self._identity is not None:
            raise Unavailable(self._gone(), unapplied=True)
        if seen is None and logged:
            raise Unavailable(
                f"{self.path} is missing, yet its log {self._beside('-wal')} is there; put the file back, "
                "or move the log away to begin with an empty store"
            )
        self._refuse_strays(seen)
        if logged and not _size(self._beside("-journal")):
            self._verify()
        self._bring_up_to_date()
        self._identity, self._lost = self._seen(), False

    def _refuse_strays(self, seen: Identity | None) -> None:
        """Raise where a log that we had open lies beside another file: SQLite would mix the two."""
        if seen == self._identity:
            return
        strays = [str(log) for log, known in self._logs.items() if known and _identity(log) == known]
        if strays:
            raise Unavailable(
                f"{self.path} was replaced while in use, and the old file's {' and '.join(strays)} still lie "
                "beside it; move them away together with the old file, then repeat"
            )

    def _verify(self) -> None:
        """Refuse a file that is not ours without writing its log into it, as a last close would."""
        db = self._open(f"{self.path.as_uri()}?mode=ro")
        try:
            verify(db, str(self.path))
        finally:
            db.close()

    def _bring_up_to_date(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        db = self._open(self.path)
        try:
            version = verify(db, str(self.path))
            self._keep_log(db)
            if version < VERSION:
                migrate(db, str(self.path))
            self._check_analyzer(db)
        finally:
            db.close()

    def _keep_log(self, db: sqlite3.Connection) -> None:
        """Switch a new file to a write-ahead log; SQLite does not wait for a busy file here itself."""
        if db.execute("PRAGMA journal_mode").fetchone()[0] == "wal":
            return
        from tenacity import Retrying, retry_if_exception, stop_after_delay, wait_random

        for attempt in Retrying(
            retry=retry_if_exception(is_busy),
            stop=stop_after_delay(self.busy_timeout),
            wait=wait_random(0.005, 0.05),
            reraise=True,
        ):
            with attempt:
                mode = db.execute("PRAGMA journal_mode = WAL").fetchone()[0]
        if mode != "wal":
            raise Unavailable(f"{self.path} cannot have a write-ahead log there; put it on a local disk")

    def _check_analyzer(self, db: sqlite3.Connection) -> None:
        if _analyzer(db) != fingerprint():
            from memhub_adapters.sqlite.indexcheck import reindex

            reindex(db)

    def _open(self, path: Path | str) -> Connection:
        db = sqlite3.connect(
            path,
            timeout=self.busy_timeout,
            isolation_level=None,
            check_same_thread=False,
            factory=Connection,
            uri=isinstance(path, str),
        )
        try:
            db.execute(f"PRAGMA synchronous = {self._durability}")
            db.execute("PRAGMA secure_delete = ON")
            db.execute("PRAGMA temp_store = MEMORY")
            db.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
            db.execute(f"PRAGMA journal_size_limit = {_LOG_BYTES}")
        except BaseException:
            db.close()
            raise
        return db

    def _seen(self) -> Identity | None:
        """The file that the path leads to now, None where there is none or an empty one."""
        try:
            found = os.stat(self.path)  # noqa: PTH116 - on the path of every call
        except FileNotFoundError:
            return None
        return (found.st_dev, found.st_ino) if found.st_size else None

    def _gone(self) -> str:
        return f"{self.path} was removed, emptied or replaced while in use; put it or a backup in its place"

    def _beside(self, suffix: str) -> Path:
        """The log or journal of the file, which SQLite keeps where a symbolic link leads."""
        return Path(f"{os.path.realpath(self.path)}{suffix}")


def _analyzer(db: sqlite3.Connection) -> object:
    """The analyzer that the file's index was made by."""
    found = db.execute("SELECT value FROM meta WHERE name = 'analyzer'").fetchone()
    return found and found[0]


def _identity(path: Path) -> Identity | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
