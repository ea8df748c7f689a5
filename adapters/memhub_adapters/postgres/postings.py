"""The index in its tables: rows of packed postings, and the fresh documents beside them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from memhub.search import BLOCK, STOPS, Document, without
from memhub.search.fresh import FRESH, entry, mark, packed, unpacked
from memhub_adapters.postgres.book import Change
from memhub_adapters.postgres.session import Row, Session, Statement

__all__ = ["Place", "Stored", "changes", "found", "split", "stored"]

Place = tuple[str, int]
"""Term and block: with the scope, the key of a posting row."""

_NUMBER: Final = 0xFFFFFFFF
_PLACES: Final = (1 << BLOCK) - 1
_HELD: Final = (
    "SELECT p.term, p.block, p.entries FROM posting p "
    "JOIN unnest(%s::text[], %s::int[]) AS g(term, block) ON p.term = g.term AND p.block = g.block "
    "WHERE p.scope = %s"
)
_APPEND: Final = (
    "INSERT INTO posting AS p SELECT %s, g.* FROM unnest(%s::text[], %s::int[], %s::bytea[]) AS g "
    "ON CONFLICT (scope, term, block) DO UPDATE SET entries = p.entries || excluded.entries"
)
_REWRITE: Final = (
    "UPDATE posting p SET entries = g.entries "
    "FROM unnest(%s::text[], %s::int[], %s::bytea[]) AS g(term, block, entries) "
    "WHERE p.scope = %s AND p.term = g.term AND p.block = g.block"
)
_DELETE: Final = (
    "DELETE FROM posting p USING unnest(%s::text[], %s::int[]) AS g(term, block) "
    "WHERE p.scope = %s AND p.term = g.term AND p.block = g.block"
)


@dataclass(slots=True)
class Stored:
    """What must be read of one scope's index before it is changed."""

    fresh: dict[int, bytes] = field(default_factory=dict)
    held: dict[Place, bytes] = field(default_factory=dict)


async def stored(session: Session, scope: int, fresh: int, change: Change) -> Stored | None:
    """What a change must see first; None where it only adds to the `fresh` documents."""
    if not change.removed and fresh + len(change.added) <= FRESH:
        return None
    places = sorted(_places(change.removed))
    questions: list[Statement] = [("SELECT number, entries FROM fresh WHERE scope = %s", (scope,))]
    if places:
        questions.append((_HELD, (*map(list, zip(*places, strict=True)), scope)))
    rows, *held = await session.ask(*questions)
    return Stored(dict(rows), {(term, block): entries for part in held for term, block, entries in part})


def changes(scope: int, change: Change, before: Stored | None) -> tuple[list[Statement], int]:
    """What to write for a change of one scope, and how many more fresh documents that makes."""
    whole = {key & _NUMBER: document for key, document in change.added.items()}
    if before is None:
        return _freshen(scope, whole), len(whole)
    gone = [key & _NUMBER for key in change.removed if key & _NUMBER in before.fresh]
    packed_away = {key: one for key, one in change.removed.items() if key & _NUMBER not in before.fresh}
    statements = _rewritten(scope, packed_away, before.held)
    left = {number: row for number, row in before.fresh.items() if number not in gone}
    if len(left) + len(whole) > FRESH:
        gone = list(before.fresh)
        whole = {number: unpacked(row) for number, row in left.items()} | whole
        moved = -len(before.fresh)
        added = [_appended(scope, whole)]
    else:
        moved = len(whole) - len(gone)
        added = _freshen(scope, whole)
    if gone:
        statements.append(
            ("DELETE FROM fresh WHERE scope = %s AND number = ANY(%s::bigint[])", (scope, gone))
        )
    return statements + added, moved


def found(
    postings: Iterable[Row], fresh: Iterable[Row], terms: Sequence[str]
) -> dict[str, list[tuple[int, bytes]]]:
    """Rows as `memhub.search.score` takes them: (scope, term, block, entries), (scope, number, entries)."""
    result: dict[str, list[tuple[int, bytes]]] = {}
    for scope, term, block, entries in postings:
        result.setdefault(term, []).append(((scope << 32) + (block << BLOCK), entries))
    sought = [(term, mark(term)) for term in terms]
    for scope, number, row in fresh:
        first, place = (scope << 32) + (number >> BLOCK << BLOCK), number & _PLACES
        for term, at in sought:
            if held := entry(row, at, place):
                result.setdefault(term, []).append((first, held))
    return result


def split(entries: bytes, *, stops: bool) -> Iterator[bytes]:
    """The entries of a posting row, one by one."""
    at = 0
    while at < len(entries):
        size = 2 + entries[at + 1] if stops else 3
        yield entries[at : at + size]
        at += size


def _places(documents: Mapping[int, Document]) -> dict[Place, list[int]]:
    """Where the index would hold these documents, by key; and their places in each block."""
    places: dict[Place, list[int]] = {}
    for key, document in documents.items():
        number = key & _NUMBER
        for term in document.entries(0):
            places.setdefault((term, number >> BLOCK), []).append(number & _PLACES)
    return places


def _freshen(scope: int, documents: Mapping[int, Document]) -> list[Statement]:
    if not documents:
        return []
    rows = [packed(document) for document in documents.values()]
    if len(rows) == 1:
        return [("INSERT INTO fresh VALUES(%s, %s, %s)", (scope, *documents, rows[0]))]
    sql = "INSERT INTO fresh SELECT %s, g.* FROM unnest(%s::bigint[], %s::bytea[]) AS g"
    return [(sql, (scope, list(documents), rows))]


def _appended(scope: int, documents: Mapping[int, Document]) -> Statement:
    added: dict[Place, bytes] = {}
    for number, document in documents.items():
        for term, held in document.entries(number & _PLACES).items():
            place = (term, number >> BLOCK)
            added[place] = added.get(place, b"") + held
    # In the order of the index, which makes its pages grow rather than split.
    rows = sorted((term, block, entries) for (term, block), entries in added.items())
    return _APPEND, (scope, *map(list, zip(*rows, strict=True)))


def _rewritten(scope: int, removed: Mapping[int, Document], held: Mapping[Place, bytes]) -> list[Statement]:
    left: dict[Place, bytes] = {}
    for place, numbers in _places(removed).items():
        entries = held.get(place, b"")
        for number in numbers:
            entries = without(entries, number, stops=place[0] == STOPS)
        left[place] = entries
    kept = [(*place, entries) for place, entries in left.items() if entries]
    gone = [place for place, entries in left.items() if not entries]
    statements: list[Statement] = []
    if kept:
        statements.append((_REWRITE, (*map(list, zip(*kept, strict=True)), scope)))
    if gone:
        statements.append((_DELETE, (*map(list, zip(*gone, strict=True)), scope)))
    return statements
