"""A query's filters as SQL, with the meaning of `memhub.filters`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from memhub.adapter import Read
from memhub_adapters.postgres.session import Statement

__all__ = ["conditions"]


def conditions(read: Read) -> Statement:
    """What a record `r` must meet: kinds, tags, times, validity, expiry and attributes."""
    found = list(_conditions(read))
    return " AND ".join(sql for sql, _ in found), [value for _, values in found for value in values]


def _conditions(read: Read) -> Iterator[Statement]:
    yield "(r.expires_at IS NULL OR r.expires_at > %s)", (read.now,)
    if read.as_of is not None:
        yield "r.observed_at <= %s", (read.as_of,)
        yield "(r.invalid_at IS NULL OR r.invalid_at > %s)", (read.as_of,)
        yield "(r.expires_at IS NULL OR r.expires_at > %s)", (read.as_of,)
    elif not read.include_invalidated:
        yield "r.invalid_at IS NULL", ()
    if read.since is not None:
        yield "r.observed_at >= %s", (read.since,)
    if read.until is not None:
        yield "r.observed_at < %s", (read.until,)
    if read.kinds:
        yield "r.kind = ANY(%s::text[])", (list(read.kinds),)
    if read.tags:
        yield "r.tags @> %s::jsonb", (_json(read.tags),)
    for field, wanted in read.where.items():
        for operator, value in wanted.items():
            yield _TESTS[operator](field, value)


def _equal(field: str, value: object) -> Statement:
    # A JSON list contains a bare value that one of its elements equals; numbers compare by value.
    return f"coalesce({_VALUE} @> %s::jsonb, false)", (field, _json(value))


def _among(field: str, value: object) -> Statement:
    values = value if isinstance(value, list) else []
    return f"coalesce({_VALUE} @> ANY(%s::text[]::jsonb[]), false)", (field, list(map(_json, values)))


def _exists(field: str, value: object) -> Statement:
    return f"(coalesce({_VALUE} <> '[]', false)) = %s", (field, value)


def _not(test: Callable[[str, object], Statement]) -> Callable[[str, object], Statement]:
    def negated(field: str, value: object) -> Statement:
        sql, values = test(field, value)
        return f"NOT {sql}", values

    return negated


def _ranged(sign: str) -> Callable[[str, object], Statement]:
    def test(field: str, value: object) -> Statement:
        # JSON path looks into a list by itself; what is no number compares as unknown, never as true.
        path = f"$ ? (@ {sign} $n)"
        bound = "jsonb_build_object('n', %s::jsonb)"
        return f"coalesce(jsonb_path_exists({_VALUE}, '{path}', {bound}), false)", (field, _json(value))

    return test


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


_VALUE: Final = "(r.attributes -> %s::text)::jsonb"
_TESTS: Final[Mapping[str, Callable[[str, object], Statement]]] = {
    "eq": _equal,
    "ne": _not(_equal),
    "in": _among,
    "not_in": _not(_among),
    "exists": _exists,
    "gt": _ranged(">"),
    "gte": _ranged(">="),
    "lt": _ranged("<"),
    "lte": _ranged("<="),
}
