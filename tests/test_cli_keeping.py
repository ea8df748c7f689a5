"""The commands that look after a store's files: backup, restore, check, reindex."""

import sqlite3

import pytest

from command import TWO, Command
from memhub_config.cli import keeping

P = ("--scope", "p")


@pytest.fixture
def memhub(tmp_path, capsys, monkeypatch):
    return Command(tmp_path, capsys, monkeypatch)


def contents(memhub):
    return [record["content"] for record in memhub.json("list", *P)["records"]]


def test_a_backup_brings_back_what_was_there(memhub, tmp_path):
    memhub.json("observe", "Prefers tea", *P)
    assert memhub.json("backup", "main", "copy.db") == {"store": "main", "path": "copy.db"}
    memhub.json("observe", "Prefers coffee", *P)
    assert memhub.json("restore", "main", "copy.db", "--yes") == {"store": "main", "path": "copy.db"}
    assert contents(memhub) == ["Prefers tea"]
    assert memhub("backup", "main", "second.db").out == "Backed up main to second.db.\n"
    assert memhub("restore", "main", "second.db", "--yes").out == "Restored main from second.db.\n"


def test_a_backup_never_overwrites(memhub, tmp_path):
    (tmp_path / "copy.db").write_text("mine")
    ended = memhub("backup", "main", "copy.db")
    assert (ended.code, "copy.db exists already" in ended.err) == (1, True)
    assert (tmp_path / "copy.db").read_text() == "mine"


def test_a_backup_that_has_no_place_names_the_place(memhub):
    memhub.json("observe", "Prefers tea", *P)
    for place, why in (
        ("no/copy.db", "No such file or directory"),
        ("data/main.db/copy.db", "Not a directory"),
    ):
        ended = memhub("backup", "main", place, "--json")
        assert (ended.code, ended.error["code"]) == (1, "unavailable")
        assert ended.error["message"] == f"{place}.partial: {why}"


@pytest.mark.parametrize(("answer", "code", "left"), [("y\n", 0, []), ("n\n", 130, ["Prefers tea"])])
def test_restore_asks_on_a_terminal(memhub, monkeypatch, answer, code, left):
    memhub.json("backup", "main", "empty.db")
    memhub.json("observe", "Prefers tea", *P)
    with monkeypatch.context() as patched:
        patched.setattr(keeping, "on_terminal", lambda: True)
        ended = memhub("restore", "main", "empty.db", stdin=answer.encode())
    assert ended.code == code
    assert contents(memhub) == left


def test_restore_needs_a_yes_where_nobody_can_be_asked(memhub):
    memhub.json("backup", "main", "copy.db")
    memhub.json("observe", "Prefers tea", *P)
    ended = memhub("restore", "main", "copy.db")
    assert (ended.code, "it cannot be undone; give --yes" in ended.err) == (2, True)
    assert contents(memhub) == ["Prefers tea"]


def test_only_a_whole_backup_is_restored(memhub, tmp_path):
    memhub.json("observe", "Prefers tea", *P)
    (tmp_path / "bad.db").write_bytes(b"not a database " * 500)
    for file in ("bad.db", "no.db"):
        ended = memhub("restore", "main", file, "--yes", "--json")
        assert (ended.code, ended.out) == (1, "")
    assert contents(memhub) == ["Prefers tea"]


def test_reindex_counts_and_needs_no_name_where_there_is_one(memhub):
    memhub.json("observe", "Prefers tea", *P)
    assert memhub.json("reindex") == {"reindexed": 1}
    assert memhub("reindex", "main").out == "Reindexed 1 record.\n"
    memhub.configure(TWO)
    assert memhub("reindex").code == 2


@pytest.mark.parametrize("command", [("backup", "other", "x.db"), ("restore", "other", "x.db", "--yes"), ("reindex", "other")])  # fmt: skip
def test_a_store_without_files_is_unsupported(memhub, command):
    memhub.configure(TWO)
    ended = memhub(*command, "--json")
    assert (ended.code, ended.error["code"]) == (1, "unsupported")
    assert "in_memory has no files of its own" in ended.error["message"]


def test_a_deep_check_finds_what_a_plain_one_does_not(memhub, tmp_path):
    memhub.json("observe", "Prefers jasmine tea", *P)
    assert memhub("check", "--deep").out.splitlines()[1].split() == ["main", "sqlite", "ok"]
    with sqlite3.connect(tmp_path / "data/main.db") as db:
        db.execute("UPDATE record SET content = 'Prefers oolong'")
    db.close()
    assert memhub.json("check")["stores"][0]["ok"] is True
    ended = memhub("check", "--deep", "--json")
    (result,) = ended.data["stores"]
    assert (ended.code, result["ok"], result["error"]) == (1, False, None)
    assert result["faults"]
    shown = memhub("check", "--deep")
    assert shown.code == 1
    assert result["faults"][0][:20] in shown.out
    assert shown.err == "memhub.yaml: 1 of 1 stores failed\n"
