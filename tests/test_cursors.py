"""A cursor belongs to its query, survives a restart, and nothing else passes for one."""

import base64
import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memhub import InvalidInput, Query, Scope
from memhub.cursors import Place, seal, unseal
from memhub.requests import read_from
from strategies import labels, moments, scopes

NOW = datetime(2026, 3, 1, tzinfo=UTC)
READ = read_from(Query(Scope("player:42"), tags=["tea"], where={"n": 1}), NOW)
PLACE = Place(7, (NOW, NOW, 0, "id"))


@given(st.integers(0, 2**60), moments, moments, st.integers(0, 999), labels)
def test_a_place_comes_back_as_it_was(
    newest: int, observed: datetime, created: datetime, position: int, id: str
) -> None:
    place = Place(newest, (observed, created, position, id))
    assert Place.parse(place.text()) == place


@given(scopes, labels)
def test_a_position_comes_back_to_its_query(scope: Scope, position: str) -> None:
    read = read_from(Query(scope), NOW)
    sealed = seal(position, read)
    assert sealed is not None
    assert sealed.isascii()
    assert unseal(sealed, read) == position


def test_the_last_page_has_no_cursor() -> None:
    assert seal(None, READ) is None


@pytest.mark.parametrize(
    "change", [{"limit": 50}, {"now": datetime(2027, 1, 1, tzinfo=UTC)}, {"explain": True}, {"cursor": "x"}]
)
def test_what_may_change_between_pages(change: dict[str, object]) -> None:
    sealed = seal("here", READ)
    assert unseal(sealed, replace(READ, **change)) == "here"


@pytest.mark.parametrize(
    "change",
    [
        {"scopes": (Scope("player:43"),)},
        {"exact": True},
        {"kinds": ("fact",)},
        {"tags": ()},
        {"where": {"n": {"eq": 2}}},
        {"since": NOW},
        {"until": NOW},
        {"as_of": NOW},
        {"include_invalidated": True},
    ],
)
def test_a_cursor_of_another_query_is_refused(change: dict[str, object]) -> None:
    sealed = seal("here", READ)
    with pytest.raises(InvalidInput, match=r"^cursor: belongs to another query"):
        unseal(sealed, replace(READ, **change))


def encoded(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


@given(st.text(max_size=40) | st.binary(max_size=40).map(lambda raw: base64.urlsafe_b64encode(raw).decode()))
def test_garbage_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"^cursor: "):
        unseal(text, READ)


@pytest.mark.parametrize(
    "value", [5, None, [], [1], {"a": 1, "b": 2}, ["a", "b", "c"], ["a", 5], "[" * 40_000]
)
def test_json_of_another_shape_is_refused(value: object) -> None:
    with pytest.raises(InvalidInput, match=r"^cursor: "):
        unseal(encoded(value), READ)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "5",
        "[]",
        '["7", "2026-03-01T00:00:00+00:00", "2026-03-01T00:00:00+00:00", 0, "id"]',
        '[7, "2026-03-01T00:00:00", "2026-03-01T00:00:00", 0, "id"]',
        '[7, "2026-03-01T00:00:00+00:00", "yesterday", 0, "id"]',
        '[7, "2026-03-01T00:00:00+00:00", "2026-03-01T00:00:00+00:00", true, "id"]',
        '[7, "2026-03-01T00:00:00+00:00", "2026-03-01T00:00:00+00:00", 0, 5]',
        f'[{2**63}, "2026-03-01T00:00:00+00:00", "2026-03-01T00:00:00+00:00", 0, "id"]',
        '[-1, "2026-03-01T00:00:00+00:00", "2026-03-01T00:00:00+00:00", 0, "id"]',
        f'[7, "2026-03-01T00:00:00+00:00", "2026-03-01T00:00:00+00:00", {10**30}, "id"]',
        r'[7, "2026-03-01T00:00:00+00:00", "2026-03-01T00:00:00+00:00", 0, "i\u0000d"]',
        r'[7, "2026-03-01T00:00:00+00:00", "2026-03-01T00:00:00+00:00", 0, "\ud800"]',
        "[" * 10_000,
    ],
)
def test_another_text_is_no_place(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"^cursor: "):
        Place.parse(text)
