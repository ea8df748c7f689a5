"""What a migration has done so far, in a small SQLite file that survives being killed.

Every change is one transaction, synced to the disk before it counts. While a migration runs its
file is locked, so that no second process goes on with it at the same time.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import astuple, dataclass
from pathlib import Path
from threading import RLock
from typing import Any, Final

from memhub.errors import Conflict, InvalidInput, Unavailable

__all__ = ["Checkpoint", "Moved"]

FORMAT: Final = 2
_SCHEMA: Final = """
CREATE TABLE state(name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE moved(
  number INTEGER PRIMARY KEY, source TEXT NOT NULL UNIQUE, target TEXT,
  revision TEXT NOT NULL, digest BLOB, text BLOB, live INTEGER NOT NULL, seen INTEGER NOT NULL
);
CREATE INDEX moved_target ON moved(target);
CREATE INDEX moved_text ON moved(text) WHERE text IS NOT NULL;
CREATE TABLE begun(source TEXT PRIMARY KEY, digest BLOB);
"""
_COLUMNS: Final = "source, target, revision, digest, text, live"


@dataclass(frozen=True, slots=True)
class Moved:
    """One record of the source that is done: its id there and in the target, None where left out.

    `revision` is the source's when it was moved; `digest` covers what the target must hold of it;
    `text` and `live` are for targets that merge equal texts.
    """

    source: str
    target: str | None
    revision: str
    digest: bytes | None
    text: bytes | None = None
    live: bool = True


class Checkpoint:
    """The state of one migration, `about` which it is. Without a path it lasts as long as the process.

    Raises InvalidInput for a file that is no checkpoint, or one of another migration; Conflict
    while another process goes on with it; Unavailable where the disk fails.
    """

    def __init__(self, path: Path | None, about: object) -> None:
        self._path = path
        self._lock = RLock()
        self._about = json.dumps(about, ensure_ascii=False, sort_keys=True)
        with self._told():
            if path is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
            # An empty name is a private file on disk that goes with its connection.
            self._db = sqlite3.connect(
                path or "", isolation_level=None, check_same_thread=False, timeout=0, cached_statements=32
            )
        try:
            self._open()
        except BaseException:
            self._db.close()
            raise

    def known(self, ids: Iterable[str]) -> dict[str, Moved]:
        """Those of these records that are done, by their ids in the source."""
        return {row.source: row for row in self._rows("source", ids)}

    def held(self, ids: Iterable[str]) -> dict[str, list[Moved]]:
        """What was moved to these ids of the target."""
        found: dict[str, list[Moved]] = {}
        for row in self._rows("target", ids):
            found.setdefault(str(row.target), []).append(row)
        return found

    def saying(self, texts: Iterable[bytes]) -> dict[bytes, Moved]:
        """What was moved with these texts, by text."""
        rows = self._rows("text", texts)
        return {row.text: row for row in rows if row.text is not None and row.target is not None}

    def save(self, rows: Sequence[Moved], lap: int) -> None:
        """Note records as done in this lap over the source; what was begun of them is complete."""
        sql = (
            f"INSERT INTO moved({_COLUMNS}, seen) VALUES(?, ?, ?, ?, ?, ?, ?) "
            "ON CONFLICT(source) DO UPDATE SET target = excluded.target, revision = excluded.revision, "
            "digest = excluded.digest, text = excluded.text, live = excluded.live, seen = excluded.seen"
        )
        with self._transaction():
            self._db.executemany(sql, [(*astuple(row), lap) for row in rows])
            self._db.executemany("DELETE FROM begun WHERE source = ?", [(row.source,) for row in rows])

    def drop(self, id: str) -> None:
        """Forget that a record was moved, and that others were left out because of its text."""
        same = "text = (SELECT text FROM moved WHERE source = ?)"
        with self._transaction():
            self._db.execute(f"DELETE FROM moved WHERE target IS NULL AND {same}", (id,))
            self._db.execute("DELETE FROM moved WHERE source = ?", (id,))

    def begin(self, marks: Mapping[str, bytes | None]) -> None:
        """Note that these are about to be written, with the digests under which their own ids show them."""
        with self._transaction():
            self._db.executemany("INSERT OR REPLACE INTO begun VALUES(?, ?)", list(marks.items()))

    def begun(self, ids: Iterable[str] | None = None) -> dict[str, bytes | None]:
        """Those of these ids, or all, that were begun and never completed: they may have been written."""
        sql = "SELECT source, digest FROM begun"
        with self._told():
            if ids is None:
                return dict(self._db.execute(sql))
            return dict(row for id in ids for row in self._db.execute(f"{sql} WHERE source = ?", (id,)))

    def end(self, ids: Iterable[str]) -> None:
        """Forget that these were begun."""
        with self._transaction():
            self._db.executemany("DELETE FROM begun WHERE source = ?", [(id,) for id in ids])

    def advance(self, ids: Iterable[str], lap: int, state: Mapping[str, str | None]) -> None:
        """Note that a lap has seen these records, and where things stand; None removes a note."""
        with self._transaction():
            self._db.executemany("UPDATE moved SET seen = ? WHERE source = ?", [(lap, id) for id in ids])
            for name, value in state.items():
                self._db.execute("DELETE FROM state WHERE name = ?", (name,))
                if value is not None:
                    self._db.execute("INSERT INTO state VALUES(?, ?)", (name, value))

    def state(self, name: str) -> str | None:
        """A note of `advance`."""
        with self._told():
            found = self._db.execute("SELECT value FROM state WHERE name = ?", (name,)).fetchone()
        return None if found is None else str(found[0])

    def unseen(self, lap: int) -> list[Moved]:
        """What was moved, and a whole lap has not met again."""
        with self._told():
            rows = self._db.execute(f"SELECT {_COLUMNS} FROM moved WHERE seen < ?", (lap,)).fetchall()
        return [Moved(*row) for row in rows]

    def moved(self) -> Iterator[Moved]:
        """Everything that is done, in the order it was."""
        last = 0
        while rows := self._after(last):
            yield from (Moved(*row[1:]) for row in rows)
            last = rows[-1][0]

    def counts(self) -> tuple[int, int, int]:
        """How many records were moved, were left out, and have another id now than before."""
        sql = "SELECT count(target), sum(target IS NULL), sum(target != source) FROM moved"
        with self._told():
            held, left, renamed = self._db.execute(sql).fetchone()
        return held, left or 0, renamed or 0

    def close(self, *, done: bool = False) -> None:
        """Let the file go, once what runs on a thread has ended; remove it when the migration is done."""
        with self._lock:
            self._db.close()
        if done and self._path is not None:
            with suppress(FileNotFoundError):
                self._path.unlink()

    def _open(self) -> None:
        with self._told():
            self._db.execute("PRAGMA locking_mode = EXCLUSIVE")
            self._db.execute(f"PRAGMA synchronous = {'EXTRA' if self._path else 'OFF'}")
            self._db.execute("BEGIN EXCLUSIVE")
            tables = self._db.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
            if not tables:
                for statement in _SCHEMA.split(";"):
                    self._db.execute(statement)
                self._db.execute(f"PRAGMA user_version = {FORMAT}")
                self._db.execute("INSERT INTO state VALUES('about', ?)", (self._about,))
            self._check()
            self._db.execute("COMMIT")

    def _check(self) -> None:
        version = self._db.execute("PRAGMA user_version").fetchone()[0]
        names = {str(row[0]) for row in self._db.execute("SELECT name FROM sqlite_schema")}
        if version != FORMAT or not {"state", "moved", "begun"} <= names:
            raise InvalidInput(
                f"checkpoint: {self._path} is no checkpoint that this release reads; name another"
            )
        if self.state("about") != self._about:
            raise InvalidInput(
                f"checkpoint: {self._path} belongs to another migration; name another file, or remove it"
            )

    def _after(self, number: int) -> list[tuple[Any, ...]]:
        sql = f"SELECT number, {_COLUMNS} FROM moved WHERE number > ? ORDER BY number LIMIT 500"
        with self._told():
            return self._db.execute(sql, (number,)).fetchall()

    def _rows(self, column: str, values: Iterable[str | bytes]) -> list[Moved]:
        sql = f"SELECT {_COLUMNS} FROM moved WHERE {column} = ?"
        with self._told():
            return [Moved(*row) for value in values for row in self._db.execute(sql, (value,))]

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._told():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._db.execute("COMMIT")
            finally:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")

    @contextmanager
    def _told(self) -> Iterator[None]:
        """One call at a time; SQLite's and the system's errors as the contract's."""
        try:
            with self._lock:
                yield
        except (sqlite3.Error, OSError) as found:
            raise self._error(found) from found

    def _error(self, found: Exception) -> Exception:
        code = getattr(found, "sqlite_errorcode", 0) & 0xFF
        if code == sqlite3.SQLITE_BUSY:
            return Conflict(f"checkpoint: another process goes on with this migration ({self._path})")
        if code in {sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT}:
            return InvalidInput(f"checkpoint: {self._path} is no checkpoint; name another file")
        return Unavailable(f"checkpoint: {self._path} cannot be used: {found}")
