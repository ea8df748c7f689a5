"""What the index knows of each file, in a table beside the records.

A row with a `record` is the file of that record. One with a `fault` cannot be read. One with
neither holds, in `id`, an id that another file has.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from memhub.scope import Scope
from memhub_adapters.markdown.tree import Files, Place, Stamp
from memhub_adapters.sqlite.rows import id_of

__all__ = [
    "FORMAT",
    "RACY",
    "TABLES",
    "Known",
    "Row",
    "Seen",
    "amiss",
    "by_id",
    "by_place",
    "by_record",
    "by_scope",
    "next_change",
    "place_of_id",
    "put",
    "rekey",
    "remove",
]

FORMAT: Final = 1
"""Grows with every change of what files are read as; an index of another format is made anew."""

TABLES: Final = """
CREATE TABLE file(
    scope INTEGER, name TEXT, mtime INTEGER, size INTEGER, inode INTEGER, seen INTEGER NOT NULL,
    digest BLOB, record INTEGER, id TEXT, key TEXT, fault TEXT, line INTEGER, change INTEGER NOT NULL,
    PRIMARY KEY(scope, name)
) WITHOUT ROWID;
CREATE INDEX file_change ON file(scope, change);
CREATE UNIQUE INDEX file_record ON file(record) WHERE record IS NOT NULL;
CREATE INDEX file_id ON file(id) WHERE id IS NOT NULL;
"""

RACY: Final = 2_000_000_000
"""Nanoseconds: a file that had changed so shortly before it was looked at may change unseen."""

_COLUMNS: Final = "scope, name, mtime, size, inode, seen, digest, record, id, key, fault, line"


class Row(NamedTuple):
    """One file. `scope` is its scope's number in the index, `seen` when it was looked at, in nanoseconds."""

    scope: int
    name: str
    stamp: Stamp
    seen: int
    digest: bytes
    record: int | None = None
    id: str | None = None
    key: str | None = None
    fault: str | None = None
    line: int | None = None


class Seen(NamedTuple):
    """What a look at a file compares; the digest only where time alone does not tell."""

    stamp: Stamp
    digest: bytes | None


@dataclass(slots=True)
class Known:
    """What was seen of the files of one scope, by name in UTF-8, up to a change.

    `racy` holds the digests of those whose stamps alone do not tell.
    """

    newest: int = -1
    stamps: Files = field(default_factory=dict)
    racy: dict[bytes, bytes] = field(default_factory=dict)

    def take(self, db: sqlite3.Connection, scope: int) -> None:
        """Go on with what has changed in the index since."""
        sql = "SELECT coalesce(max(change), -1), count(*) FROM file WHERE scope = ?"
        newest, count = db.execute(sql, (scope,)).fetchone()
        if self.newest < newest:
            self._add(db, scope)
        if len(self.stamps) != count or self.newest > newest:
            self.newest, self.stamps, self.racy = -1, {}, {}
            self._add(db, scope)
        self.newest = newest

    def _add(self, db: sqlite3.Connection, scope: int) -> None:
        sql = (
            f"SELECT CAST(name AS BLOB), mtime, size, inode, CASE WHEN mtime + {RACY} > seen THEN digest END "
            "FROM file WHERE scope = ? AND change > ?"
        )
        for name, mtime, size, inode, digest in db.execute(sql, (scope, self.newest)):
            self.stamps[name] = mtime, size, inode
            if digest is not None:
                self.racy[name] = digest
            else:
                self.racy.pop(name, None)


def by_place(db: sqlite3.Connection, scope: int, name: str) -> Row | None:
    """The row of a file."""
    return next(_rows(db, "scope = ? AND name = ?", scope, name), None)


def by_record(db: sqlite3.Connection, record: int) -> Row | None:
    """The row of a record's file."""
    return next(_rows(db, "record = ?", record), None)


def by_id(db: sqlite3.Connection, id: str) -> list[Row]:
    """The rows of files that hold this id and are not the record's: copies, and files with a fault."""
    return list(_rows(db, "id = ?", id))


def by_scope(db: sqlite3.Connection, scope: int) -> list[Row]:
    """The rows of one scope."""
    return list(_rows(db, "scope = ?", scope))


def amiss(db: sqlite3.Connection) -> Iterator[Row]:
    """The rows of files that are no records."""
    return _rows(db, "record IS NULL ORDER BY scope, name")


def place_of_id(db: sqlite3.Connection, id: str) -> tuple[Place, Seen] | None:
    """Where the file of a record is, by the record's id."""
    sql = (
        f"SELECT canonical, name, mtime, size, inode, CASE WHEN mtime + {RACY} > seen THEN digest END "
        "FROM file JOIN scope ON scope.id = file.scope "
        "WHERE record = (SELECT key FROM record WHERE record.id = ?)"
    )
    found = db.execute(sql, (id_of(id),)).fetchone()
    if found is None:
        return None
    canonical, name, *stamp, digest = found
    return Place(Scope.parse(canonical), name), Seen(Stamp(*stamp), digest)


def put(db: sqlite3.Connection, rows: Iterable[Row], *, change: int) -> None:
    """Store rows in place of what their files had, as of a change; see `next_change`."""
    values = ((row.scope, row.name, *row.stamp, *row[3:], change) for row in rows)
    marks = ", ".join("?" * 13)
    db.executemany(f"INSERT OR REPLACE INTO file({_COLUMNS}, change) VALUES({marks})", values)


def next_change(db: sqlite3.Connection) -> int:
    """The number of a transaction that changes rows: larger than that of every one before."""
    sql = "INSERT INTO meta VALUES('change', 1) ON CONFLICT(name) DO UPDATE SET value = value + 1 RETURNING value"
    return int(db.execute(sql).fetchone()[0])


def rekey(db: sqlite3.Connection, moved: Mapping[int, int], *, change: int) -> None:
    """Follow records that have other keys now."""
    values = [(new, change, old) for old, new in moved.items()]
    db.executemany("UPDATE file SET record = ?, change = ? WHERE record = ?", values)


def remove(db: sqlite3.Connection, scope: int, name: str) -> None:
    """Know nothing more of a file."""
    db.execute("DELETE FROM file WHERE scope = ? AND name = ?", (scope, name))


def _rows(db: sqlite3.Connection, where: str, *values: object) -> Iterator[Row]:
    found = db.execute(f"SELECT {_COLUMNS} FROM file WHERE {where}", values).fetchall()
    return (Row(scope, name, Stamp(*stamp), *rest) for scope, name, stamp, rest in map(_split, found))


def _split(row: tuple) -> tuple:  # type: ignore[type-arg]
    return row[0], row[1], row[2:5], row[5:]
