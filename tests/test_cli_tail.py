"""`memhub tail`: what happens in running processes, as it happens."""

import json
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from command import Command
from memhub.events import (
    CallFailed,
    MemoryDeleted,
    MemoryInvalidated,
    MemoryRecalled,
    MemorySearched,
    MemoryWritten,
    OperationDone,
    OperationPending,
    RetryScheduled,
)
from memhub.jsonlines import JsonLines

WATCHED = "stores: {main: {sqlite: {path: main.db}}}\nevents: {file: log/events.jsonl}\n"
PLACE = {"store": "main", "provider": "sqlite", "at": datetime(2026, 3, 1, 12, tzinfo=UTC)}


@pytest.fixture
def memhub(tmp_path, capsys, monkeypatch):
    found = Command(tmp_path, capsys, monkeypatch)
    found.configure(WATCHED)
    return found


def written(count):
    return MemoryWritten(**PLACE, operation="observe", seconds=0.0012, count=count, characters=1_234)


TOLD = [
    (written(2), "observe: 2 records, 1,234 characters  1.2 ms"),
    (
        MemoryWritten(**PLACE, operation="observe", count=1, characters=3, replayed=True),
        "observe: 1 record, 3 characters, replayed",
    ),
    (
        MemorySearched(**PLACE, operation="recall", count=0, characters=0, text=True),
        "recall: 0 records, 0 characters",
    ),
    (
        MemoryRecalled(**PLACE, operation="recall_block", count=3, characters=900, truncated=True),
        "recall_block: 3 records, 900 characters, truncated",
    ),
    (MemoryInvalidated(**PLACE, operation="invalidate"), "invalidate: 1 record invalidated"),
    (MemoryDeleted(**PLACE, operation="purge", count=7), "purge: 7 records forgotten"),
    (OperationPending(**PLACE, operation="observe", operation_id="op-1"), "observe: pending as op-1"),
    (OperationDone(**PLACE, operation="wait", operation_id="op-1"), "wait: op-1 is done"),
    (
        RetryScheduled(**PLACE, operation="recall", attempt=1, delay=2, code="unavailable"),
        "recall: attempt 1 failed (unavailable), again in 2.0 s",
    ),
    (CallFailed(**PLACE, operation="ping", code="access_denied"), "ping: failed (access_denied)"),
]


def test_each_event_is_a_line_to_read(memhub):
    sink = JsonLines(memhub.folder / "log/events.jsonl")
    for event, _ in TOLD:
        sink(event)
    ended = memhub("tail", "--no-follow")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.splitlines() == [f"2026-03-01 12:00:00  main  {told}" for _, told in TOLD]


def test_what_other_commands_do_is_there(memhub):
    memhub("observe", "Likes tea", "--scope", "p")
    memhub("recall", "tea", "--scope", "p")
    lines = memhub("tail", "--no-follow").out.splitlines()
    assert [re.sub(r"^\S+ \S+ |\d+\.\d+ ms", "", line) for line in lines] == [
        " main  observe: 1 record, 9 characters  ",
        " main  recall: 1 record, 9 characters  ",
    ]


def test_texts_are_shown_where_they_were_asked_for_and_steer_no_terminal(memhub):
    memhub.configure(WATCHED.replace("{file", "{content: true, file"))
    memhub("observe", "Likes\ntea\x1b[2J", "--scope", "p")
    memhub("recall", "tea", "--scope", "p")
    lines = memhub("tail", "--no-follow").out.splitlines()
    assert [line for line in lines if line.startswith(" ")] == [
        "    fact: Likes tea\\x1b[2J",
        "    asked: tea",
        "    fact: Likes tea\\x1b[2J",
    ]


@pytest.mark.parametrize("asked", [0, 1, 3, 50])
def test_it_begins_with_the_last_lines(memhub, asked, monkeypatch):
    monkeypatch.setattr("memhub_config.cli.tailing.BLOCK", 100)
    sink = JsonLines(memhub.folder / "log/events.jsonl")
    for count in range(5):
        sink(written(count))
    lines = memhub("tail", "--no-follow", "--lines", asked, "--json").out.splitlines()
    assert [json.loads(line)["count"] for line in lines] == [0, 1, 2, 3, 4][max(0, 5 - asked) :]


def test_a_line_that_is_no_event_is_shown_as_it_is(memhub):
    path = memhub.folder / "log/events.jsonl"
    path.parent.mkdir()
    path.write_bytes(b'no json\n{"a": 1}\n[]\n\xff\nhalf a li')
    assert memhub("tail", "--no-follow").out.splitlines() == ["no json", '{"a": 1}', "[]", "\ufffd"]


HEAD = '{"event": "RetryScheduled", "store": "s", "operation": "o", "at": "t", "attempt": 1, "code": "c"'


@pytest.mark.parametrize(
    "line",
    [
        "[" * 100_000,
        f'{HEAD}, "seconds": 1{"0" * 400}, "delay": 1}}',
        f'{HEAD}, "seconds": 0, "delay": 1{"0" * 400}}}',
        f'{HEAD}, "seconds": 0, "delay": "soon"}}',
        f'{HEAD}, "seconds": 0, "delay": 1, "records": [[]]}}',
    ],
    ids=["nested", "seconds", "delay", "text", "records"],
)
def test_neither_does_a_hostile_one_end_it(memhub, line):
    path = memhub.folder / "log/events.jsonl"
    path.parent.mkdir()
    path.write_text(f"{line}\nlast\n")
    assert memhub("tail", "--no-follow").out.splitlines() == [line, "last"]


def test_a_file_that_cannot_be_read_is_told(memhub):
    (memhub.folder / "log/events.jsonl").mkdir(parents=True)
    ended = memhub("tail", "--no-follow")
    assert ended.code == 1
    assert "events.file: " in ended.err
    assert "cannot be read: Is a directory" in ended.err


def test_a_configuration_without_events_is_told_what_to_add(memhub):
    memhub.configure("stores: {main: {in_memory: {}}}")
    ended = memhub("tail")
    assert ended.code == 1
    assert "events.file: is not set; name the file" in ended.err
    assert "events: {file: events.jsonl}" in ended.err


def test_a_file_that_is_not_there_has_no_lines(memhub):
    ended = memhub("tail", "--no-follow")
    assert (ended.code, ended.out, ended.err) == (0, "", "")


def test_it_follows_a_file_that_comes_grows_and_is_replaced(tmp_path):
    (tmp_path / "memhub.yaml").write_text(WATCHED)
    path = tmp_path / "log/events.jsonl"
    command = [Path(sys.executable).with_name("memhub"), "tail", "--json"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, cwd=tmp_path, text=True, **pipes) as process:
        assert process.stderr.readline() == f"{path} is not there yet; waiting for it.\n"
        sink = JsonLines(path)

        def heard():
            return json.loads(process.stdout.readline())["count"]

        for count in range(3):
            sink(written(count))
            assert heard() == count
        path.rename(tmp_path / "old.jsonl")
        sink(written(7))
        assert heard() == 7
        process.terminate()
