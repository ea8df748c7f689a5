"""Digests of records: equal exactly for records that read equal as JSON."""

import json
from dataclasses import replace

from hypothesis import given

from memhub import Provenance, Record, Scope
from memhub.interchange import record_from_json, record_to_json
from memhub.migration.digests import digest
from moving import BOB, NOON
from strategies import records


@given(records, records)
def test_digests_are_equal_for_records_that_read_equal_as_json(one, other):
    copy = record_from_json(json.loads(json.dumps(record_to_json(one))))
    assert digest(copy, ignoring=()) == digest(one, ignoring=())
    assert (digest(one, ignoring=()) == digest(other, ignoring=())) == (
        record_to_json(one) == record_to_json(other)
    )


def test_digests_tell_every_field_and_type_apart():
    plain = Record(id="a", scope=BOB, kind="fact", content="x", created_at=NOON, updated_at=NOON, observed_at=NOON, revision="r")  # fmt: skip
    changes = [
        *({"payload": value} for value in (0, 0.0, False, "", "[]", [], {}, [[]], ["a"], "a", {"a": None})),
        *({"attributes": {"a": value}} for value in (1, 1.5, True, "1", [1], ["1"], [])),
        {"tags": ("a",)}, {"tags": ("a", "b")}, {"tags": ("b", "a")}, {"supports": ("a",)}, {"target": "a"},
        {"provenance": Provenance("a")}, {"provenance": Provenance(None, "a")}, {"invalid_reason": "a"},
        {"position": 1}, {"expires_at": NOON}, {"invalid_at": NOON}, {"supersedes": "a"}, {"superseded_by": "a"},
        {"scope": Scope(a="b")}, {"kind": "profile"}, {"content": "y"},
    ]  # fmt: skip
    digests = [digest(replace(plain, **change), ignoring=()) for change in ({}, *changes)]
    assert len(set(digests)) == len(digests)
    ignoring = [digest(replace(plain, **change), ignoring=change) for change in changes]
    assert ignoring == [digest(plain, ignoring=change) for change in changes]
