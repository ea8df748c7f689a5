"""Which exact scopes a query reaches, with what BM25 must know of them."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import NamedTuple

from memhub.scope import Scope
from memhub_adapters.sqlite.sql import integers, marks

__all__ = ["Room", "matching", "rooms"]

_COLUMNS = "id, canonical, count, length, turns, fresh"


class Room(NamedTuple):
    """One exact scope in the file: its records, the sum of their lengths, its turns, its fresh documents.

    A query may reach thousands, so that their texts are parsed only where a record is shown.
    """

    number: int
    canonical: str
    records: int
    length: int
    turns: int
    fresh: int

    @property
    def scope(self) -> Scope:
        """The scope itself."""
        return Scope.parse(self.canonical)


def matching(db: sqlite3.Connection, scopes: Sequence[Scope], *, exact: bool) -> list[Room]:
    """The exact scopes that a query for any of these reaches, each once."""
    named = [scope for scope in scopes if exact or scope.name is not None]
    paired = [scope for scope in scopes if not (exact or scope.name is not None)]
    found = _named(db, named) if named else {}
    for scope in paired:
        found |= _covered(db, scope)
    return list(found.values())


def rooms(db: sqlite3.Connection) -> list[Room]:
    """Every exact scope."""
    rows = db.execute(f"SELECT {_COLUMNS} FROM scope ORDER BY id").fetchall()
    return [Room(*row) for row in rows]


def _named(db: sqlite3.Connection, scopes: Sequence[Scope]) -> dict[int, Room]:
    sql = f"SELECT {_COLUMNS} FROM scope WHERE canonical IN ({marks(scopes)})"
    rows = db.execute(sql, [scope.canonical for scope in scopes])
    return {row[0]: Room(*row) for row in rows}


def _covered(db: sqlite3.Connection, scope: Scope) -> dict[int, Room]:
    labels = sorted(scope.labels)
    sql = f"SELECT scope FROM label WHERE label IN ({marks(labels)}) GROUP BY scope HAVING count(*) = ?"
    numbers = [row[0] for row in db.execute(sql, (*labels, len(labels)))]
    rows = db.execute(f"SELECT {_COLUMNS} FROM scope WHERE id IN ({integers(numbers)})")
    return {row[0]: Room(*row) for row in rows}
