"""`where` and the other filters of a query, in plain Python: the one matcher, for adapter authors too."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from memhub import limits, validation
from memhub.adapter import Read
from memhub.capabilities import EQUALITY, RANGES
from memhub.changes import expired, live_at
from memhub.errors import InvalidInput
from memhub.records import Attributes, Record

__all__ = ["admits", "in_scope", "matches", "normalised", "value_types"]

Where = dict[str, dict[str, object]]


def normalised(where: object) -> Where:
    """`where` with every condition as `{field: {operator: value}}`.

    Raises InvalidInput for an unknown operator, a bare list, an empty `in`, a None, a range that
    is no number.
    """
    if not isinstance(where, Mapping):
        raise InvalidInput(f"where: must be a mapping, not {type(where).__name__}")
    if len(where) > limits.CONDITIONS:
        raise InvalidInput(f"where: has {len(where)} fields, more than {limits.CONDITIONS}")
    return {_name(key): _conditions(str(key), value) for key, value in where.items()}


def matches(attributes: Attributes, where: Where) -> bool:
    """Whether attributes meet every condition of a normalised `where`."""
    return all(
        _TESTS[operator](_elements(attributes.get(field)), value)
        for field, conditions in where.items()
        for operator, value in conditions.items()
    )


def admits(record: Record, read: Read) -> bool:
    """Whether a query may return this record: everything it asks but its words."""
    return (
        in_scope(record, read)
        and (not read.kinds or record.kind in read.kinds)
        and (not read.tags or set(read.tags) <= set(record.tags))
        and (read.since is None or record.observed_at >= read.since)
        and (read.until is None or record.observed_at < read.until)
        and _visible(record, read)
        and (not read.where or matches(record.attributes, read.where))
    )


def in_scope(record: Record, read: Read) -> bool:
    """Whether one of the query's scopes reaches the record."""
    if read.exact:
        return record.scope in read.scopes
    return any(scope.covers(record.scope) for scope in read.scopes)


def value_types(value: object) -> frozenset[str]:
    """What a capability must take for a condition's value: of string, number and boolean."""
    return frozenset(map(_value_type, value if isinstance(value, list) else [value]))


def _value_type(value: object) -> str:
    if isinstance(value, bool):
        return "boolean"
    return "number" if isinstance(value, int | float) else "string"


def _visible(record: Record, read: Read) -> bool:
    if expired(record, read.now):
        return False
    if read.as_of is not None:
        return live_at(record, read.as_of)
    return read.include_invalidated or record.invalid_at is None


def _name(key: object) -> str:
    return validation.text("where key", key, limits.TAG_CHARS)


def _conditions(field: str, value: object) -> dict[str, object]:
    if not isinstance(value, Mapping):
        return {"eq": _operand(f"where[{field!r}]", value)}
    if not value:
        raise InvalidInput(f"where[{field!r}]: has no condition; give a value or an operator")
    return {_operator(field, op): _argument(f"where[{field!r}].{op}", op, item) for op, item in value.items()}


def _operator(field: str, operator: object) -> str:
    known = (*EQUALITY, "exists", *RANGES)
    return validation.choice(f"where[{field!r}] operator", operator, known)


def _argument(field: str, operator: str, value: object) -> object:
    if operator in ("in", "not_in"):
        choices = validation.items(field, value, limits.CONDITIONS)
        if not choices:
            raise InvalidInput(f"{field}: is empty; give at least one value")
        return [_operand(f"{field}[{n}]", item) for n, item in enumerate(choices)]
    if operator == "exists":
        if not isinstance(value, bool):
            raise InvalidInput(f"{field}: must be true or false")
        return value
    return validation.number(field, value) if operator in RANGES else _operand(field, value)


def _operand(field: str, value: object) -> str | int | float | bool:
    if value is None:
        raise InvalidInput(f"{field}: is None; to ask for a missing attribute use exists: false")
    if isinstance(value, list | tuple | set | dict):
        raise InvalidInput(f"{field}: compares with one value; for several use in or not_in")
    return validation.scalar(field, value)


def _elements(value: object) -> list[object]:
    if value is None:
        return []
    return list(value) if isinstance(value, list | tuple) else [value]


def _same(left: object, right: object) -> bool:
    """Numbers by value; a boolean is no number; text equals text only."""
    return isinstance(left, bool) == isinstance(right, bool) and left == right


def _any_equal(values: list[object], wanted: object) -> bool:
    return any(_same(value, wanted) for value in values)


def _any_in(values: list[object], wanted: object) -> bool:
    return isinstance(wanted, list) and any(_any_equal(values, item) for item in wanted)


def _ranged(compare: Callable[[float, float], bool]) -> Callable[[list[object], object], bool]:
    def test(values: list[object], bound: object) -> bool:
        return isinstance(bound, int | float) and any(
            compare(value, bound)
            for value in values
            if isinstance(value, int | float) and not isinstance(value, bool)
        )

    return test


_TESTS: Final[Mapping[str, Callable[[list[object], object], bool]]] = {
    "eq": _any_equal,
    "ne": lambda values, wanted: not _any_equal(values, wanted),
    "in": _any_in,
    "not_in": lambda values, wanted: not _any_in(values, wanted),
    "exists": lambda values, wanted: bool(values) is wanted,
    "gt": _ranged(lambda value, bound: value > bound),
    "gte": _ranged(lambda value, bound: value >= bound),
    "lt": _ranged(lambda value, bound: value < bound),
    "lte": _ranged(lambda value, bound: value <= bound),
}
