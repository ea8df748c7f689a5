"""Conditions on attributes mean in SQL what they mean in Python."""

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memhub import Query, Scope
from memhub.filters import matches
from memhub.requests import read_from
from memhub_adapters.postgres.conditions import conditions
from postgres_fixture import dsn
from strategies import attributes, scalars

NOW = datetime(2024, 5, 8, 9, tzinfo=UTC)
READ = replace(read_from(Query(Scope("a"), include_invalidated=True), NOW), where={})
SQL = """
SELECT given.number FROM unnest(%s::int[], %s::text[]) AS given(number, attributes)
CROSS JOIN LATERAL (SELECT given.attributes::json AS attributes, NULL::timestamptz AS expires_at) r
WHERE {} ORDER BY 1
"""
NUMBERS = st.sampled_from([0, -0.0, 1, 1.0, 1.5, 2, 2.0**53, 2**53, 1e308, 5e-324, 0.1])
VALUES = NUMBERS | st.booleans() | st.sampled_from(["1", "true", "", "null", "é", "[]", "$ ? (1)"]) | scalars
FIELDS = st.sampled_from(["n", "a.b", "'; -- %s é"])
STORED = st.lists(
    st.dictionaries(FIELDS, VALUES | st.lists(VALUES, max_size=3), max_size=3) | attributes,
    min_size=5,
    max_size=12,
)
CONDITIONS = (
    st.dictionaries(st.sampled_from(["eq", "ne"]), VALUES, min_size=1)
    | st.dictionaries(st.sampled_from(["in", "not_in"]), st.lists(VALUES, min_size=1, max_size=4), min_size=1)
    | st.dictionaries(st.just("exists"), st.booleans(), min_size=1)
    | st.dictionaries(st.sampled_from(["gt", "gte", "lt", "lte"]), NUMBERS, min_size=1)
)
EVERY_VALUE = [0, 1, 1.0, 1.5, 2, True, False, "1", "a", [], [1, 3], ["a", True], None]
EVERY_CONDITION = [
    *({name: bound} for name in ("gt", "gte", "lt", "lte") for bound in (0, 1, 1.0, 2)),
    *({name: value} for name in ("eq", "ne") for value in (0, 1, 1.0, True, "1", "a")),
    *({name: values} for name in ("in", "not_in") for values in ([1], ["1", True], [1.5, 3])),
    {"exists": True},
    {"exists": False},
]


@pytest.fixture(scope="module")
def connection() -> Iterator[psycopg.Connection]:
    with psycopg.connect(dsn(), autocommit=True) as connection:
        yield connection


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(STORED, st.dictionaries(FIELDS, CONDITIONS, min_size=1, max_size=2))
def test_a_condition_admits_the_same_attributes_as_in_python(connection, stored, where):
    assert admitted(connection, stored, where) == [n for n, one in enumerate(stored) if matches(one, where)]


@pytest.mark.parametrize("condition", EVERY_CONDITION, ids=json.dumps)
def test_every_condition_admits_the_same_values_as_in_python(connection, condition):
    stored = [{} if value is None else {"n": value} for value in EVERY_VALUE]
    where = {"n": condition}
    assert admitted(connection, stored, where) == [n for n, one in enumerate(stored) if matches(one, where)]


def admitted(connection: psycopg.Connection, stored: list[dict], where: dict) -> list[int]:
    """The numbers of the attributes that the server admits."""
    sql, values = conditions(replace(READ, where=where))
    texts = [json.dumps(one, ensure_ascii=False) for one in stored]
    rows = connection.execute(SQL.format(sql), (list(range(len(stored))), texts, *values)).fetchall()
    return [number for (number,) in rows]
