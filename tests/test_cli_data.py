"""The commands that remember, recall, change and forget."""

import json
from dataclasses import fields

import pytest

from command import TWO, Command
from memhub import Record

P = ("--scope", "player:42")


@pytest.fixture
def memhub(tmp_path, capsys, monkeypatch):
    return Command(tmp_path, capsys, monkeypatch)


def remembered(memhub, text, *more):
    (record,) = memhub.json("observe", text, *P, *more)["records"]
    return record


def test_a_memory_from_beginning_to_end(memhub):
    tea = remembered(memhub, "Prefers jasmine tea", "--kind", "preference")
    found = memhub.json("recall", "what tea do they like?", *P)
    assert [hit["record"] for hit in found["hits"]] == [tea]
    changed = memhub.json(
        "update", tea["id"], "--content", "Prefers oolong tea", "--revision", tea["revision"]
    )
    assert changed["content"] == "Prefers oolong tea"
    assert memhub.json("get", tea["id"]) == changed
    hidden = memhub.json("invalidate", tea["id"], "--reason", "moved on")
    assert hidden["invalid_reason"] == "moved on"
    assert memhub.json("recall", "tea", *P)["hits"] == []
    assert len(memhub.json("recall", "tea", *P, "--include-invalidated")["hits"]) == 1
    assert memhub.json("delete", tea["id"]) == {"deleted": tea["id"]}
    assert memhub("get", tea["id"], "--json").error["code"] == "not_found"


def test_a_record_has_the_contracts_fields_at_the_top(memhub):
    record = remembered(
        memhub,
        "Wins at chess",
        *("--tag", "games", "--tag", "chess", "--attribute", "rating=1834", "--attribute", "lang=en"),
        *("--attribute", "active=true", "--attribute", 'openings=["Réti", "Caro-Kann"]', "--attribute", "none=null"),
        *("--author", "coach", "--conversation", "c1", "--run", "r1"),
        *("--observed-at", "2026-03-01T10:30:00+01:00", "--expires-at", "2199-01-01T00:00:00Z"),
    )  # fmt: skip
    assert list(record) == [field.name for field in fields(Record)]
    assert record["scope"] == "player:42"
    assert record["tags"] == ["games", "chess"]
    assert record["attributes"] == {
        "rating": 1834, "lang": "en", "active": True, "openings": ["Réti", "Caro-Kann"], "none": "null",
    }  # fmt: skip
    assert record["provenance"] == {"conversation_id": "c1", "run_id": "r1", "author": "coach", "role": None}
    assert record["observed_at"] == "2026-03-01T09:30:00.000000Z"
    assert record["expires_at"] == "2199-01-01T00:00:00.000000Z"


def test_a_turn(memhub):
    record = remembered(memhub, "Good morning", "--role", "user", "--author", "Ada", "--observed-at", "2026-03-01T09:30:00Z")  # fmt: skip
    assert (record["kind"], record["provenance"]["role"], record["provenance"]["author"]) == (
        "episode",
        "user",
        "Ada",
    )
    assert record["observed_at"] == "2026-03-01T09:30:00.000000Z"


def test_text_from_stdin(memhub):
    record = memhub.json("observe", "-", *P, stdin="two\nlines 🫖\n".encode())["records"][0]
    assert record["content"] == "two\nlines 🫖"
    ended = memhub("observe", "-", *P, stdin=b"\xff")
    assert (ended.code, ended.err) == (1, "error [invalid_input] stdin: is not UTF-8 (byte 1)\n")


def test_pairs_as_a_scope(memhub):
    labels = ("--label", "tenant=acme", "--label", "user=u=1")
    (record,) = memhub.json("observe", "Of the pair", *labels)["records"]
    assert record["scope"] == {"tenant": "acme", "user": "u=1"}
    assert memhub.json("list", "--label", "tenant=acme")["records"] == [record]
    assert memhub.json("list", "--label", "tenant=acme", "--exact")["records"] == []
    assert memhub.json("list", "--scope", "acme")["records"] == []


def test_several_scopes_are_a_union(memhub):
    for scope in ("a", "b", "c"):
        memhub.json("observe", f"tea of {scope}", "--scope", scope)
    found = memhub.json("recall", "tea", "--scope", "a", "--scope", "b")
    assert sorted(hit["record"]["scope"] for hit in found["hits"]) == ["a", "b"]


def test_superseding(memhub):
    old = remembered(memhub, "Lives in Porto")
    new = remembered(memhub, "Lives in Lisbon", "--supersedes", old["id"])
    assert memhub.json("get", old["id"])["superseded_by"] == new["id"]
    ended = memhub("observe", "Lives in Faro", *P, "--supersedes", old["id"], "--json")
    assert (ended.code, ended.error["code"]) == (1, "conflict")
    assert ended.out == ""


def test_an_idempotency_key(memhub):
    first = memhub.json("observe", "once", *P, "--idempotency-key", "k")
    again = memhub.json("observe", "once", *P, "--idempotency-key", "k")
    assert (first["replayed"], again["replayed"]) == (False, True)
    assert first["records"] == again["records"]
    assert "nothing was written" in memhub("observe", "once", *P, "--idempotency-key", "k").err


def test_a_query_with_every_filter(memhub):
    remembered(
        memhub, "green tea", "--tag", "a", "--attribute", "n=1", "--observed-at", "2026-03-01T00:00:00Z"
    )
    wanted = remembered(memhub, "black tea", "--tag", "a", "--tag", "b", "--attribute", "n=3", "--kind", "preference", "--observed-at", "2026-03-02T00:00:00Z")  # fmt: skip
    for options in (
        ["--kind", "preference"],
        ["--tag", "a", "--tag", "b"],
        ["--where", '{"n": {"gte": 2}}'],
        ["--since", "2026-03-01T12:00:00Z"],
        ["--until", "2026-03-02T00:00:00.000001Z", "--limit", "1", "--tag", "b"],
    ):
        for command in (["list"], ["recall", "tea"]):
            found = memhub.json(*command, *P, *options)
            records = found["records"] if "records" in found else [hit["record"] for hit in found["hits"]]
            assert records == [wanted]


def test_as_of(memhub):
    old = remembered(memhub, "Lives in Porto", "--observed-at", "2026-01-01T00:00:00Z")
    remembered(memhub, "Lives in Lisbon", "--supersedes", old["id"], "--observed-at", "2026-02-01T00:00:00Z")
    found = memhub.json("recall", "lives", *P, "--as-of", "2026-01-15T00:00:00Z")
    assert [hit["record"]["content"] for hit in found["hits"]] == ["Lives in Porto"]


def test_explain(memhub):
    remembered(memhub, "Prefers jasmine tea")
    (hit,) = memhub.json("recall", "tea", *P, "--explain")["hits"]
    assert set(hit["why"]) == {"words", "neighbour", "following", "speaker", "session", "semantic"}
    assert list(hit["why"]["words"]) == ["tea"]
    (plain,) = memhub.json("recall", "tea", *P)["hits"]
    assert plain["why"] is None
    assert plain["score"] == hit["score"]


def test_pages(memhub):
    for number in range(5):
        remembered(memhub, f"note {number}")
    seen, more = [], ()
    while True:
        page = memhub.json("list", *P, "--limit", "2", *more)
        seen += [record["content"] for record in page["records"]]
        if page["cursor"] is None:
            break
        more = ("--cursor", page["cursor"])
    assert seen == [f"note {number}" for number in (4, 3, 2, 1, 0)]
    assert "--cursor " in memhub("list", *P, "--limit", "2").err


def test_changing_every_field(memhub):
    record = remembered(
        memhub, "x", "--tag", "a", "--attribute", "k=1", "--expires-at", "2199-01-01T00:00:00Z"
    )
    changed = memhub.json(
        "update", record["id"], "--kind", "profile", "--tag", "b", "--set-attribute", "n=2",
        "--remove-attribute", "k", "--no-expiry",
    )  # fmt: skip
    assert (changed["kind"], changed["tags"], changed["attributes"]) == ("profile", ["b"], {"n": 2})
    assert (changed["content"], changed["expires_at"]) == ("x", None)
    assert memhub.json("update", record["id"], "--no-tags")["tags"] == []
    expiring = memhub.json("update", record["id"], "--expires-at", "2199-01-01T00:00:00Z")
    assert expiring["expires_at"] == "2199-01-01T00:00:00.000000Z"


@pytest.mark.parametrize("command", [["update", "--content", "y"], ["invalidate"], ["delete"]])
def test_a_stale_revision_is_a_conflict(memhub, command):
    record = remembered(memhub, "x")
    ended = memhub(*command, record["id"], "--revision", "stale", "--json")
    assert (ended.code, ended.out, ended.error["code"]) == (1, "", "conflict")


def test_several_records_by_id(memhub):
    ids = [remembered(memhub, text)["id"] for text in ("one", "two")]
    assert [record["content"] for record in memhub.json("get", *ids)["records"]] == ["one", "two"]


def test_purge_stats_scopes_and_sweep(memhub):
    remembered(memhub, "stays")
    remembered(memhub, "gone", "--expires-at", "2020-01-01T00:00:00Z")
    hidden = remembered(memhub, "hidden")
    memhub.json("invalidate", hidden["id"])
    memhub.json("observe", "elsewhere", "--label", "a=b")
    counts = memhub.json("stats")
    assert {name: counts[name] for name in ("live", "invalidated", "expired", "erasure_pending")} == {
        "live": 2, "invalidated": 1, "expired": 1, "erasure_pending": False,
    }  # fmt: skip
    assert counts["bytes"] > 0
    assert memhub.json("stats", "--label", "a=b")["live"] == 1
    assert memhub.json("scopes") == {
        "scopes": [
            {"scope": "player:42", "live": 1, "invalidated": 1, "expired": 1},
            {"scope": {"a": "b"}, "live": 1, "invalidated": 0, "expired": 0},
        ]
    }
    assert memhub.json("sweep") == {"swept": 1}
    assert memhub.json("purge", *P) == {"purged": 2}
    assert memhub.json("stats")["live"] == 1


def test_the_store_is_named_where_there_are_several(memhub):
    memhub.configure(TWO)
    assert memhub.json("stats", "--store", "other")["live"] == 0
    assert memhub.json("observe", "x", *P, "--store", "main")["records"]


def test_another_configuration(memhub, tmp_path):
    (tmp_path / "deep").mkdir()
    path = tmp_path / "deep" / "else.yaml"
    path.write_text("stores: {s: {sqlite: {path: s.db}}}")
    remembered(memhub, "here", "--config", path)
    assert (tmp_path / "deep" / "s.db").exists()
    assert memhub.json("stats", "--config", path)["live"] == 1


class TestForPeople:
    def test_remembering_and_recalling(self, memhub):
        ended = memhub("observe", "Prefers jasmine tea", *P, "--kind", "preference", "--tag", "drinks")
        assert ended.code == 0
        assert "content   Prefers jasmine tea\n" in ended.out
        told = memhub("recall", "tea", *P, "--explain").out
        first, origin, _, score, why = told.splitlines()
        assert first == " 1  Prefers jasmine tea"
        assert origin.startswith("    preference · ")
        assert origin.endswith(" UTC · #drinks")
        assert score == "    score 0.29"
        assert "tea  ████████████  0.29  in its own words" in why

    def test_nothing_found_is_said_beside_the_data(self, memhub):
        ended = memhub("recall", "tea", *P)
        assert (ended.code, ended.out, ended.err) == (0, "", "Nothing found.\n")
        assert memhub("scopes").err == "No scope yet.\n"

    def test_history_is_shown(self, memhub):
        old = remembered(memhub, "Lives in Porto")
        new = remembered(memhub, "Lives in Lisbon", "--supersedes", old["id"])
        memhub.json("invalidate", new["id"], "--reason", "moved again")
        told = memhub("list", *P, "--include-invalidated").out
        assert f"replaces {old['id']}" in told
        assert f"replaced by {new['id']}" in told.replace("\n   ", "")
        assert ": moved again" in told
        assert f"replaces       {old['id']}" in memhub("get", new["id"], old["id"]).out

    def test_changes_are_shown(self, memhub):
        record = remembered(memhub, "x")
        assert "content   y\n" in memhub("update", record["id"], "--content", "y").out
        assert "reason         old\n" in memhub("invalidate", record["id"], "--reason", "old").out
        assert memhub("delete", record["id"]).out == f"Deleted {record['id']}.\n"
        remembered(memhub, "y")
        assert memhub("purge", *P).out == "Removed 1 record.\n"
        assert memhub("sweep").out == "Removed 0 records.\n"

    def test_counts_are_aligned(self, memhub):
        remembered(memhub, "x")
        assert (
            memhub("scopes").out == "SCOPE      LIVE  INVALID  EXPIRED\nplayer:42     1        0        0\n"
        )
        assert memhub("stats").out.splitlines()[:3] == ["live         1", "invalidated  0", "expired      0"]

    def test_what_a_terminal_would_obey_is_spelled_out(self, memhub):
        record = remembered(
            memhub, "red \x1b[31m bell \x07 back \x08 flip \u202e gnitirw [bold]not bold[/] :smile:"
        )
        for ended in (memhub("recall", "red", *P), memhub("get", record["id"])):
            assert (
                "\\x1b[31m bell \\x07 back \\x08 flip \\u202e gnitirw [bold]not bold[/] :smile:"
                in " ".join(ended.out.split())
            )
            assert "\x1b" not in ended.out

    def test_every_line_fits_eighty_columns_in_any_script(self, memhub):
        from rich.cells import cell_len

        for text in ("我最喜欢的咖啡店在北京的胡同里。" * 20, "👩‍🚀🍵" * 60, "word " * 60, "x" * 300):
            record = remembered(memhub, text, "--tag", "标签" * 20)
            for ended in (memhub("list", *P), memhub("get", record["id"])):
                assert max(map(cell_len, ended.out.splitlines())) <= 80
                assert "".join(text.split()) in "".join(ended.out.split()).replace("content", "")


def test_json_is_the_same_data_that_the_library_gives(memhub):
    from memhub.interchange import record_from_json
    from memhub_config import open_blocking_hub

    record = remembered(memhub, "Réti 🫖 引用", "--attribute", "a.b=AND", "--tag", "x y")
    with open_blocking_hub("memhub.yaml") as hub:
        assert hub["main"].get(record["id"]) == record_from_json(record)
    assert json.loads(json.dumps(record)) == record
