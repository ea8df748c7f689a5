"""SQLite's errors as the contract's: one table, by primary result code (sqlite.org/rescode.html)."""

from __future__ import annotations

import sqlite3
from json import JSONDecodeError
from pathlib import Path
from typing import Final

from memhub.errors import HubError, NativeError, Unavailable

__all__ = ["Unreadable", "is_busy", "translate"]


class Unreadable(Exception):
    """What the file gave is no record of ours."""


_BUSY: Final = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL)
_DAMAGED: Final = "the file is damaged; run `memhub check --deep`, or restore a backup"
_UNREADABLE: Final = (Unreadable, UnicodeDecodeError, JSONDecodeError)
_TEXTS: Final = {
    sqlite3.SQLITE_FULL: "the disk is full, so nothing was written; free some space and repeat",
    sqlite3.SQLITE_READONLY: "the file, its folder or its disk is read-only for this user; make them writable",
    sqlite3.SQLITE_CANTOPEN: "the file cannot be opened; check that this user may write to it and to its "
    "folder, where SQLite keeps a log even to read",
    sqlite3.SQLITE_PERM: "access to the file is denied; check its permissions",
    sqlite3.SQLITE_IOERR: "the disk reported an error; check the disk and repeat",
    sqlite3.SQLITE_CORRUPT: _DAMAGED,
    sqlite3.SQLITE_NOTADB: "this is no SQLite file, or a damaged one; choose another path, or restore a backup",
    sqlite3.SQLITE_NOMEM: "out of memory, so nothing was written",
}


def translate(error: Exception, path: Path) -> HubError | None:
    """The contract's error for one of sqlite3 or the file system, naming the file."""
    if isinstance(error, OSError):
        found = Unavailable(f"{error.filename or path}: {error.strerror or type(error).__name__}")
        found.__cause__ = error
        return found
    if isinstance(error, _UNREADABLE) or _quotes_text(error):
        return _unreadable(error, path)
    if not isinstance(error, sqlite3.Error) or not hasattr(error, "sqlite_errorcode"):
        return None
    found = _busy(path) if is_busy(error) else Unavailable(f"{path}: {_text(error)}")
    found.__cause__ = error
    return found


def is_busy(error: BaseException) -> bool:
    """Whether another connection holds the lock that was wanted."""
    return _primary(error) in _BUSY


def _primary(error: BaseException) -> int:
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF


def _text(error: sqlite3.Error) -> str:
    known = _TEXTS.get(_primary(error))
    text = known or f"SQLite failed: {error}; run `memhub check --deep` to see whether the file is damaged"
    return f"{text} ({error.sqlite_errorname})"


def _busy(path: Path) -> Unavailable:
    return Unavailable(
        f"{path}: another process holds the write lock; repeat, or raise busy_timeout",
        retryable=True,
        unapplied=True,
    )


def _quotes_text(error: Exception) -> bool:
    """Whether sqlite3 met text that is no UTF-8 any more, which its error then holds."""
    return isinstance(error, sqlite3.OperationalError) and not hasattr(error, "sqlite_errorcode")


def _unreadable(error: Exception, path: Path) -> Unavailable:
    """What is stored cannot be read. Such errors hold a piece of it, so they go no further."""
    found = Unavailable(f"{path}: {_DAMAGED}")
    found.__cause__ = NativeError(type(error).__name__).with_traceback(error.__traceback__)
    return found
