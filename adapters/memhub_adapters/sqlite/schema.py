"""The file: its tables, its version ladder, and what makes a file ours.

A record's key is scope number << 32 | its number in the scope, so that one scope's records lie
together. Times are microseconds since 1970, UTC; ids that are canonical UUIDs take 16 bytes.
Postings are packed as `memhub.search.documents` says, block = number >> 7; a scope's newest
documents lie in `fresh`, see `memhub.search.fresh`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Final

from memhub.errors import InvalidConfig, Unavailable
from memhub.search.analyzer import fingerprint

__all__ = ["APPLICATION_ID", "VERSION", "migrate", "verify"]

APPLICATION_ID: Final = 0x4D454D48
"""`MEMH`, at offset 68 of the file."""

_V1: Final = """
CREATE TABLE meta(name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE scope(
    id INTEGER PRIMARY KEY, canonical TEXT NOT NULL UNIQUE,
    next INTEGER NOT NULL DEFAULT 0, count INTEGER NOT NULL DEFAULT 0, length INTEGER NOT NULL DEFAULT 0,
    turns INTEGER NOT NULL DEFAULT 0, fresh INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE label(label TEXT, scope INTEGER, PRIMARY KEY(label, scope)) WITHOUT ROWID;
CREATE TABLE record(
    key INTEGER PRIMARY KEY, seq INTEGER NOT NULL, id NOT NULL, kind INTEGER NOT NULL,
    content TEXT NOT NULL, tags TEXT, attributes TEXT,
    conversation TEXT, run TEXT, author TEXT, role TEXT,
    created_at INTEGER NOT NULL, updated_at INTEGER, observed_at INTEGER NOT NULL,
    invalid_at INTEGER, invalid_reason TEXT, supersedes, superseded_by, expires_at INTEGER,
    revision TEXT NOT NULL, position INTEGER NOT NULL, reserved TEXT,
    session INTEGER, previous INTEGER, following INTEGER,
    scope INTEGER GENERATED ALWAYS AS (key >> 32) VIRTUAL
);
CREATE UNIQUE INDEX record_id ON record(id);
CREATE INDEX record_listing ON record(scope, observed_at, created_at, position, id);
CREATE INDEX record_conversation ON record(scope, conversation)
    WHERE conversation IS NOT NULL AND role IS NOT NULL;
CREATE TABLE posting(
    scope INTEGER, term TEXT, block INTEGER, entries BLOB NOT NULL, PRIMARY KEY(scope, term, block)
) WITHOUT ROWID;
CREATE TABLE fresh(
    scope INTEGER, number INTEGER, entries BLOB NOT NULL, PRIMARY KEY(scope, number)
) WITHOUT ROWID;
CREATE TABLE ledger(
    scope INTEGER, key TEXT, digest TEXT NOT NULL, ids TEXT NOT NULL, PRIMARY KEY(scope, key)
) WITHOUT ROWID;
INSERT INTO meta VALUES('newest', 0);
"""


def _create(db: sqlite3.Connection) -> None:
    for statement in filter(None, map(str.strip, _V1.split(";"))):
        db.execute(statement)
    db.execute("INSERT INTO meta VALUES('analyzer', ?)", (fingerprint(),))
    db.execute(f"PRAGMA application_id = {APPLICATION_ID}")


_STEPS: Final[tuple[Callable[[sqlite3.Connection], None], ...]] = (_create,)
"""Step n takes a file from version n to n + 1, inside one transaction."""

VERSION: Final = len(_STEPS)


def verify(db: sqlite3.Connection, path: str) -> int:
    """The version of the file, 0 when it is empty. Only reads.

    Raises InvalidConfig for a foreign file or one that a newer Memhub wrote, Unavailable for
    a corrupt one.
    """
    version: int = db.execute("PRAGMA user_version").fetchone()[0]
    owner: int = db.execute("PRAGMA application_id").fetchone()[0]
    tables: int = db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if owner != APPLICATION_ID and (owner or version or tables):
        raise InvalidConfig(f"path: {path} is a SQLite file of another program; choose another path")
    if version > VERSION:
        raise InvalidConfig(
            f"path: {path} has schema version {version}, newer than {VERSION}; use a newer Memhub"
        )
    if owner == APPLICATION_ID and not tables:
        raise Unavailable(f"{path} is damaged: its tables are missing; restore it from a backup")
    return version


def migrate(db: sqlite3.Connection, path: str) -> None:
    """Bring the file to VERSION, one transaction in all; safe when several processes try at once."""
    db.execute("BEGIN IMMEDIATE")
    try:
        for number in range(verify(db, path), VERSION):
            _STEPS[number](db)
        db.execute(f"PRAGMA user_version = {VERSION}")
        db.execute("COMMIT")
    finally:
        if db.in_transaction:
            db.execute("ROLLBACK")
