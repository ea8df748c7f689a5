"""The transitions of a record, as pure functions."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memhub import Conflict, Fact, InvalidInput, NotFound, Observation, Patch, Provenance, Record, Scope, Turn
from memhub.changes import (
    check_revision,
    expired,
    invalidated,
    live_at,
    new_id,
    new_records,
    patched,
    superseded,
    unlinked,
)
from memhub.requests import patch_from, write_from
from strategies import attributes, moments, texts

ME = Scope("me")
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
OLD = Record(
    id="old",
    scope=ME,
    kind="fact",
    content="Prefers tea",
    tags=("drink",),
    attributes={"n": 1, "list": ["a"]},
    created_at=NOW - HOUR,
    updated_at=NOW - HOUR,
    observed_at=NOW - HOUR,
    revision="1",
)


class TestNewRecords:
    def test_a_fact_is_stored_as_given(self) -> None:
        fact = Fact(
            "Prefers tea",
            kind="preference",
            tags=["drink"],
            attributes={"n": 1},
            supersedes="old",
            expires_at=NOW + HOUR,
            target="player",
            payload={"a": [1]},
            supports=["s1"],
        )
        source = Provenance("chat", "run", "Ann")
        write = write_from(
            Observation(ME, facts=[Fact("first"), fact], observed_at=NOW - HOUR, provenance=source), NOW
        )
        record = new_records(write)[1]
        assert record == Record(
            id=record.id,
            scope=ME,
            kind="preference",
            content="Prefers tea",
            tags=("drink",),
            attributes={"n": 1},
            provenance=source,
            created_at=NOW,
            updated_at=NOW,
            observed_at=NOW - HOUR,
            supersedes="old",
            expires_at=NOW + HOUR,
            revision=record.revision,
            position=1,
            target="player",
            payload={"a": [1]},
            supports=("s1",),
        )

    def test_a_turn_is_an_episode_of_its_speaker(self) -> None:
        turns = [Turn("user", "hello", speaker="Ann", at=NOW - HOUR), Turn("assistant", "hi")]
        write = write_from(Observation(ME, turns=turns, provenance=Provenance("chat", author="Bot")), NOW)
        ann, bot = new_records(write)
        assert (ann.kind, ann.observed_at, ann.provenance) == (
            "episode",
            NOW - HOUR,
            Provenance("chat", None, "Ann", "user"),
        )
        assert (bot.kind, bot.observed_at, bot.provenance) == (
            "episode",
            NOW,
            Provenance("chat", None, "Bot", "assistant"),
        )
        assert (ann.position, bot.position) == (0, 1)

    @given(moments)
    def test_ids_are_uuids_of_version_7_that_carry_their_time(self, moment: datetime) -> None:
        found = UUID(new_id(moment))
        assert (found.version, found.variant) == (7, "specified in RFC 4122")
        assert found.int >> 80 == int(moment.timestamp() * 1000)

    def test_ids_and_revisions_do_not_repeat(self) -> None:
        write = write_from(Observation(ME, facts=[Fact("same")] * 1_000), NOW)
        records = new_records(write)
        assert len({record.id for record in records}) == 1_000
        assert len({record.revision for record in records}) == 1_000


class TestPatched:
    def test_what_is_not_given_stays(self) -> None:
        found = patched(OLD, Patch(content="Prefers oolong"), now=NOW)
        assert found == replace(OLD, content="Prefers oolong", updated_at=NOW, revision=found.revision)
        assert found.revision != OLD.revision

    def test_every_field_can_change(self) -> None:
        patch = Patch(
            content="x",
            kind="profile",
            tags=["a"],
            set_attributes={"m": 2},
            remove_attributes=["n"],
            expires_at=NOW + HOUR,
        )
        found = patched(OLD, patch, now=NOW)
        assert (found.content, found.kind, found.tags) == ("x", "profile", ("a",))
        assert found.attributes == {"list": ["a"], "m": 2}
        assert found.expires_at == NOW + HOUR
        assert patched(found, Patch(expires_at=None), now=NOW).expires_at is None

    @given(attributes, attributes, st.lists(texts, max_size=3))
    def test_attributes_are_set_and_removed_by_key(
        self, held: dict[str, object], given: dict[str, object], gone: list[str]
    ) -> None:
        removed = [key for key in (*gone, *held) if key not in given][:4]
        patch = patch_from(Patch(content="x", set_attributes=given, remove_attributes=removed))
        found = patched(replace(OLD, attributes=held), patch, now=NOW).attributes
        assert found == {key: value for key, value in {**held, **given}.items() if key not in removed}

    def test_an_update_may_not_outgrow_the_limits(self) -> None:
        full = replace(OLD, attributes={str(n): n for n in range(64)})
        patched(full, Patch(set_attributes={"0": 5}), now=NOW)
        with pytest.raises(InvalidInput, match=r"^set_attributes: has 65 keys, more than 64"):
            patched(full, Patch(set_attributes={"new": 5}), now=NOW)

    def test_an_invalidated_record_is_not_updated(self) -> None:
        with pytest.raises(Conflict, match="deleted, not updated"):
            patched(replace(OLD, invalid_at=NOW), Patch(content="x"), now=NOW)


def test_invalidating_hides_once() -> None:
    hidden = invalidated(OLD, "moved away", now=NOW)
    assert hidden == replace(
        OLD, invalid_at=NOW, invalid_reason="moved away", updated_at=NOW, revision=hidden.revision
    )
    assert hidden.revision != OLD.revision
    assert invalidated(hidden, "again", now=NOW + HOUR) is hidden


def test_a_stale_revision_is_a_conflict() -> None:
    check_revision(OLD, None)
    check_revision(OLD, "1")
    with pytest.raises(Conflict, match=r"^revision: is stale for record 'old'"):
        check_revision(OLD, "0")


def test_a_record_expires_at_the_very_instant() -> None:
    record = replace(OLD, expires_at=NOW)
    assert expired(record, NOW)
    assert not expired(record, NOW - timedelta(microseconds=1))
    assert not expired(OLD, NOW)


@pytest.mark.parametrize(
    ("changes", "moment", "live"),
    [
        ({}, NOW - 2 * HOUR, False),
        ({}, NOW - HOUR, True),
        ({"invalid_at": NOW}, NOW - timedelta(microseconds=1), True),
        ({"invalid_at": NOW}, NOW, False),
        ({"expires_at": NOW}, NOW, False),
    ],
)
def test_a_record_is_live_from_observation_to_its_end(
    changes: dict[str, object], moment: datetime, live: bool
) -> None:
    assert live_at(replace(OLD, **changes), moment) is live


class TestSuperseded:
    NEW = replace(OLD, id="new", content="Prefers oolong", observed_at=NOW, supersedes="old")

    def test_the_old_record_is_linked_and_hidden(self) -> None:
        [found] = superseded([self.NEW], {"old": OLD}, now=NOW)
        assert found == replace(
            OLD, invalid_at=NOW, superseded_by="new", updated_at=NOW, revision=found.revision
        )
        assert found.revision != OLD.revision

    def test_it_ends_at_the_later_of_the_two_observations(self) -> None:
        earlier = replace(self.NEW, observed_at=NOW - 2 * HOUR)
        assert superseded([earlier], {"old": OLD}, now=NOW)[0].invalid_at == OLD.observed_at

    def test_an_invalidated_record_keeps_its_end(self) -> None:
        ended = replace(OLD, invalid_at=NOW - HOUR, invalid_reason="wrong")
        [found] = superseded([self.NEW], {"old": ended}, now=NOW)
        assert (found.invalid_at, found.invalid_reason) == (NOW - HOUR, "wrong")

    @pytest.mark.parametrize(
        "held", [{}, {"old": replace(OLD, scope=Scope("you"))}, {"old": replace(OLD, expires_at=NOW)}]
    )
    def test_what_is_absent_expired_or_elsewhere_is_not_found(self, held: dict[str, Record]) -> None:
        with pytest.raises(NotFound, match=r"^supersedes: no record 'old' in this scope"):
            superseded([self.NEW], held, now=NOW)

    def test_a_chain_has_one_head(self) -> None:
        taken = replace(OLD, superseded_by="other", invalid_at=NOW)
        for new, held in (([self.NEW], {"old": taken}), ([self.NEW, self.NEW], {"old": OLD})):
            with pytest.raises(Conflict, match="already superseded"):
                superseded(new, held, now=NOW)


class TestUnlinked:
    FIRST = replace(OLD, id="1", superseded_by="2", invalid_at=NOW)
    MIDDLE = replace(OLD, id="2", supersedes="1", superseded_by="3", invalid_at=NOW)
    LAST = replace(OLD, id="3", supersedes="2")

    def test_both_neighbours_lose_the_name_and_nothing_comes_back(self) -> None:
        first, last = unlinked(self.MIDDLE, {"1": self.FIRST, "3": self.LAST})
        assert first == replace(self.FIRST, superseded_by=None, revision=first.revision)
        assert last == replace(self.LAST, supersedes=None, revision=last.revision)
        assert first.invalid_at == NOW
        assert {first.revision, last.revision}.isdisjoint({"1"})

    def test_a_record_of_no_chain_changes_nothing(self) -> None:
        assert unlinked(OLD, {}) == []

    def test_a_neighbour_that_names_another_is_left_alone(self) -> None:
        other = replace(self.FIRST, superseded_by="9")
        assert unlinked(self.MIDDLE, {"1": other}) == []
