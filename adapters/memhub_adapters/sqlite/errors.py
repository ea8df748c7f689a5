"""SQLite's errors as the contract's: one table, by primary result code (sqlite.org/rescode.html)."""

from __future__ import annotations

import sqlite3
from typing import Final

from memhub.errors import HubError, Unavailable

__all__ = ["translate"]

_BUSY: Final = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_TEXTS: Final = {
    sqlite3.SQLITE_FULL: "the disk is full; free some space and repeat",
    sqlite3.SQLITE_READONLY: "the file or its folder is read-only; make it writable and repeat",
    sqlite3.SQLITE_CANTOPEN: "the file cannot be opened; check that its folder exists and is writable",
    sqlite3.SQLITE_PERM: "access to the file is denied; check its permissions",
    sqlite3.SQLITE_IOERR: "the disk reported an error; check the disk and repeat",
    sqlite3.SQLITE_CORRUPT: "the file is corrupt; run `memhub check --deep` or restore a backup",
    sqlite3.SQLITE_NOTADB: "the file is no SQLite file; choose another path or restore a backup",
    sqlite3.SQLITE_NOMEM: "out of memory",
}


def translate(error: Exception) -> HubError | None:
    """The contract's error for one of sqlite3 or the file system; those hold no secret."""
    if isinstance(error, sqlite3.Error):
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
        found = _busy() if code in _BUSY else Unavailable(_TEXTS.get(code, f"SQLite failed: {error}"))
    elif isinstance(error, OSError):
        found = Unavailable(f"the file cannot be used: {error.strerror or type(error).__name__}")
    else:
        return None
    found.__cause__ = error
    return found


def _busy() -> HubError:
    return Unavailable(
        "another process holds the file's write lock; repeat, or raise busy_timeout",
        retryable=True,
        unapplied=True,
    )
