"""The file on disk: opening it, knowing it again, noticing when it is gone."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from threading import Lock
from typing import Literal

from memhub.errors import Unavailable
from memhub.search.analyzer import fingerprint
from memhub_adapters.sqlite.schema import VERSION, migrate, verify

__all__ = ["Durability", "File"]

Durability = Literal["full", "normal"]
"""`full` syncs the log at each commit; `normal` only at checkpoints, so that a power cut may take
the last commits with it, never a half one."""

_LOG_BYTES = 64 * 2**20
_CACHE_KIB = 16 * 1024


class File:
    """One SQLite file, shared by the connections of one adapter. `busy_timeout` is in seconds."""

    def __init__(self, path: Path, *, durability: Durability, busy_timeout: float) -> None:
        self.path = path.absolute()
        self.busy_timeout = busy_timeout
        self._durability = durability
        self._lock = Lock()
        self._identity: tuple[int, int] | None = None

    def connect(self, *, writable: bool) -> sqlite3.Connection:
        """A connection to a current file, made and migrated if it must be.

        Raises InvalidConfig for a foreign or newer file, which stays untouched; Unavailable when
        the file has gone since it was first opened: it is not quietly replaced by an empty one.
        """
        with self._lock:
            self._prepare()
        db = self._open()
        if not writable:
            db.execute("PRAGMA query_only = ON")
        return db

    def check(self) -> None:
        """Raise Unavailable unless the path still leads to the file that was opened."""
        if self._seen() != self._identity:
            raise Unavailable(
                f"{self.path} was removed or replaced while in use; put it back or restore a backup",
                unapplied=True,
            )

    def size(self) -> int:
        """Bytes of the file and its log."""
        return sum(
            file.stat().st_size for suffix in ("", "-wal") if (file := Path(f"{self.path}{suffix}")).exists()
        )

    def _prepare(self) -> None:
        seen = self._seen()
        if self._identity is not None and seen in (self._identity, None):
            self.check()
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        db = self._open()
        try:
            version = verify(db, str(self.path))
            self._keep_log(db)
            if version < VERSION:
                migrate(db, str(self.path))
            self._check_analyzer(db)
        finally:
            db.close()
        self._identity = self._seen()

    def _keep_log(self, db: sqlite3.Connection) -> None:
        """Switch a new file to a write-ahead log; SQLite does not wait for a busy file here itself."""
        if db.execute("PRAGMA journal_mode").fetchone()[0] == "wal":
            return
        from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_random

        for attempt in Retrying(
            retry=retry_if_exception_type(sqlite3.OperationalError),
            stop=stop_after_delay(self.busy_timeout),
            wait=wait_random(0.005, 0.05),
            reraise=True,
        ):
            with attempt:
                db.execute("PRAGMA journal_mode = WAL")

    def _check_analyzer(self, db: sqlite3.Connection) -> None:
        made_by = db.execute("SELECT value FROM meta WHERE name = 'analyzer'").fetchone()
        if made_by != (fingerprint(),):
            from memhub_adapters.sqlite.upkeep import reindex

            reindex(db)

    def _open(self) -> sqlite3.Connection:
        db = sqlite3.connect(
            self.path, timeout=self.busy_timeout, isolation_level=None, check_same_thread=False
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

    def _seen(self) -> tuple[int, int] | None:
        try:
            found = os.stat(self.path)  # noqa: PTH116 - on the path of every call
        except FileNotFoundError:
            return None
        return found.st_dev, found.st_ino
