"""Rows in an order of several fields, page by page, on an engine that orders by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from memhub.search import listing_key
from memhub_adapters.qdrant.conditions import both, equal, in_range
from memhub_adapters.qdrant.engine import ALL, Engine, Filter, Order, Row
from memhub_adapters.qdrant.points import Stored, stored_of

__all__ = ["LISTING", "WRITTEN", "After", "By", "page"]


@dataclass(frozen=True, slots=True)
class By:
    """Indexed fields to order by, and which way; `key` is the whole order, for what they leave tied."""

    fields: tuple[str, ...]
    key: Callable[[Stored], tuple[Any, ...]]
    descending: bool


@dataclass(frozen=True, slots=True)
class After:
    """A place in an order: the values of its fields, and its key."""

    values: tuple[str | int, ...]
    key: tuple[Any, ...]


LISTING: Final = By(
    ("observed_at", "created_at", "position"), lambda stored: listing_key(stored.record), descending=True
)
WRITTEN: Final = By(("seq",), lambda stored: (stored.seq, stored.record.id), descending=False)


async def page(engine: Engine, where: Filter, by: By, limit: int, after: After | None = None) -> list[Stored]:
    """The first `limit` records that match, after a place."""
    found: list[Stored] = []
    if after is not None:
        tied = both(where, {"must": [equal(*pair) for pair in zip(by.fields, after.values, strict=True)]})
        group = _sorted(await engine.scroll(tied, ALL), by)
        found = [one for one in group if _later(by, one, after)]
        where = both(where, _beyond(by, after.values))
    if len(found) < limit:
        found += await _first(engine, where, by, by.fields, limit - len(found))
    return found[:limit]


async def _first(engine: Engine, where: Filter, by: By, fields: Sequence[str], limit: int) -> list[Stored]:
    """In order. Where a tie would be cut, the tied ones are ordered by the next field."""
    field, *others = fields
    while True:
        rows = await engine.scroll(where, limit + 1, order=Order(field, by.descending))
        if len(rows) <= limit:
            return _sorted(rows, by)
        edge = rows[limit - 1].payload[field]
        if rows[limit].payload[field] != edge:
            return _sorted(rows[:limit], by)
        found = _sorted([row for row in rows[:limit] if row.payload[field] != edge], by)
        tied = both(where, {"must": [equal(field, edge)]})
        if others:
            found += await _first(engine, tied, by, others, limit - len(found))
        else:
            found += _sorted(await engine.scroll(tied, ALL), by)
        # Fewer where some of the tied have gone meanwhile: then what comes after them is wanted.
        if len(found) >= limit:
            return found[:limit]


def _beyond(by: By, values: Sequence[Any]) -> Filter:
    """What comes after a place, the ones tied with it left out."""
    bound = "lt" if by.descending else "gt"
    return {
        "should": [
            {
                "must": [
                    *(equal(*pair) for pair in zip(by.fields[:n], values[:n], strict=True)),
                    in_range(field, **{bound: values[n]}),
                ]
            }
            for n, field in enumerate(by.fields)
        ]
    }


def _sorted(rows: Sequence[Row], by: By) -> list[Stored]:
    found = [stored for row in rows if (stored := stored_of(row)) is not None]
    return sorted(found, key=by.key, reverse=by.descending)


def _later(by: By, stored: Stored, after: After) -> bool:
    key = by.key(stored)
    return key < after.key if by.descending else key > after.key
