"""Records as JSON: nothing is lost, nothing wrong gets in."""

import json
from dataclasses import fields, replace
from datetime import UTC, datetime

import pytest
from hypothesis import given

from memhub import InvalidInput, Record, Scope
from memhub.interchange import record_from_json, record_to_json, time_from_json, time_to_json
from strategies import records

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
PLAIN = Record(
    id="r1",
    scope=Scope("player:42"),
    kind="fact",
    content="Prefers oolong",
    created_at=NOON,
    updated_at=NOON,
    observed_at=NOON,
    revision="a",
)


@given(records)
def test_a_record_comes_back_as_it_was(record):
    text = json.dumps(record_to_json(record), ensure_ascii=False)
    assert record_from_json(json.loads(text)) == record


@given(records)
def test_every_field_is_there_in_the_contracts_order(record):
    assert list(record_to_json(record)) == [field.name for field in fields(Record)]


def test_the_form_is_stable():
    assert json.dumps(record_to_json(replace(PLAIN, scope=Scope(tenant="acme", user="u1")))) == (
        '{"id": "r1", "scope": {"tenant": "acme", "user": "u1"}, "kind": "fact", "content": "Prefers oolong",'
        ' "tags": [], "attributes": {}, "provenance": {"conversation_id": null, "run_id": null,'
        ' "author": null, "role": null}, "created_at": "2026-03-01T12:00:00.000000Z",'
        ' "updated_at": "2026-03-01T12:00:00.000000Z", "observed_at": "2026-03-01T12:00:00.000000Z",'
        ' "invalid_at": null, "invalid_reason": null, "supersedes": null, "superseded_by": null,'
        ' "expires_at": null, "revision": "a", "position": 0, "target": null, "payload": null,'
        ' "supports": []}'
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"contnet": "x"}, "record.contnet: no such field; did you mean content?"),
        ({"zzz": 1}, "record.zzz: no such field"),
        ({"content": None}, "record.content: is required"),
        ({"content": 3}, "record.content: must be text, not int"),
        ({"scope": 3}, "record.scope: must be a string or an object"),
        ({"scope": {}}, "scope: is empty"),
        ({"kind": "rumour"}, "record.kind: is not one of"),
        ({"created_at": 3}, "record.created_at: must be an RFC 3339 time"),
        ({"created_at": "2026-03-01T12:00:00"}, "record.created_at: has no time zone"),
        ({"created_at": "2026-02-30T12:00:00Z"}, "record.created_at: is no time that exists"),
        ({"created_at": "0001-01-01T00:00:00+05:00"}, "record.created_at: is no time that exists"),
        ({"tags": "a"}, "record.tags: must be a list of text"),
        ({"tags": [1]}, "record.tags: must be a list of text"),
        ({"supports": [None]}, "record.supports: must be a list of text"),
        ({"provenance": "me"}, "record.provenance: must be an object"),
        ({"provenance": {"who": "me"}}, "record.provenance.who: no such field"),
        ({"provenance": {"author": 3}}, "record.provenance.author: must be text"),
        ({"position": -1}, "record.position: must be a whole number"),
        ({"position": True}, "record.position: must be a whole number"),
        ({"attributes": {"a": None}}, "record.attributes"),
        ({"attributes": []}, "record.attributes: must be a mapping"),
    ],
)
def test_what_is_wrong_is_named(changes, message):
    with pytest.raises(InvalidInput) as caught:
        record_from_json({**record_to_json(PLAIN), **changes})
    assert message in str(caught.value)


@pytest.mark.parametrize("value", [None, [], "text", 3])
def test_only_an_object_is_a_record(value):
    with pytest.raises(InvalidInput, match="must be an object"):
        record_from_json(value)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("2026-03-01T12:00:00Z", "2026-03-01T12:00:00.000000Z"),
        ("2026-03-01t12:00:00.5z", "2026-03-01T12:00:00.500000Z"),
        ("2026-03-01 14:00+02:00", "2026-03-01T12:00:00.000000Z"),
    ],
)
def test_times_are_read_in_any_zone_and_told_in_utc(text, told):
    assert time_to_json(time_from_json("at", text)) == told
