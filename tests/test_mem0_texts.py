"""Scopes, ids and metadata of Mem0 as text: private, reversible, checked before anything relies on them."""

import json
import re
import string
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memhub import Provenance, Record, Scope, limits
from memhub_adapters.http import HttpFailure
from memhub_adapters.mem0.fields import KEY, held, written
from memhub_adapters.mem0.locators import Locator, OperationLocator
from memhub_adapters.mem0.rows import Row, row_of, rows_of
from memhub_adapters.mem0.scopes import scope_of, user_of

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
ME = Scope("me")
texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=20)
scopes = st.one_of(texts.map(Scope), st.dictionaries(texts, texts, min_size=1, max_size=4).map(Scope))


@given(scopes)
def test_a_scope_is_read_back_from_its_user_id(scope: Scope) -> None:
    user = user_of(scope)
    assert re.fullmatch(r"memhub-(name|pairs)[A-Za-z0-9._-]*", user)
    assert scope_of(user) == scope


@given(scopes, scopes)
def test_no_two_scopes_share_a_user_id(one: Scope, other: Scope) -> None:
    assert (user_of(one) == user_of(other)) is (one == other)


@pytest.mark.parametrize(
    ("scope", "user"),
    [
        (Scope("player:42"), "memhub-name..player.3a42"),
        (Scope(tenant="acme", user="u_42"), "memhub-pairs..tenant..acme..user..u_42"),
        (Scope("*"), "memhub-name...2a"),
        (Scope("a b/c"), "memhub-name..a.20b.2fc"),
        (Scope("memhub-name..me"), "memhub-name..memhub-name.2e.2eme"),
    ],
)
def test_user_ids_can_be_read_by_people(scope: Scope, user: str) -> None:
    assert user_of(scope) == user


@pytest.mark.parametrize(
    "user",
    [
        *(None, "", "alice", "*", "memhub-name", "memhub-name..", "memhub-name..a..b", "memhub-pairs..a"),
        *("memhub-name..a b", "memhub-name..%41", "memhub-name...41", "memhub-name...2A", "memhub-name...ff"),
        *("memhub-pairs..b..1..a..1", "memhub-pairs..a..1..a..2", "memhub-names..a", " memhub-name..a"),
    ],
)
def test_other_user_ids_are_none_of_ours(user: str | None) -> None:
    assert scope_of(user) is None


@given(scopes, st.text(min_size=1, max_size=60).filter(str.isprintable))
def test_a_record_id_names_its_row_in_its_scope_only(scope: Scope, native: str) -> None:
    id = Locator.of(native, user_of(scope)).text()
    found = Locator.parse(id)
    assert found is not None
    assert found.names(native, user_of(scope))
    assert not found.names(native, user_of(Scope("elsewhere")))
    assert not found.names(native + "x", user_of(scope))


@given(st.text(max_size=80))
def test_what_was_not_made_here_is_no_id(text: str) -> None:
    assert Locator.parse(text) is None
    assert OperationLocator.parse(text) is None


def test_an_id_that_was_tampered_with_is_none() -> None:
    id = Locator.of("5f0c", user_of(ME)).text()
    for at in range(len(id)):
        assert Locator.parse(id[:at] + ("0" if id[at] != "0" else "1") + id[at + 1 :]) is None
    assert Locator.parse(OperationLocator.of("e", user_of(ME), "m").text()) is None


@given(scopes, st.text(string.printable, max_size=64), st.text("0123456789abcdef", max_size=16))
def test_an_operation_id_holds_what_it_takes_to_ask_again(scope: Scope, event: str, marker: str) -> None:
    locator = OperationLocator.of(event, user_of(scope), marker)
    id = locator.text()
    assert len(id) <= limits.ID_CHARS
    assert OperationLocator.parse(id) == locator
    assert locator.covers(user_of(scope))
    assert not locator.covers(user_of(Scope("elsewhere")))
    assert not locator.covers(None)


def test_a_scope_too_long_for_an_id_is_left_to_its_digest() -> None:
    long = user_of(Scope("é" * 255))
    locator = OperationLocator.of("e" * 36, long, "m" * 16)
    assert (locator.user, locator.covers(long)) == (None, True)
    assert len(locator.text()) <= limits.ID_CHARS


def record(**fields: Any) -> Record:
    given = {"id": "", "scope": ME, "kind": "fact", "content": "tea", "revision": "t0ken"}
    return Record(**{**given, **dict.fromkeys(("created_at", "updated_at", "observed_at"), NOON), **fields})


FULL = record(
    kind="profile",
    tags=("z", "a"),
    attributes={"n": 1, "x": 1.0, "big": 1e300, "top": 2**53, "l": ["a", True], "e": []},
    provenance=Provenance("c", "r", "a", "user"),
    updated_at=NOON + timedelta(microseconds=1),
    observed_at=NOON - timedelta(days=900),
    invalid_at=NOON,
    invalid_reason="moved",
    supersedes="s",
    superseded_by="b",
    expires_at=NOON,
    position=7,
    target="npc",
    payload={"k": [1, None, 0.5]},
    supports=("x", "y"),
)


@pytest.mark.parametrize(
    "given",
    [record(), FULL, *(record(payload=value) for value in (0, False, "", [], {}, [None]))],
    ids=lambda given: repr(given.payload),
)
def test_a_record_is_read_back_from_its_row(given: Record) -> None:
    metadata = written(given, others={"theirs": [1]}, origin="elsewhere")
    assert metadata["theirs"] == [1]
    found = held(Row("n1", given.content, user_of(given.scope), json.loads(json.dumps(metadata)), NOON))
    assert found is not None
    assert (found.token, found.origin) == (given.revision, "elsewhere")
    expected = {**{name: getattr(given, name) for name in Record.__slots__}}
    expected |= {"id": found.record.id, "revision": found.record.revision}
    assert found.record == Record(**expected)
    assert repr(found.record.attributes) == repr(given.attributes)


def test_a_text_that_others_changed_is_shown_under_another_revision() -> None:
    before, after = (held(Row("n1", text, user_of(ME), written(record()))) for text in ("tea", "x" * 70_000))
    assert before is not None
    assert after is not None
    assert after.record.content == "x" * 70_000
    assert before.record.revision != after.record.revision


@pytest.mark.parametrize(
    "own",
    [
        *("", "{", "[]", "null", "7", "[" * 100_000, 7, None, {"token": "t"}),
        *(json.dumps(one) for one in ({}, {"token": "t"}, {"token": "t", "kind": "x", "created_at": "x"})),
        *(
            json.dumps({"token": "t", "kind": "fact", "created_at": NOON.isoformat(), **wrong})
            for wrong in (
                {"token": 7},
                {"kind": "opinion"},
                {"created_at": "2026-03-01T12:00:00"},
                {"expires_at": 7},
                {"tags": [1]},
                {"tags": 7},
                {"attributes": {"a": {}}},
                {"provenance": {"who": "x"}},
                {"provenance": 7},
                {"target": 7},
                {"payload": []},
                {"payload": 7},
                {"supports": [None]},
                {"position": "x"},
            )
        ),
    ],
    ids=lambda own: str(own)[:60],
)
def test_metadata_that_is_not_ours_reads_as_a_plain_fact(own: object) -> None:
    metadata = {KEY: own, "topic": "drinks", "n": 3, "nested": {"a": 1}, "l": ["a"]}
    found = held(Row("n1", "tea", user_of(ME), metadata, NOON))
    assert found is not None
    assert (found.token, found.origin) == (None, None)
    shown = found.record
    assert (shown.kind, shown.content, shown.created_at, shown.observed_at) == ("fact", "tea", NOON, NOON)
    assert shown.attributes == {"topic": "drinks", "n": 3, "l": ["a"]}
    assert shown.revision


def test_rows_that_others_wrote_expire_at_the_end_of_their_last_day() -> None:
    row = row_of({"id": "a", "memory": "tea", "user_id": user_of(ME), "expiration_date": "2026-03-01"})
    found = held(row)
    assert found is not None
    assert found.record.expires_at == datetime(2026, 3, 2, tzinfo=UTC)
    assert found.record.created_at == datetime(1970, 1, 1, tzinfo=UTC)


def test_rows_of_others_are_none_of_ours() -> None:
    for user in (None, "alice", "*"):
        assert held(Row("a", "tea", user, written(record()))) is None


@pytest.mark.parametrize(
    "given",
    [
        *(None, 7, "x", [], {}, {"id": "a"}, {"id": 7, "memory": "x"}, {"id": "", "memory": "x"}),
        *({"id": "a", "memory": None}, {"id": "a", "data": {"memory": 5}}, {"id": "a", "data": {}}),
    ],
    ids=str,
)
def test_what_is_no_row_is_a_failure(given: object) -> None:
    for read in (row_of, lambda one: rows_of([one]), lambda one: rows_of({"results": [one]})):
        with pytest.raises(HttpFailure, match="UnexpectedBody"):
            read(given)


@pytest.mark.parametrize("given", [None, 7, {}, {"results": None}, {"results": {}}, "rows"], ids=str)
def test_what_are_no_rows_is_a_failure(given: object) -> None:
    with pytest.raises(HttpFailure, match="UnexpectedBody"):
        rows_of(given)


def test_a_row_is_read_from_either_shape_and_any_clock() -> None:
    plain = row_of({"id": "a", "memory": "tea", "created_at": "2026-03-01T04:00:00-08:00", "score": 1})
    wrapped = row_of(
        {"id": "a", "data": {"memory": "tea"}, "created_at": "2026-03-01T12:00:00", "metadata": None}
    )
    assert (plain.created, wrapped.created, plain.score) == (NOON, NOON, 1.0)
    assert row_of({"id": "a", "memory": "tea", "created_at": "soon", "expiration_date": "x"}).created is None
