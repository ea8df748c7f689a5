"""The digest of a keyed observation, and the defaults that the hub fills in."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from memhub import Fact, Observation, Provenance, Query, Scope, Turn
from memhub.requests import read_from, write_from

ME = Scope("me")
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
LATER = NOW + timedelta(days=1)


def digest(*facts: Fact, now: datetime = NOW, **more: object) -> str:
    given = {"facts": facts} if facts else {}
    return write_from(Observation(ME, idempotency_key="k", **given, **more), now).digest


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (digest(Fact("tea")), digest(Fact("tea"), now=LATER)),
        (digest(Fact("tea")), digest(Fact("tea", tags=[], attributes={}, kind="fact"))),
        (digest(Fact("tea")), digest(Fact("tea"), provenance=Provenance())),
        (digest(Fact("tea", attributes={"a": 1, "b": 2})), digest(Fact("tea", attributes={"b": 2, "a": 1}))),
        (digest(Fact("tea", tags=("a",))), digest(Fact("tea", tags=["a", "a"]))),
        (
            digest(Fact("tea"), observed_at=NOW),
            digest(Fact("tea"), observed_at=NOW.astimezone(timezone(timedelta(hours=9)))),
        ),
    ],
)
def test_the_same_payload_has_the_same_digest(one: str, other: str) -> None:
    assert one == other


def test_every_other_payload_has_another_digest() -> None:
    digests = [
        digest(Fact("tea")),
        digest(Fact("tea ")),
        digest(Fact("tea", kind="preference")),
        digest(Fact("tea", tags=["a"])),
        digest(Fact("tea", tags=["a", "b"])),
        digest(Fact("tea", tags=["b", "a"])),
        digest(Fact("tea", attributes={"a": 1})),
        digest(Fact("tea", attributes={"a": 1.0})),
        digest(Fact("tea", attributes={"a": True})),
        digest(Fact("tea", attributes={"a": "1"})),
        digest(Fact("tea", attributes={"a": []})),
        digest(Fact("tea", supersedes="x")),
        digest(Fact("tea", target="x")),
        digest(Fact("tea", payload=0)),
        digest(Fact("tea", payload=False)),
        digest(Fact("tea", payload="x")),
        digest(Fact("tea", supports=["x"])),
        digest(Fact("tea", expires_at=NOW)),
        digest(Fact("tea"), Fact("tea")),
        digest(Fact("tea"), observed_at=NOW),
        digest(Fact("tea"), observed_at=LATER),
        digest(Fact("tea"), provenance=Provenance("chat")),
        digest(Fact("tea"), provenance=Provenance(None, "chat")),
        digest(turns=[Turn("user", "tea")]),
        digest(turns=[Turn("assistant", "tea")]),
        digest(turns=[Turn("user", "tea", speaker="Ann")]),
        digest(turns=[Turn("user", "tea", at=NOW)]),
    ]
    assert len(set(digests)) == len(digests)


def test_without_a_key_there_is_no_digest() -> None:
    assert write_from(Observation(ME, facts=[Fact("tea")]), NOW).digest == ""


def test_an_observation_happened_now_unless_it_says_otherwise() -> None:
    write = write_from(Observation(ME, facts=[Fact("tea")]), NOW)
    assert (write.observed_at, write.now) == (NOW, NOW)
    assert write_from(Observation(ME, facts=[Fact("tea")], observed_at=LATER), NOW).observed_at == LATER


def test_times_arrive_in_utc() -> None:
    tokyo = NOW.astimezone(timezone(timedelta(hours=9)))
    read = read_from(Query(ME, since=tokyo, until=tokyo, as_of=tokyo), NOW)
    for moment in (read.since, read.until, read.as_of):
        assert moment is not None
        assert moment.tzinfo is UTC


def test_validity_is_judged_at_as_of_or_now() -> None:
    assert read_from(Query(ME), NOW).moment == NOW
    assert read_from(Query(ME, as_of=LATER), NOW).moment == LATER


def test_repeats_are_dropped() -> None:
    read = read_from(Query([ME, Scope("you"), ME], kinds=["fact", "fact"], tags=["a", "a"]), NOW)
    assert (read.scopes, read.kinds, read.tags) == ((ME, Scope("you")), ("fact",), ("a",))


def test_what_a_caller_changes_later_does_not_reach_the_store() -> None:
    tags, given, payload = ["a"], {"list": ["x"]}, {"deep": ["y"]}
    write = write_from(
        Observation(ME, facts=[Fact("tea", tags=tags, attributes=given, payload=payload)]), NOW
    )
    tags.append("b")
    given["list"].append("z")
    payload["deep"].append("z")
    assert write.facts[0] == Fact("tea", tags=("a",), attributes={"list": ["x"]}, payload={"deep": ["y"]})
