"""Qdrant filters for what a query asks, with the contract's exact meaning.

Attributes are searched through two fields that are made from them: `facets` holds each name, and
each name with a value, as JSON texts, numbers by value; `numbers` name and number, for ranges. So a
name is opaque, whatever characters it has, and 1, "1" and true differ.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from memhub.adapter import Read
from memhub.records import Attributes
from memhub.scope import Scope
from memhub_adapters.qdrant.engine import Filter

__all__ = [
    "BESIDE",
    "RECORDS",
    "any_of",
    "both",
    "empty",
    "equal",
    "filterable",
    "in_range",
    "match",
    "of_ids",
    "placed",
    "scoped",
    "selected",
]

Condition = Mapping[str, Any]


def match(key: str, value: object) -> Condition:
    """The field, or an element of it, is this keyword or integer."""
    return {"key": key, "match": {"value": value}}


def any_of(key: str, values: Iterable[str]) -> Condition:
    """The field, or an element of it, is one of these keywords."""
    return {"key": key, "match": {"any": list(values)}}


def in_range(key: str, **bounds: object) -> Condition:
    """The field lies within gt, gte, lt, lte; numbers, or times as stored."""
    return {"key": key, "range": bounds}


def equal(key: str, value: str | int) -> Condition:
    """The time or integer is exactly this."""
    return match(key, value) if isinstance(value, int) else in_range(key, gte=value, lte=value)


def empty(key: str) -> Condition:
    """The field is missing, null or an empty list."""
    return {"is_empty": {"key": key}}


def of_ids(ids: Iterable[str]) -> Condition:
    """The point is one of these."""
    return {"has_id": list(ids)}


def both(*filters: Filter) -> Filter:
    """What all of these match."""
    return {"must": list(filters)}


RECORDS: Filter = {"must_not": [empty("seq")]}
"""Every record, whose ever it is: nothing else is numbered."""

BESIDE: Final = "beside "
"""Prefix of the scopes and labels of what is kept beside records; their own are JSON and never begin so."""


def scoped(scopes: Sequence[Scope], *, exact: bool, prefix: str = "") -> list[Condition]:
    """What these scopes reach: records, or with BESIDE what is kept beside them."""
    if exact:
        return [any_of("scope", [prefix + scope.canonical for scope in scopes])]
    sets = [[prefix + label for label in sorted(scope.labels)] for scope in scopes]
    if all(len(labels) == 1 for labels in sets):
        return [any_of("labels", [label for labels in sets for label in labels])]
    each = [[match("labels", label) for label in labels] for labels in sets]
    return each[0] if len(each) == 1 else [{"should": [{"must": labels} for labels in each]}]


def placed(scope: Scope, prefix: str = "") -> dict[str, Any]:
    """The fields by which `scoped` finds something of this scope."""
    labels = [prefix + label for label in sorted(scope.labels)]
    return {"scope": prefix + scope.canonical, "labels": labels}


def selected(read: Read) -> Filter:
    """Everything that a query asks but its text."""
    must = scoped(read.scopes, exact=read.exact)
    must_not: list[Condition] = [in_range("expires_at", lte=_time(read.now))]
    if read.kinds:
        must.append(any_of("kind", read.kinds))
    must += [match("tags", tag) for tag in read.tags]
    if read.since is not None:
        must.append(in_range("observed_at", gte=_time(read.since)))
    if read.until is not None:
        must.append(in_range("observed_at", lt=_time(read.until)))
    if read.as_of is not None:
        then = _time(read.as_of)
        must.append(in_range("observed_at", lte=then))
        must_not += [in_range("invalid_at", lte=then), in_range("expires_at", lte=then)]
    elif not read.include_invalidated:
        must.append(empty("invalid_at"))
    for name, tests in read.where.items():
        for operator, value in tests.items():
            condition, wanted = _attribute(name, operator, value)
            (must if wanted else must_not).append(condition)
    return {"must": must, "must_not": must_not}


def filterable(attributes: Attributes) -> dict[str, list[Any]]:
    """The fields through which attributes are filtered; an empty list counts as absent."""
    facets: dict[str, None] = {}
    numbers = []
    for name, value in attributes.items():
        for element in value if isinstance(value, list | tuple) else (value,):
            facets |= {_facet(name): None, _facet(name, element): None}
            if _is_number(element):
                numbers.append({"k": name, "v": float(element)})
    return {"facets": list(facets), "numbers": numbers}


def _attribute(name: str, operator: str, value: Any) -> tuple[Condition, bool]:  # noqa: ANN401 - checked by the hub
    """The condition, and whether it must hold or must not."""
    if operator in ("eq", "ne"):
        return match("facets", _facet(name, value)), operator == "eq"
    if operator in ("in", "not_in"):
        return any_of("facets", [_facet(name, one) for one in value]), operator == "in"
    if operator == "exists":
        return match("facets", _facet(name)), bool(value)
    test = {"must": [match("k", name), in_range("v", **{operator: float(value)})]}
    return {"nested": {"key": "numbers", "filter": test}}, True


def _facet(name: str, *value: object) -> str:
    """The text of a name, or of a name and one value, which numbers enter by what they are worth."""
    # Adding zero makes one of the two zeros that floats have.
    worth = [float(one) + 0.0 if _is_number(one) else one for one in value]  # type: ignore[arg-type]
    return json.dumps([name, *worth], ensure_ascii=False)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _time(moment: datetime) -> str:
    return moment.isoformat()
