"""The verbs that only read, each inside one snapshot of the file."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any

from memhub import filters
from memhub.adapter import Read
from memhub.changes import expired
from memhub.cursors import Place
from memhub.errors import InvalidInput
from memhub.records import Hit, Page, Recalled, Record, ScopeCount, Stats
from memhub.scope import Scope
from memhub.search import Candidate, Totals, asked, listing_key, question, rank, score, why
from memhub_adapters.sqlite import postings
from memhub_adapters.sqlite.rows import COLUMNS, id_of, micros, slot_of
from memhub_adapters.sqlite.scopes import Room, matching, rooms
from memhub_adapters.sqlite.sql import chunks, conditions, integers, marks

__all__ = ["get", "listing", "scan", "search", "stats"]

_KEYS = 2**63
_ORDER = "observed_at DESC, created_at DESC, position DESC, id DESC"


def get(db: sqlite3.Connection, ids: Sequence[str], *, now: datetime) -> list[Record]:
    """The held and unexpired records among these ids, in their order."""
    scopes = _Scopes(db)
    sql = f"SELECT {COLUMNS} FROM record WHERE id = ?"
    rows = (db.execute(sql, (id_of(id),)).fetchone() for id in ids)
    records = [slot_of(row, scopes).record for row in rows if row is not None]
    return [record for record in records if not expired(record, now)]


def listing(db: sqlite3.Connection, read: Read) -> Recalled:
    """A page of the newest records that the query admits."""
    reached = matching(db, read.scopes, exact=read.exact)
    place = Place.parse(read.cursor) if read.cursor else None
    newest = (
        place.newest if place else db.execute("SELECT value FROM meta WHERE name = 'newest'").fetchone()[0]
    )
    keys = list(islice(_newest_first(db, read, reached, newest, place), read.limit + 1))
    page = keys[: read.limit]
    held = _records(db, page)
    records = [held[key] for key in page]
    more = Place(newest, listing_key(records[-1])).text() if len(keys) > len(page) else None
    return Recalled(tuple(map(Hit, records)), more)


def search(db: sqlite3.Connection, read: Read, text: str) -> Recalled:
    """The most relevant records that the query admits."""
    reached = matching(db, read.scopes, exact=read.exact)
    asks = question(text)
    terms = asked(asks)
    totals = Totals(sum(room.records for room in reached), sum(room.length for room in reached))
    scores = score(asks, postings.fetch(db, reached, terms), totals, explain=read.explain)
    seen = _Candidates(db, read)
    ranked = rank(scores, read.limit, seen.fetch, turns=any(room.turns for room in reached))
    records = _records(db, [hit.key for hit in ranked])
    hits = []
    for hit in ranked:
        record = records[hit.key]
        hits.append(Hit(record, hit.score, why(hit, record, asks, scores) if read.explain else None))
    return Recalled(tuple(hits))


def scan(db: sqlite3.Connection, cursor: str | None, limit: int) -> Page:
    """A page of everything, scope by scope in the order written."""
    if cursor is not None and not (cursor.isdecimal() and int(cursor) < _KEYS):
        raise InvalidInput("cursor: is not one that scan gave; pass it back unchanged")
    sql = f"SELECT {COLUMNS} FROM record WHERE key > ? ORDER BY key LIMIT ?"
    rows = db.execute(sql, (int(cursor or -1), limit + 1)).fetchall()
    scopes = _Scopes(db)
    page = [slot_of(row, scopes) for row in rows[:limit]]
    more = str(page[-1].key) if len(rows) > limit else None
    return Page(tuple(slot.record for slot in page), more)


def stats(db: sqlite3.Connection, scope: Scope | None, *, by_scope: bool, now: datetime, size: int) -> Stats:
    """Counts of what a scope covers; `size` is the file's, known for the whole store only."""
    named = {room.number: room.scope for room in rooms(db) if scope is None or scope.covers(room.scope)}
    gone = "expires_at IS NOT NULL AND expires_at <= ?"
    sql = (
        f"SELECT key >> 32, count(*), sum({gone}), sum(invalid_at IS NOT NULL AND NOT ({gone})) "
        f"FROM record WHERE {'key >> 32 IN (' + integers(named) + ')' if scope else '1'} GROUP BY 1"
    )
    at = micros(now)
    rows = [
        ScopeCount(scope=named[number], live=count - dead - hidden, invalidated=hidden, expired=dead)
        for number, count, dead, hidden in db.execute(sql, (at, at))
    ]
    rows.sort(key=lambda row: row.scope.canonical)
    return Stats(
        live=sum(row.live for row in rows),
        invalidated=sum(row.invalidated for row in rows),
        expired=sum(row.expired for row in rows),
        bytes=size if scope is None else None,
        scopes=tuple(rows) if by_scope else (),
    )


@dataclass(slots=True)
class _Filter:
    """What SQL leaves to Python of a query's filters: tags and attributes."""

    read: Read

    @property
    def columns(self) -> str:
        """The columns to select for it, last in the row."""
        return ", tags, attributes" if self.read.tags or self.read.where else ""

    def admits(self, row: tuple[Any, ...]) -> bool:
        """Whether the query may return the row that ends with these columns."""
        if not self.columns:
            return True
        tags, attributes = row[-2:]
        if not set(self.read.tags) <= set(json.loads(tags or "[]")):
            return False
        return filters.matches(json.loads(attributes or "{}"), self.read.where)


@dataclass(slots=True)
class _Candidates:
    """Fetches what ranking must know, filtered by the query."""

    db: sqlite3.Connection
    read: Read

    def fetch(self, keys: Sequence[int]) -> dict[int, Candidate]:
        rest = _Filter(self.read)
        where, values = conditions(self.read)
        found: dict[int, Candidate] = {}
        for part in chunks(keys):
            sql = (
                "SELECT key, observed_at, created_at, position, id, session, previous, "
                f"role IS NOT NULL AND invalid_at IS NULL AND expires_at IS NULL{rest.columns} "
                f"FROM record WHERE key IN ({marks(part)}) AND {where}"
            )
            rows = self.db.execute(sql, (*part, *values))
            found |= {row[0]: _candidate(row) for row in rows if rest.admits(row)}
        return found


def _candidate(row: tuple[Any, ...]) -> Candidate:
    observed, created, position, id, session, previous, lends = row[1:8]
    return Candidate(
        (observed, created, position, id if isinstance(id, str) else id.hex()), session, previous, lends
    )


def _records(db: sqlite3.Connection, keys: Sequence[int]) -> dict[int, Record]:
    found: dict[int, Record] = {}
    scopes = _Scopes(db)
    for part in chunks(keys):
        sql = f"SELECT {COLUMNS} FROM record WHERE key IN ({marks(part)})"
        for row in db.execute(sql, part):
            found[row[0]] = slot_of(row, scopes).record
    return found


def _newest_first(
    db: sqlite3.Connection, read: Read, reached: Sequence[Room], newest: int, place: Place | None
) -> Iterator[int]:
    """The keys of what the query admits, in the order of a listing, after a place."""
    where, values = conditions(read)
    rest = _Filter(read)
    numbers = integers(room.number for room in reached)
    sql = f"SELECT key{rest.columns} FROM record WHERE scope IN ({numbers}) AND seq <= ? AND {where}"
    bound: list[object] = [newest, *values]
    if place is not None:
        observed, created, position, id = place.last
        sql += " AND (observed_at, created_at, position, id) < (?, ?, ?, ?)"
        bound += [micros(observed), micros(created), position, id_of(id)]
    with closing(db.execute(f"{sql} ORDER BY {_ORDER}", bound)) as rows:
        yield from (row[0] for row in rows if rest.admits(row))


class _Scopes(dict[int, Scope]):
    """Scopes by number, looked up when missing."""

    def __init__(self, db: sqlite3.Connection) -> None:
        super().__init__()
        self._db = db

    def __missing__(self, number: int) -> Scope:
        sql = "SELECT canonical FROM scope WHERE id = ?"
        self[number] = Scope.parse(self._db.execute(sql, (number,)).fetchone()[0])
        return self[number]
