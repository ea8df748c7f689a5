"""The commands that move memories: export, import of records, migrate."""

import json
import sqlite3
from pathlib import Path

import pytest

from command import Command

BOTH = """\
stores:
  old:
    sqlite: {path: old.db, durability: normal}
  new:
    sqlite: {path: new.db, durability: normal}
  again:
    sqlite: {path: old.db, durability: normal}
  scratch:
    in_memory: {}
  nowhere:
    none: {}
"""
HEADER = '{"memhub_export": 1}'


@pytest.fixture
def memhub(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    command = Command(tmp_path, capsys, monkeypatch)
    command.configure(BOTH)
    return command


@pytest.fixture
def filled(memhub):
    """A store with a chain, an invalidated record, turns, and text that is hostile to terminals."""
    said = ("observe", "--store", "old")
    first = memhub.json(*said, "Prefers tea", "--scope", "ann", "--tag", "a")["records"][0]
    memhub.json(*said, "Prefers oolong 🍵", "--scope", "ann", "--supersedes", first["id"])
    wrong = memhub.json(*said, "Is tall", "--label", "tenant=acme", "--label", "user=bob")["records"][0]
    memhub.json("invalidate", wrong["id"], "--store", "old", "--reason", "is not")
    memhub.json(*said, "\x1b[31mred\x1b[0m \u2028 \x85 \u202e", "--label", "tenant=acme")
    lines = b"".join(b'{"role": "user", "content": "turn %d"}\n' % n for n in range(5))
    memhub.json("import", "--store", "old", "--scope", "chat", "--batch", 2, stdin=lines)
    return memhub


def lines_of(memhub, store="old"):
    return memhub("export", store).out.splitlines()


class TestExport:
    def test_lines_go_to_stdout_and_messages_to_stderr(self, filled):
        ended = filled("export", "old")
        header, *records = ended.out.splitlines()
        assert (ended.code, ended.err, header) == (0, "Exported 9 records.\n", HEADER)
        assert [json.loads(line)["content"] for line in records][:2] == ["Prefers tea", "Prefers oolong 🍵"]
        assert filled("export", "old", "--json").out == ended.out

    def test_a_file_is_new_and_whole(self, filled, tmp_path):
        assert filled.json("export", "old", "--output", "e.jsonl") == {"records": 9, "path": "e.jsonl"}
        assert (tmp_path / "e.jsonl").read_text("utf-8") == filled("export", "old").out
        ended = filled("export", "old", "--output", "e.jsonl")
        assert (ended.code, ended.out) == (1, "")
        assert "e.jsonl: is there already; name a new file" in ended.err
        for place, why in (
            ("no/such/folder.jsonl", "No such file"),
            ("e.jsonl/in.jsonl", "Not a directory"),
            ("x" * 250, "File name too long"),
            ("x" * 300, "File name too long"),
        ):
            ended = filled("export", "old", "--output", place)
            assert (ended.code, f"{place}: cannot be written: {why}" in ended.err) == (1, True)
        assert not list(tmp_path.glob("*.partial"))

    def test_a_failure_leaves_no_file(self, memhub, tmp_path):
        (tmp_path / "old.db").write_bytes(b"not a database " * 100)
        assert memhub("export", "old", "--output", "e.jsonl").code == 1
        assert sorted(tmp_path.glob("e.jsonl*")) == []

    @pytest.mark.parametrize(
        ("options", "count"),
        [
            (("--scope", "ann"), 2),
            (("--scope", "ann", "--scope", "chat"), 7),
            (("--label", "tenant=acme"), 2),
            (("--label", "tenant=acme", "--label", "user=bob"), 1),
            (("--scope", "nobody"), 0),
        ],
    )
    def test_scopes_choose(self, filled, options, count):
        assert len(filled("export", "old", *options).out.splitlines()) == count + 1

    def test_it_needs_a_store_that_is_there(self, memhub):
        assert memhub("export").code == 2
        assert memhub("export", "nobody", "--json").error["code"] == "invalid_input"


class TestImportOfRecords:
    def test_it_is_lossless_and_can_be_repeated(self, filled, tmp_path):
        filled("export", "old", "--output", "e.jsonl")
        done = filled.json("import", "e.jsonl", "--store", "new")
        assert (done["moved"], done["left_out"], done["renamed"]) == (9, 0, 0)
        assert filled("import", "e.jsonl", "--store", "new").out == (
            "Imported 9 records. All were compared with the source.\n"
        )
        assert lines_of(filled, "new") == lines_of(filled)

    def test_stdin_and_a_named_format(self, filled):
        data = filled("export", "old").out.encode()
        assert filled.json("import", "--store", "new", "--format", "records", stdin=data)["moved"] == 9
        assert lines_of(filled, "new") == lines_of(filled)

    @pytest.mark.parametrize(
        ("arguments", "told"),
        [
            (("--scope", "ann"), "records carry their own scope; leave out --scope"),
            (("--label", "a=b"), "records carry their own scope"),
            (("--batch", "3"), "leave out --scope, --label, --conversation and --batch"),
            (("--format", "rumours"), "--format: must be conversation or records"),
            (("--format", "conversation", "--accept-loss"), "--accept-loss is for records"),
        ],
    )
    def test_usage(self, memhub, arguments, told):
        ended = memhub("import", "--store", "new", *arguments, stdin=HEADER.encode())
        assert (ended.code, ended.out) == (2, "")
        assert told in ended.err

    @pytest.mark.parametrize(
        ("line", "told"),
        [
            ("{}", "stdin, line 2: id: is required"),
            ("{", "stdin, line 2: is not JSON"),
            (f'{{"position": {"9" * 5_000}}}', "stdin, line 2: holds a number of too many digits"),
            ('{"id": "a", "contnet": "b"}', "stdin, line 2: contnet: no such field; did you mean content?"),
        ],
    )
    def test_a_bad_line_is_named(self, memhub, line, told):
        ended = memhub("import", "--store", "new", "--json", stdin=f"{HEADER}\n{line}\n".encode())
        assert (ended.code, ended.out, ended.error["code"]) == (1, "", "invalid_input")
        assert ended.error["message"].startswith(told)

    def test_a_conversation_is_no_export(self, memhub):
        line = b'{"role": "user", "content": "x"}\n'
        ended = memhub("import", "--store", "new", "--format", "records", stdin=line)
        assert "stdin, line 1: is no header of an export" in ended.err
        ended = memhub(
            "import", "--store", "new", "--format", "conversation", "--scope", "a", stdin=HEADER.encode()
        )
        assert "memhub_export: no such field" in ended.err

    def test_a_store_that_keeps_nothing_refuses(self, memhub):
        ended = memhub("import", "--store", "nowhere", "--json", stdin=HEADER.encode())
        assert (ended.code, ended.error["code"]) == (1, "unsupported")

    def test_a_missing_file_is_told(self, memhub):
        ended = memhub("import", "no.jsonl", "--store", "new", "--scope", "a")
        assert ended.err == "error [invalid_input] no.jsonl: cannot be read: No such file or directory\n"


class TestMigrate:
    def test_everything_moves(self, filled, tmp_path):
        before = lines_of(filled)
        ended = filled("migrate", "--from", "old", "--to", "new")
        assert (ended.code, ended.err) == (0, "")
        assert ended.out == "Moved 9 records. All were compared with the source.\n"
        assert lines_of(filled, "new") == before == lines_of(filled)
        assert list((tmp_path / "state").rglob("*.db")) == []

    def test_json_and_scopes(self, filled):
        done = filled.json("migrate", "--from", "old", "--to", "new", "--scope", "ann", "--scope", "chat")
        assert done == {
            "plan": {
                "source": "old", "target": "new", "method": "restore",
                "records": 7, "moving": 7, "losses": [],
            },
            "moved": 7, "left_out": 0, "renamed": 0, "passes": 2,
        }  # fmt: skip

    def test_a_dry_run_changes_nothing(self, filled):
        plan = filled.json("migrate", "--from", "old", "--to", "new", "--dry-run")
        assert (plan["records"], plan["moving"], plan["losses"]) == (9, 9, [])
        assert filled("migrate", "--from", "old", "--to", "new", "--dry-run").out == (
            "old: 9 records; 9 go to new, complete, as they are.\nNothing is lost.\n"
        )
        assert lines_of(filled, "new") == [HEADER]

    @pytest.fixture
    def lesser(self, filled, monkeypatch):
        """The target cannot restore, and keeps no tags."""
        from dataclasses import replace

        from memhub_adapters.in_memory import InMemoryAdapter

        caps = InMemoryAdapter.capabilities
        fields = caps.fact_fields - {"tags"}
        less = replace(caps, restore=False, fact_fields=fields, reasons={"restore": "it has no such call"})
        monkeypatch.setattr(InMemoryAdapter, "capabilities", less)
        return filled

    def test_losses_are_told_refused_and_accepted(self, lesser):
        both = ("migrate", "--from", "old", "--to", "scratch")
        plan = lesser.json(*both, "--dry-run")
        assert {loss["name"]: loss["records"] for loss in plan["losses"]} == {
            "history": 2, "restore": 7, "links": 1,
        }  # fmt: skip
        shown = lesser(*both, "--dry-run").out
        assert "old: 9 records; 7 go to scratch, remembered anew." in shown
        assert [line.split()[:2] for line in shown.splitlines() if line.startswith(("history", "restore", "links"))] == [
            ["history", "2"], ["restore", "7"], ["links", "1"],
        ]  # fmt: skip
        assert shown.count("it has no such call") == 3
        refused = lesser(*both, "--json")
        assert (refused.code, refused.out, refused.error["code"]) == (1, "", "unsupported")
        assert (
            "2 records left out, since they are superseded or invalidated (history)"
            in refused.error["message"]
        )
        assert lesser(*both, "--accept-loss").out == (
            "Moved 7 records; 2 left out; 7 under new ids. All were compared with the source.\n"
        )

    def test_the_map_goes_to_a_file_or_to_stdout(self, filled, tmp_path):
        ids = [json.loads(line)["id"] for line in lines_of(filled)[1:]]
        expected = [{"from": id, "to": id} for id in ids]
        filled.json("migrate", "--from", "old", "--to", "new", "--map", "ids.jsonl")
        lines = (tmp_path / "ids.jsonl").read_text("utf-8").splitlines()
        assert [json.loads(line) for line in lines] == expected
        ended = filled("migrate", "--from", "old", "--to", "new", "--map", "-")
        assert [json.loads(line) for line in ended.out.splitlines()] == expected
        assert ended.err == "Moved 9 records. All were compared with the source.\n"

    @pytest.mark.parametrize(
        ("arguments", "told"),
        [
            (("--from", "old"), "Missing option '--to'"),
            (("--from", "old", "--to", "old"), "--from and --to name the same store"),
            (("--from", "old", "--to", "again"), "old and again are one place under two names"),
            (("--from", "old", "--to", "new", "--map", "-", "--json"), "both go to stdout"),
            (("--from", "old", "--to", "new", "--scope", "a", "--label", "b=c"), "not both"),
        ],
    )
    def test_usage(self, memhub, arguments, told):
        ended = memhub("migrate", *arguments)
        assert (ended.code, ended.out) == (2, "")
        assert told in (json.loads(ended.err)["error"]["message"] if "--json" in arguments else ended.err)

    def test_stores_that_cannot_take_part_are_told(self, filled):
        unknown = filled("migrate", "--from", "old", "--to", "nobody", "--json")
        assert (unknown.code, unknown.error["code"]) == (1, "invalid_input")
        kept = filled("migrate", "--from", "old", "--to", "nowhere", "--accept-loss", "--json")
        assert (kept.code, kept.error["code"]) == (1, "unsupported")

    def test_a_map_that_is_there_is_refused_before_anything_moves(self, filled, tmp_path):
        (tmp_path / "ids.jsonl").write_text("mine")
        assert filled("migrate", "--from", "old", "--to", "new", "--map", "ids.jsonl").code == 1
        assert lines_of(filled, "new") == [HEADER]

    def test_an_interrupted_one_says_how_to_go_on(self, filled, tmp_path):
        """Another version of a record is in the target: what moved before is noted."""
        filled.json("migrate", "--from", "old", "--to", "new")
        held = json.loads(lines_of(filled)[1])["id"]
        with sqlite3.connect(tmp_path / "new.db") as db:
            db.execute("UPDATE record SET content = 'Changed behind it' WHERE content = 'Prefers tea'")
        db.close()
        ended = filled("migrate", "--from", "old", "--to", "new", "--json")
        assert (ended.code, ended.error["code"]) == (1, "conflict")
        assert held in ended.error["message"]
        (checkpoint,) = (tmp_path / "state").rglob("*.db")
        assert ended.error["notes"][-1] == (
            f"What is done is noted in {checkpoint}; the same command goes on from there."
        )

    def test_a_checkpoint_can_be_named(self, filled, tmp_path):
        Path(tmp_path / "notes.db").write_bytes(b"something else entirely " * 100)
        ended = filled("migrate", "--from", "old", "--to", "new", "--checkpoint", "notes.db", "--json")
        assert (ended.code, ended.error["code"]) == (1, "invalid_input")
        assert filled("migrate", "--from", "old", "--to", "new", "--checkpoint", "own.db").code == 0

    @pytest.mark.parametrize("place", ["folder", "x" * 300])
    def test_what_is_no_checkpoint_is_not_said_to_note_anything(self, filled, tmp_path, place):
        Path(tmp_path / "folder").mkdir()
        ended = filled("migrate", "--from", "old", "--to", "new", "--checkpoint", place, "--json")
        assert (ended.code, ended.error["code"], ended.error["notes"]) == (1, "unavailable", [])
        assert f"checkpoint: {place} cannot be used" in ended.error["message"]
