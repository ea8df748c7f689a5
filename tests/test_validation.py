"""Each limit holds at its value and is refused above it, by a message that names the field."""

import math
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memhub import Fact, InvalidInput, Observation, Patch, Provenance, Query, Record, Scope, Turn, limits
from memhub.requests import check_record, check_scope, patch_from, read_from, write_from
from strategies import attributes, moments, texts

NOW = datetime(2026, 3, 1, tzinfo=UTC)
ME = Scope("me")
RECORD = Record(
    id="r1",
    scope=ME,
    kind="fact",
    content="tea",
    created_at=NOW,
    updated_at=NOW,
    observed_at=NOW,
    revision="1",
)


def fact(**fields: object) -> object:
    return write_from(Observation(ME, facts=[Fact(**{"content": "tea", **fields})]), NOW).facts[0]


def turn(**fields: object) -> object:
    return write_from(
        Observation(ME, turns=[Turn(**{"role": "user", "content": "tea", **fields})]), NOW
    ).turns[0]


def observation(**fields: object) -> object:
    return write_from(Observation(**{"scope": ME, "facts": [Fact("tea")], **fields}), NOW)


def query(**fields: object) -> object:
    return read_from(Query(**{"scope": ME, **fields}), NOW)


def patch(**fields: object) -> object:
    return patch_from(Patch(**fields))


def record(**fields: object) -> object:
    return check_record(
        "records[0]", Record(**{name: getattr(RECORD, name) for name in RECORD.__slots__} | fields)
    )


def numbered(count: int) -> list[str]:
    return [str(n) for n in range(count)]


def sized(count: int) -> dict[str, str]:
    """An attributes object of exactly so many bytes as JSON, as wide as UTF-8 gets."""
    frame = len('{"k": ""}')
    wide, rest = divmod(count - frame, 4)
    return {"k": "😀" * wide + "x" * rest}


AT_THE_LIMIT: list[tuple[str, Callable[..., object], str, Callable[[int], object], int]] = [
    ("facts[0].content", fact, "content", "é".__mul__, limits.CONTENT_CHARS),
    ("turns[0].content", turn, "content", "é".__mul__, limits.CONTENT_CHARS),
    ("content", patch, "content", "é".__mul__, limits.CONTENT_CHARS),
    ("text", query, "text", "é".__mul__, limits.QUERY_CHARS),
    ("facts[0].tags", fact, "tags", numbered, limits.TAGS),
    ("turns[0].tags", turn, "tags", numbered, limits.TAGS),
    ("tags", query, "tags", numbered, limits.TAGS),
    ("tags", patch, "tags", numbered, limits.TAGS),
    ("facts[0].tags[0]", fact, "tags", lambda n: ["é" * n], limits.TAG_CHARS),
    (
        "facts[0].attributes",
        fact,
        "attributes",
        lambda n: dict.fromkeys(numbered(n), 1),
        limits.ATTRIBUTE_KEYS,
    ),
    ("facts[0].attributes", fact, "attributes", sized, limits.ATTRIBUTE_BYTES),
    ("turns[0].attributes", turn, "attributes", sized, limits.ATTRIBUTE_BYTES),
    ("set_attributes", patch, "set_attributes", sized, limits.ATTRIBUTE_BYTES),
    ("facts[0].payload", fact, "payload", sized, limits.ATTRIBUTE_BYTES),
    ("facts[0].attributes['n']", fact, "attributes", lambda n: {"n": n}, limits.INTEGER),
    ("facts[0].attributes['n']", fact, "attributes", lambda n: {"n": -n}, limits.INTEGER),
    ("facts[0].attributes['n'][1]", fact, "attributes", lambda n: {"n": [0, n]}, limits.INTEGER),
    ("facts[0].attributes key", fact, "attributes", lambda n: {"k" * n: 1}, limits.TAG_CHARS),
    ("facts[0].supersedes", fact, "supersedes", "x".__mul__, limits.ID_CHARS),
    ("facts[0].target", fact, "target", "x".__mul__, limits.NAME_CHARS),
    ("facts[0].supports", fact, "supports", numbered, limits.ITEMS),
    ("turns[0].speaker", turn, "speaker", "x".__mul__, limits.NAME_CHARS),
    ("facts", observation, "facts", lambda n: [Fact("tea")] * n, limits.ITEMS),
    ("turns", observation, "turns", lambda n: [Turn("user", "tea")] * n, limits.ITEMS),
    ("idempotency_key", observation, "idempotency_key", "x".__mul__, limits.ID_CHARS),
    *[
        (
            f"provenance.{name}",
            observation,
            "provenance",
            lambda n, name=name: Provenance(**{name: "x" * n}),
            limits.NAME_CHARS,
        )
        for name in ("conversation_id", "run_id", "author")
    ],
    ("limit", query, "limit", int, limits.LIMIT),
    ("scope", query, "scope", lambda n: [Scope(name) for name in numbered(n)], limits.SCOPES),
    ("where", query, "where", lambda n: dict.fromkeys(numbered(n), 1), limits.CONDITIONS),
    ("where['k'].in", query, "where", lambda n: {"k": {"in": numbered(n)}}, limits.CONDITIONS),
    ("where key", query, "where", lambda n: {"k" * n: 1}, limits.TAG_CHARS),
    ("remove_attributes", patch, "remove_attributes", numbered, limits.CONDITIONS),
    ("records[0].content", record, "content", "é".__mul__, limits.CONTENT_CHARS),
    ("records[0].id", record, "id", "x".__mul__, limits.ID_CHARS),
    ("records[0].invalid_reason", record, "invalid_reason", "x".__mul__, limits.NAME_CHARS),
    ("records[0].target", record, "target", "x".__mul__, limits.NAME_CHARS),
    (
        "records[0].provenance.author",
        record,
        "provenance",
        lambda n: Provenance(author="x" * n),
        limits.NAME_CHARS,
    ),
]


@pytest.mark.parametrize(("field", "make", "name", "value", "most"), AT_THE_LIMIT)
def test_a_limit_holds_at_its_value_and_not_above(
    field: str, make: Callable[..., object], name: str, value: Callable[[int], object], most: int
) -> None:
    other = {"facts": ()} if name == "turns" else {}
    make(**{name: value(most)}, **other)
    with pytest.raises(InvalidInput) as refused:
        make(**{name: value(most + 1)}, **other)
    assert refused.value.message.startswith(f"{field}: ")


def test_a_scope_takes_512_bytes_of_canonical_json() -> None:
    check_scope(Scope("é" * 255))
    with pytest.raises(InvalidInput, match=r"^scope: takes 514 bytes"):
        check_scope(Scope("é" * 256))


WRONG: list[tuple[str, Callable[..., object], dict[str, object]]] = [
    *[
        (field, make, {name: text})
        for field, make, name in [
            ("facts[0].content", fact, "content"),
            ("turns[0].content", turn, "content"),
            ("content", patch, "content"),
            ("text", query, "text"),
            ("turns[0].speaker", turn, "speaker"),
            ("facts[0].target", fact, "target"),
            ("records[0].content", record, "content"),
        ]
        for text in ("", "   ", "\n\t\u3000", "nul \0", "half \ud800 pair", 5, b"bytes")
    ],
    *[
        (field, make, {name: value})
        for field, make, name in [
            ("facts[0].expires_at", fact, "expires_at"),
            ("turns[0].at", turn, "at"),
            ("observed_at", observation, "observed_at"),
            ("since", query, "since"),
            ("until", query, "until"),
            ("as_of", query, "as_of"),
            ("expires_at", patch, "expires_at"),
            ("records[0].created_at", record, "created_at"),
        ]
        for value in (
            NOW.replace(tzinfo=None),
            NOW.date(),
            "2026-03-01",
            1.5,
            datetime.min.replace(tzinfo=timezone(timedelta(hours=1))),
        )
    ],
    *[
        (field, make, {name: {"a": value}})
        for field, make, name in [
            ("facts[0].attributes['a']", fact, "attributes"),
            ("set_attributes['a']", patch, "set_attributes"),
            ("where['a']", query, "where"),
        ]
        for value in (math.nan, math.inf, -math.inf, None, 2**53 + 1, object(), b"x", "nul \0", "\udfff")
    ],
    ("facts[0].kind", fact, {"kind": "opinion"}),
    ("facts[0].kind", fact, {"kind": None}),
    ("kind", patch, {"kind": "opinion"}),
    ("kinds", query, {"kinds": ["opinion"]}),
    ("kinds", query, {"kinds": "fact"}),
    ("mode", query, {"mode": "psychic", "text": "tea"}),
    ("mode", query, {"mode": "update", "text": "tea"}),
    ("mode", query, {"mode": "psychic"}),
    ("turns[0].role", turn, {"role": "bot"}),
    ("facts[0].tags", fact, {"tags": "tea"}),
    ("facts[0].tags", fact, {"tags": {"tea"}}),
    ("facts[0].tags", fact, {"tags": ""}),
    ("facts[0].tags[0]", fact, {"tags": [""]}),
    ("facts[0].supports", fact, {"supports": "id"}),
    ("facts[0].attributes", fact, {"attributes": ["a"]}),
    ("facts[0].attributes['a']", fact, {"attributes": {"a": {"b": 1}}}),
    ("facts[0].attributes['a'][0]", fact, {"attributes": {"a": [["b"]]}}),
    ("facts[0].attributes key", fact, {"attributes": {1: "b"}}),
    ("facts[0].payload", fact, {"payload": {1: "b"}}),
    ("facts[0].payload", fact, {"payload": {"a": math.nan}}),
    ("facts[0].payload", fact, {"payload": {"a": "\ud800"}}),
    ("facts[0].payload", fact, {"payload": {"a": "nul \0"}}),
    ("facts[0].payload", fact, {"payload": object()}),
    ("facts[0].supersedes", fact, {"supersedes": ""}),
    ("facts[0].supersedes", fact, {"supersedes": "a\nb"}),
    ("facts[0]", observation, {"facts": ["tea"]}),
    ("turns[0]", observation, {"turns": ["tea"], "facts": ()}),
    ("facts", observation, {"facts": Fact("tea")}),
    ("observation", observation, {"facts": ()}),
    ("observation", observation, {"turns": [Turn("user", "tea")]}),
    ("scope", observation, {"scope": "me"}),
    ("scope", observation, {"scope": Scope("a\0b")}),
    ("scope", observation, {"scope": Scope({"a": "\ud800"})}),
    ("provenance", observation, {"provenance": "chat"}),
    ("provenance.role", observation, {"provenance": Provenance(role="user")}),
    ("idempotency_key", observation, {"idempotency_key": ""}),
    ("scope", query, {"scope": []}),
    ("scope", query, {"scope": ["me"]}),
    ("limit", query, {"limit": -1}),
    ("limit", query, {"limit": True}),
    ("limit", query, {"limit": 1.0}),
    ("exact", query, {"exact": 1}),
    ("include_invalidated", query, {"include_invalidated": True, "as_of": NOW}),
    ("cursor", query, {"text": "tea", "cursor": "x"}),
    ("where", query, {"where": ["a"]}),
    ("where['a']", query, {"where": {"a": [1]}}),
    ("where['a']", query, {"where": {"a": {}}}),
    ("where['a'] operator", query, {"where": {"a": {"like": "b"}}}),
    ("where['a'].in", query, {"where": {"a": {"in": []}}}),
    ("where['a'].in", query, {"where": {"a": {"in": "b"}}}),
    ("where['a'].eq", query, {"where": {"a": {"eq": ["b"]}}}),
    ("where['a'].gt", query, {"where": {"a": {"gt": "5"}}}),
    ("where['a'].gt", query, {"where": {"a": {"gt": True}}}),
    ("where['a'].exists", query, {"where": {"a": {"exists": 1}}}),
    ("patch", patch, {}),
    ("patch", patch, {"set_attributes": {"a": 1}, "remove_attributes": ["a"]}),
    ("remove_attributes", patch, {"remove_attributes": "a"}),
    *[
        ("records[0]." + name, record, {name: None})
        for name in ("id", "revision", "created_at", "updated_at", "observed_at")
    ],
    ("records[0].kind", record, {"kind": "opinion"}),
    ("records[0].scope", record, {"scope": "me"}),
    ("records[0].provenance", record, {"provenance": None}),
    ("records[0].provenance.role", record, {"provenance": Provenance(role="bot")}),
    ("records[0].position", record, {"position": -1}),
    ("records[0].position", record, {"position": "0"}),
    ("records[0].invalid_reason", record, {"invalid_reason": "\0"}),
]


@pytest.mark.parametrize(("field", "make", "fields"), WRONG)
def test_a_wrong_value_is_refused_by_the_name_of_its_field(
    field: str, make: Callable[..., object], fields: dict[str, object]
) -> None:
    with pytest.raises(InvalidInput) as refused:
        make(**fields)
    assert refused.value.message.startswith(f"{field}: ")
    assert refused.value.code == "invalid_input"


@pytest.mark.parametrize(
    "make", [lambda: write_from("tea", NOW), lambda: read_from("tea", NOW), lambda: patch_from("tea")]
)
def test_another_type_is_refused(make: Callable[[], object]) -> None:
    with pytest.raises(InvalidInput, match=r"must be an? (Observation|Query|Patch), not str"):
        make()


@given(texts, attributes, moments)
def test_what_is_within_the_limits_is_kept_as_given(
    text: str, given_attributes: dict[str, object], moment: datetime
) -> None:
    kept = fact(content=text, tags=[text, text], attributes=given_attributes, expires_at=moment)
    assert kept == Fact(text, tags=(text,), attributes=given_attributes, expires_at=moment)
    assert kept.expires_at.utcoffset() == timedelta(0)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
        max_leaves=12,
    )
)
def test_a_payload_is_any_json_and_a_copy(payload: object) -> None:
    kept = fact(payload=payload).payload
    assert kept == payload
    assert kept is not payload or not isinstance(payload, list | dict)


def nested(levels: int) -> list[object]:
    deep: list[object] = []
    for _ in range(levels):
        deep = [deep]
    return deep


def test_a_payload_may_be_64_levels_deep() -> None:
    assert fact(payload=nested(64)).payload == nested(64)


@pytest.mark.parametrize("levels", [65, 300, 5_000])
def test_a_deeper_payload_is_refused_and_no_crash(levels: int) -> None:
    with pytest.raises(InvalidInput, match=r"^facts\[0\]\.payload: "):
        fact(payload=nested(levels))
