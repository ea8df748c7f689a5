"""The verbs that only read: one statement, or several inside one snapshot."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from memhub.adapter import Read
from memhub.cursors import Place
from memhub.errors import InvalidInput
from memhub.records import Hit, Page, Recalled, Record, ScopeCount, Stats
from memhub.scope import Scope
from memhub.search import listing_key
from memhub_adapters.postgres.conditions import conditions
from memhub_adapters.postgres.rows import SLOT, SLOTS, Scopes, slot_of
from memhub_adapters.postgres.scopes import reached
from memhub_adapters.postgres.session import Session

__all__ = ["get", "listing", "scan", "stats"]

_KEYS: Final = 1 << 63
_ORDER: Final = "observed_at DESC, created_at DESC, position DESC, id DESC"


async def get(session: Session, ids: Sequence[str], *, now: datetime) -> list[Record]:
    """The held and unexpired records among these ids, in their order."""
    sql = f"{SLOTS} WHERE r.id = ANY(%s::text[]) AND (r.expires_at IS NULL OR r.expires_at > %s)"
    [rows] = await session.ask((sql, (list(ids), now)))
    scopes = Scopes()
    records = {row[1]: slot_of(row, scopes).record for row in rows}
    return [records[id] for id in ids if id in records]


async def listing(session: Session, read: Read) -> Recalled:
    """A page of the newest records that the query admits.

    The page is taken from each scope by its index, and then from these. A later page keeps out what
    was numbered after the first one was read.
    """
    reach, scopes = reached(read.scopes, exact=read.exact)
    where, values = conditions(read)
    place = Place.parse(read.cursor) if read.cursor else None
    if place is not None:
        where += " AND r.seq <= %s AND (r.observed_at, r.created_at, r.position, r.id) < (%s, %s, %s, %s)"
        values = [*values, place.newest, *place.last]
    page = f"ORDER BY {_ORDER} LIMIT %s"
    sql = (
        f"WITH reached AS MATERIALIZED (SELECT s.id FROM scope s WHERE {reach}), page AS MATERIALIZED ("
        "SELECT r.* FROM reached CROSS JOIN LATERAL ("
        "SELECT r.key, r.observed_at, r.created_at, r.position, r.id FROM record r "
        f"WHERE r.scope = reached.id AND {where} {page}) r {page}) "
        f"SELECT {SLOT}, (SELECT last_value FROM record_seq) FROM record r JOIN scope s ON s.id = r.scope "
        "WHERE r.key = ANY(ARRAY(SELECT key FROM page))"
    )
    [rows] = await session.ask((sql, (*scopes, *values, read.limit + 1, read.limit + 1)))
    parsed = Scopes()
    found = sorted((slot_of(row[:-1], parsed).record for row in rows), key=listing_key, reverse=True)
    records = found[: read.limit]
    newest = place.newest if place else rows[0][-1] if rows else 0
    more = Place(newest, listing_key(records[-1])).text() if len(found) > len(records) else None
    return Recalled(tuple(map(Hit, records)), more)


async def scan(session: Session, cursor: str | None, limit: int) -> Page:
    """A page of everything, scope by scope in the order written."""
    if cursor is not None and not (cursor.isdecimal() and int(cursor) < _KEYS):
        raise InvalidInput("cursor: is not one that scan gave; pass it back unchanged")
    sql = f"{SLOTS} WHERE r.key > %s ORDER BY r.key LIMIT %s"
    [rows] = await session.ask((sql, (int(cursor or -1), limit + 1)))
    scopes = Scopes()
    page = [slot_of(row, scopes) for row in rows[:limit]]
    more = str(page[-1].key) if len(rows) > limit else None
    return Page(tuple(slot.record for slot in page), more)


async def stats(session: Session, scope: Scope | None, *, by_scope: bool, now: datetime) -> Stats:
    """Counts of what a scope covers, from each scope's own and an index of what is hidden."""
    reach, values = reached([scope], exact=False) if scope is not None else ("true", [])
    hidden = (
        "SELECT scope, count(*) FILTER (WHERE expires_at <= %s) AS expired, "
        "count(*) FILTER (WHERE invalid_at IS NOT NULL AND (expires_at IS NULL OR expires_at > %s)) AS invalid "
        "FROM record WHERE invalid_at IS NOT NULL OR expires_at IS NOT NULL GROUP BY scope"
    )
    counts = (
        "SELECT s.canonical, s.count, coalesce(h.invalid, 0), coalesce(h.expired, 0) "
        f"FROM scope s LEFT JOIN ({hidden}) h ON h.scope = s.id WHERE ({reach}) AND s.count > 0 "
        "ORDER BY s.canonical"
    )
    size = (
        "SELECT sum(pg_total_relation_size(oid))::bigint FROM pg_class "
        "WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'"
    )
    rows, [(stored,)] = await session.ask((counts, (now, now, *values)), (size, ()), commit=True)
    listed = [
        ScopeCount(scope=Scope.parse(text), live=count - dead - invalid, invalidated=invalid, expired=dead)
        for text, count, invalid, dead in rows
    ]
    return Stats(
        live=sum(row.live for row in listed),
        invalidated=sum(row.invalidated for row in listed),
        expired=sum(row.expired for row in listed),
        bytes=stored if scope is None else None,
        scopes=tuple(listed) if by_scope else (),
    )
