"""`where` against a tiny oracle that says the same thing in another way."""

import operator
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memhub import Query, Record, Scope
from memhub.filters import admits, matches, normalised, value_types
from memhub.requests import read_from

values = st.sampled_from([0, 1, 1.0, 2, 2.5, -1, True, False, "1", "true", "", "a", "A", 2**53])
stored = st.dictionaries(st.sampled_from("ab"), values | st.lists(values, max_size=3))
conditions = st.one_of(
    values,
    st.fixed_dictionaries({}, optional={"eq": values, "ne": values, "exists": st.booleans()}).filter(bool),
    st.fixed_dictionaries(
        {},
        optional={
            "in": st.lists(values, min_size=1, max_size=3),
            "not_in": st.lists(values, min_size=1, max_size=3),
        },
    ).filter(bool),
    st.dictionaries(
        st.sampled_from(["gt", "gte", "lt", "lte"]), st.sampled_from([0, 1, 1.0, 2.5, -1]), min_size=1
    ),
)
wheres = st.dictionaries(st.sampled_from("abc"), conditions, max_size=3)


def typed(value: object) -> tuple[str, object]:
    """A value as something that Python's own equality compares as the contract does."""
    if isinstance(value, bool):
        return ("boolean", value)
    return ("string", value) if isinstance(value, str) else ("number", float(value))


def holds(elements: set[tuple[str, object]], name: str, operand: object) -> bool:
    if name in ("eq", "ne"):
        return (typed(operand) in elements) == (name == "eq")
    if name in ("in", "not_in"):
        return elements.isdisjoint(map(typed, operand)) == (name == "not_in")
    if name == "exists":
        return operand == (len(elements) > 0)
    compare = {"gt": operator.gt, "gte": operator.ge, "lt": operator.lt, "lte": operator.le}[name]
    return any(compare(value, operand) for kind, value in elements if kind == "number")


def oracle(attributes: dict[str, object], where: dict[str, object]) -> bool:
    for field, condition in where.items():
        value = attributes.get(field, [])
        elements = set(map(typed, value if isinstance(value, list) else [value]))
        wanted = condition if isinstance(condition, dict) else {"eq": condition}
        if not all(holds(elements, name, operand) for name, operand in wanted.items()):
            return False
    return True


@given(stored, wheres)
def test_where_means_what_the_oracle_says(attributes: dict[str, object], where: dict[str, object]) -> None:
    assert matches(attributes, normalised(where)) == oracle(attributes, where)


@given(stored, values, st.lists(values, min_size=1, max_size=3))
def test_ne_and_not_in_are_the_exact_negations(
    attributes: dict[str, object], value: object, several: list[object]
) -> None:
    for positive, negative, operand in (("eq", "ne", value), ("in", "not_in", several)):
        one = matches(attributes, normalised({"a": {positive: operand}}))
        other = matches(attributes, normalised({"a": {negative: operand}}))
        assert one != other


@given(wheres)
def test_a_normalised_where_is_normal(where: dict[str, object]) -> None:
    assert normalised(normalised(where)) == normalised(where)


@pytest.mark.parametrize(
    ("value", "types"),
    [
        ("a", {"string"}),
        (1, {"number"}),
        (1.5, {"number"}),
        (True, {"boolean"}),
        (["a", 1], {"string", "number"}),
    ],
)
def test_a_condition_names_every_type_that_it_compares(value: object, types: set[str]) -> None:
    assert value_types(value) == types


NOW = datetime(2026, 3, 1, tzinfo=UTC)
DAY = timedelta(days=1)


def record(**fields: object) -> Record:
    given = {
        "scope": Scope(tenant="acme", user="u"),
        "kind": "fact",
        "content": "tea",
        "observed_at": NOW - DAY,
    }
    return Record(id="r", revision="1", created_at=NOW, updated_at=NOW, **{**given, **fields})


def found(record: Record, **query: object) -> bool:
    return admits(record, read_from(Query(**{"scope": Scope(tenant="acme"), **query}), NOW))


@pytest.mark.parametrize(
    ("fields", "query"),
    [
        ({}, {}),
        ({}, {"scope": [Scope("other"), Scope(user="u")]}),
        ({}, {"exact": True, "scope": Scope(user="u", tenant="acme")}),
        ({"kind": "profile"}, {"kinds": ["fact", "profile"]}),
        ({"tags": ("a", "b", "c")}, {"tags": ["c", "a"]}),
        ({}, {"since": NOW - DAY}),
        ({}, {"until": NOW}),
        ({"expires_at": NOW + DAY}, {}),
        ({"invalid_at": NOW}, {"include_invalidated": True}),
        ({"invalid_at": NOW}, {"as_of": NOW - DAY / 2}),
        ({"invalid_at": NOW + DAY}, {"as_of": NOW}),
        ({"attributes": {"n": 3}}, {"where": {"n": {"gte": 3}}}),
    ],
)
def test_a_query_admits(fields: dict[str, object], query: dict[str, object]) -> None:
    assert found(record(**fields), **query)


@pytest.mark.parametrize(
    ("fields", "query"),
    [
        ({}, {"scope": Scope("acme")}),
        ({}, {"scope": Scope(tenant="acm")}),
        ({}, {"scope": Scope(tenant="acme", user="u", more="x")}),
        ({}, {"exact": True}),
        ({}, {"kinds": ["profile"]}),
        ({"tags": ("a", "b")}, {"tags": ["a", "c"]}),
        ({"tags": ("a",)}, {"tags": ["A"]}),
        ({}, {"since": NOW - DAY + timedelta(microseconds=1)}),
        ({}, {"until": NOW - DAY}),
        ({"expires_at": NOW}, {}),
        ({"expires_at": NOW}, {"include_invalidated": True}),
        ({"expires_at": NOW}, {"as_of": NOW - DAY / 2}),
        ({"expires_at": NOW + DAY}, {"as_of": NOW + DAY}),
        ({"invalid_at": NOW - DAY}, {}),
        ({"invalid_at": NOW + DAY}, {}),
        ({"invalid_at": NOW}, {"as_of": NOW}),
        ({}, {"as_of": NOW - 2 * DAY}),
        ({"attributes": {"n": 2}}, {"where": {"n": {"gte": 3}}}),
    ],
)
def test_a_query_leaves_out(fields: dict[str, object], query: dict[str, object]) -> None:
    assert not found(record(**fields), **query)
