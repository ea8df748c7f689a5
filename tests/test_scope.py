"""A scope is opaque text, compared code point by code point."""

import json
import pickle

import pytest
from hypothesis import assume, given

from memhub import InvalidInput, Scope
from strategies import labels, pairs, scopes


@given(scopes)
def test_canonical_text_comes_back_as_the_same_scope(scope: Scope) -> None:
    assert Scope.parse(scope.canonical) == scope
    assert pickle.loads(pickle.dumps(scope)) == scope


@given(scopes, scopes)
def test_equal_scopes_are_those_of_equal_canonical_text(one: Scope, other: Scope) -> None:
    assert (one == other) == (one.canonical == other.canonical) == (one.labels == other.labels)
    assert one != other or hash(one) == hash(other)


@given(pairs)
def test_the_order_of_pairs_does_not_matter(given: dict[str, str]) -> None:
    backwards = Scope(dict(reversed(given.items())))
    assert backwards == Scope(given)
    assert json.loads(backwards.canonical) == given


@given(labels, labels)
def test_a_name_is_no_pair(name: str, value: str) -> None:
    assert not Scope(name).covers(Scope({name: value}))
    assert not Scope({name: value}).covers(Scope(name))
    assert not Scope(name).covers(Scope(json.dumps([name, value])))


@given(pairs, pairs)
def test_a_scope_covers_those_that_have_all_its_pairs(one: dict[str, str], other: dict[str, str]) -> None:
    assert Scope(one).covers(Scope(other)) == (one.items() <= other.items())
    assert Scope(one).covers(Scope({**other, **one}))


@given(labels, labels)
def test_a_name_covers_itself_alone(name: str, other: str) -> None:
    assume(name != other)
    assert Scope(name).covers(Scope(name))
    assert not Scope(name).covers(Scope(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("john_doe", "john-doe"),
        ("john", "john%"),
        ("acme", "acme-corp"),
        ("Ann", "ann"),
        ("caf\u00e9", "cafe\u0301"),
        ("a:b", "a/b"),
        ("user_id", "USER_ID"),
    ],
)
def test_nothing_folds_and_nothing_is_a_pattern(one: str, other: str) -> None:
    assert Scope(one) != Scope(other)
    assert not Scope(one).covers(Scope(other))
    assert not Scope(tenant=one).covers(Scope(tenant=other))


def test_keywords_and_a_mapping_say_the_same() -> None:
    assert Scope(tenant="acme", user="u_42") == Scope({"user": "u_42", "tenant": "acme"})
    assert Scope(self="a", name="b").pairs == (("name", "b"), ("self", "a"))


def test_canonical_text_is_plain_json() -> None:
    assert Scope("zoë").canonical == '"zoë"'
    assert Scope(user="u", tenant="t").canonical == '{"tenant":"t","user":"u"}'
    assert str(Scope("player:42")) == "player:42"
    assert repr(Scope(a="b")) == "Scope({'a': 'b'})"


@pytest.mark.parametrize("empty", [None, "", {}, {"a": ""}, {"": "a"}])
def test_an_empty_scope_is_refused(empty: object) -> None:
    with pytest.raises(InvalidInput, match=r"^scope: "):
        Scope(empty)


@pytest.mark.parametrize("wrong", [5, b"a", ["a"], {"a": 1}, {1: "a"}, {"a": None}])
def test_what_is_no_text_is_refused(wrong: object) -> None:
    with pytest.raises(InvalidInput, match=r"^scope: every name, key and value must be non-empty text"):
        Scope(wrong)


def test_a_name_and_pairs_do_not_mix() -> None:
    with pytest.raises(InvalidInput, match="one of these"):
        Scope("player:42", tenant="acme")


@pytest.mark.parametrize(
    "text", ["", "player", "5", "null", "[]", '{"a":1}', '{"a":', "[" * 10_000, '{"a":' * 10_000]
)
def test_other_text_is_no_canonical_scope(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"^scope: "):
        Scope.parse(text)
