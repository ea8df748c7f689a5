"""The two grammars of Mem0's filters: that of the open-source server, and that of the Platform.

They look alike and differ where it hurts: the server wants the user at the top level and NOT as a
list, takes a `*` for no condition at all, and its `ne` passes over rows without the key; the Platform
wants metadata in its own object and NOT as an object, and refuses what it does not know.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from memhub_adapters.standins.mem0_rows import IDS, Refused, Row

__all__ = ["platform", "server"]

Test = Callable[[Row], bool]

_ALLOWED: Final = (
    *("AND", "OR", "NOT", *IDS, "created_at", "updated_at", "timestamp", "expiration_date", "text"),
    *("categories", "metadata", "keywords_search", "memory_ids", "keywords"),
)
_RANGES: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "gt": lambda value, bound: value > bound,
    "gte": lambda value, bound: value >= bound,
    "lt": lambda value, bound: value < bound,
    "lte": lambda value, bound: value <= bound,
}


def server(filters: Mapping[str, Any]) -> Test:
    """The test of an open-source server's filters. Raises Refused, 400, as it does."""
    if not any(name in filters for name in ("user_id", "agent_id", "run_id")):
        raise _bad("filters must contain at least one of: user_id, agent_id, run_id.")
    return _all([_server_part(name, value) for name, value in filters.items()])


def _server_part(name: str, value: Any) -> Test:  # noqa: ANN401 - any JSON value
    if name in ("AND", "OR", "NOT"):
        if not isinstance(value, list) or not value:
            raise _bad(f"{name} operator requires a non-empty list of conditions")
        parts = [_all([_server_part(*item) for item in one.items()]) for one in value]
        if name == "AND":
            return _all(parts)
        return _any(parts) if name == "OR" else lambda row: not any(part(row) for part in parts)
    if value == "*":
        return _all([])
    if not isinstance(value, dict):
        wanted = value if isinstance(value, list) else [value]
        return lambda row: _value(row, name) in wanted
    return _all([_server_operator(name, operator, given) for operator, given in value.items()])


def _server_operator(name: str, operator: str, given: Any) -> Test:  # noqa: ANN401 - any JSON value
    def value(row: Row) -> Any:  # noqa: ANN401 - any JSON value
        return _value(row, name)

    if operator in _RANGES:
        compare = _RANGES[operator]
        return lambda row: value(row) is not None and compare(value(row), given)
    tests: dict[str, Test] = {
        "eq": lambda row: value(row) == given,
        "ne": lambda row: value(row) is not None and value(row) != given,
        "in": lambda row: value(row) in given,
        "nin": lambda row: value(row) is not None and value(row) not in given,
        "contains": lambda row: str(given) in str(value(row) or ""),
        "icontains": lambda row: str(given).casefold() in str(value(row) or "").casefold(),
    }
    if operator not in tests:
        raise _bad(f"Unsupported metadata filter operator: {operator}")
    return tests[operator]


def platform(filters: object) -> Test:
    """The test of the Platform's filters. Raises Refused, 400, as it does."""
    if not isinstance(filters, dict) or not filters:
        raise _bad("filters are required", key="error")
    test = _platform_all(filters)
    if not _positively_scoped(filters):
        raise _bad("filters need at least one of user_id, agent_id, app_id, run_id", key="error")
    return test


def _platform_all(filters: Mapping[str, Any]) -> Test:
    for name in filters:
        if name not in _ALLOWED:
            raise _bad(f"Top-level key must be a logical operator or an allowed field: {name}", key="error")
    return _all([_platform_part(name, value) for name, value in filters.items()])


def _platform_part(name: str, value: Any) -> Test:  # noqa: ANN401 - any JSON value
    if name in ("AND", "OR"):
        if not isinstance(value, list):
            raise _bad(f"{name} takes a list", key="error")
        parts = [_platform_all(one) for one in value]
        return _all(parts) if name == "AND" else _any(parts)
    if name == "NOT":
        if not isinstance(value, dict):
            raise _bad("NOT takes an object", key="error")
        inner = _platform_all(value)
        return lambda row: not inner(row)
    return _platform_field(name, value)


def _platform_field(name: str, value: Any) -> Test:  # noqa: ANN401 - any JSON value
    if name == "metadata":
        return _all([_platform_metadata(key, wanted) for key, wanted in value.items()])
    if name == "memory_ids":
        return lambda row: row.id in value
    if value == "*":
        return lambda row: row.ids.get(name) is not None
    if isinstance(value, dict) and "in" in value:
        return lambda row: row.ids.get(name) in value["in"]
    return lambda row: row.ids.get(name) == value


def _platform_metadata(key: str, wanted: Any) -> Test:  # noqa: ANN401 - any JSON value
    if not isinstance(wanted, dict):
        return lambda row: row.metadata.get(key) == wanted
    for operator in wanted:
        if operator not in ("eq", "ne", "contains"):
            raise _bad(f"FilterValidationError: {operator}", key="error")
    return _all(
        [
            lambda row: "eq" not in wanted or row.metadata.get(key) == wanted["eq"],
            lambda row: "ne" not in wanted or row.metadata.get(key) != wanted["ne"],
            lambda row: "contains" not in wanted or str(wanted["contains"]) in str(row.metadata.get(key, "")),
        ]
    )


def _positively_scoped(filters: Mapping[str, Any]) -> bool:
    if any(filters.get(name) is not None for name in IDS):
        return True
    return any(_positively_scoped(one) for name in ("AND", "OR") for one in filters.get(name, ()))


def _value(row: Row, name: str) -> Any:  # noqa: ANN401 - any JSON value
    return row.ids[name] if name in row.ids else row.metadata.get(name)


def _all(tests: list[Test]) -> Test:
    return lambda row: all(test(row) for test in tests)


def _any(tests: list[Test]) -> Test:
    return lambda row: any(test(row) for test in tests)


def _bad(text: str, *, key: str = "detail") -> Refused:
    return Refused(400, {key: text})
