"""Exact scopes as rows: which ones a query reaches, and those that a write holds."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from memhub.scope import Scope
from memhub_adapters.postgres.session import Statement

__all__ = ["GUARD", "ROOM", "TENANT", "Room", "held", "held_of", "made", "reached"]

GUARD: Final = "(SELECT string_agg(value, ' ' ORDER BY name) FROM meta WHERE name IN ('analyzer', 'embedder', 'version'))"
"""What the schema says of who may use it, see `memhub_adapters.postgres.schema.check_guard`."""

TENANT: Final = (
    "CASE WHEN labels = '[]' THEN canonical ELSE (SELECT label FROM jsonb_array_elements_text(labels) label "
    "WHERE label::jsonb ->> 0 = (SELECT value FROM meta WHERE name = 'rls')) END"
)
"""Whose a scope is, see `memhub_adapters.postgres.tenants`."""

ROOM: Final = "s.id, s.canonical, s.next, s.count, s.length, s.turns, s.fresh"


@dataclass(slots=True)
class Room:
    """One exact scope: the next number, its records, the sum of their lengths, its turns, fresh documents."""

    number: int
    canonical: str
    next: int
    count: int
    length: int
    turns: int
    fresh: int


def reached(scopes: Sequence[Scope], *, exact: bool) -> Statement:
    """The condition on `s` that holds for the exact scopes that a query for any of these reaches."""
    named = [scope for scope in scopes if exact or scope.name is not None]
    paired = [scope for scope in scopes if not (exact or scope.name is not None)]
    these, values = _these(named) if named else ("", [])
    parts = [these] if named else []
    parts += ["s.labels @> %s::jsonb"] * len(paired)
    return " OR ".join(parts), [*values, *map(_labels, paired)]


def made(scopes: Sequence[Scope]) -> Statement:
    """Makes the scopes that are missing."""
    sql = (
        f"INSERT INTO scope(canonical, labels, tenant) SELECT g.canonical, g.labels, {TENANT} FROM "
        "(SELECT canonical, labels::jsonb AS labels FROM unnest(%s::text[], %s::text[]) AS g(canonical, labels)) g "
        "WHERE NOT EXISTS (SELECT FROM scope s WHERE s.canonical = g.canonical) ORDER BY g.canonical "
        "ON CONFLICT (canonical) DO NOTHING"
    )
    return sql, ([scope.canonical for scope in scopes], list(map(_labels, scopes)))


def held(scopes: Sequence[Scope]) -> Statement:
    """Locks scopes until the transaction ends, so that one write at a time sees and changes each."""
    these, values = _these(scopes)
    return _locked(these), values


def held_of(ids: Sequence[str]) -> Statement:
    """Locks the scopes of these records and of those that they supersede or are superseded by."""
    condition = (
        "s.id = ANY(ARRAY(SELECT r.scope FROM record r WHERE r.id = ANY(%s::text[]) UNION ALL "
        "SELECT o.scope FROM record r JOIN record o ON o.id IN (r.supersedes, r.superseded_by) "
        "WHERE r.id = ANY(%s::text[])))"
    )
    return _locked(condition), (list(ids), list(ids))


def _these(scopes: Sequence[Scope]) -> Statement:
    """The condition on `s` for exact scopes. One, by far the commonest case, is looked up by any plan."""
    if len(scopes) == 1:
        return "s.canonical = %s", (scopes[0].canonical,)
    return "s.canonical = ANY(%s::text[])", ([scope.canonical for scope in scopes],)


def _locked(condition: str) -> str:
    return f"SELECT {ROOM}, {GUARD} FROM scope s WHERE {condition} ORDER BY s.id FOR UPDATE OF s"


def _labels(scope: Scope) -> str:
    """The labels of pairs; a name is found by its canonical text."""
    return json.dumps(sorted(scope.labels) if scope.pairs else [], ensure_ascii=False)
