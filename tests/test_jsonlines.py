"""Events as JSON Lines, and as the `events` section of a configuration turns them on."""

import asyncio
import json
import multiprocessing
import os
import stat

import pytest

from fakes import SetClock
from memhub import Fact, InvalidConfig, MemoryStore, Observation, Query, Scope
from memhub.interchange import record_from_json
from memhub.jsonlines import JsonLines
from memhub.recall import recall_block
from memhub_adapters.in_memory import InMemoryAdapter
from memhub_config import open_blocking_hub, open_hub

ME = Scope("me")


def lines(path):
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


async def work(memory):
    await memory.observe(Observation(ME, facts=[Fact("Jasmine tea ☕", kind="preference")]))
    await recall_block(memory.bind(ME), "tea")


def watched(path, *, content=False):
    async def run():
        async with MemoryStore(InMemoryAdapter(), name="notes", clock=SetClock()) as memory:
            memory.subscribe(JsonLines(path), content=content)
            await work(memory)

    asyncio.run(run())
    return lines(path)


def test_each_event_is_a_line_without_texts(tmp_path):
    path = tmp_path / "new" / "events.jsonl"
    found = watched(path)
    assert [one["event"] for one in found] == [
        "MemoryWritten",
        "MemorySearched",
        "MemorySearched",
        "MemoryRecalled",
    ]
    written = found[0]
    assert written.pop("seconds") > 0
    [id] = written.pop("ids")
    assert written == {
        "event": "MemoryWritten",
        "store": "notes",
        "provider": "in_memory",
        "operation": "observe",
        "at": "2026-03-01T12:00:00.000000Z",
        "count": 1,
        "characters": 13,
        "replayed": False,
    }
    assert found[3]["ids"] == [id]
    assert found[3]["truncated"] is False
    assert "tea" not in path.read_text("utf-8")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_texts_are_there_when_they_were_asked_for(tmp_path):
    written, _, searched, recalled = watched(tmp_path / "events.jsonl", content=True)
    assert record_from_json(written["records"][0]).content == "Jasmine tea ☕"
    assert searched["query"] == "tea"
    assert "Jasmine tea ☕" in recalled["block"]


def test_a_file_that_was_moved_is_made_anew(tmp_path):
    path = tmp_path / "events.jsonl"
    watched(path)
    path.rename(tmp_path / "old.jsonl")
    watched(path)
    assert len(lines(path)) == len(lines(tmp_path / "old.jsonl")) == 4


def append(path, number):
    sink = JsonLines(path)
    for _ in range(200):
        sink._append(f"{number} {'x' * 9_000}\n".encode())


def test_lines_of_several_processes_do_not_mix(tmp_path):
    path = tmp_path / "events.jsonl"
    start = multiprocessing.get_context("spawn")
    writers = [start.Process(target=append, args=(path, number)) for number in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    found = path.read_text().splitlines()
    assert sorted(found) == sorted(f"{number} {'x' * 9_000}" for number in range(3) for _ in range(200))


def test_a_disk_that_is_full_fails_no_memory_call(caplog):
    async def run():
        async with MemoryStore(InMemoryAdapter(), observers=[JsonLines("/dev/full")]) as memory:
            return await memory.observe(Observation(ME, facts=[Fact("tea")]))

    assert len(asyncio.run(run()).records) == 1
    assert [record.getMessage() for record in caplog.records] == ["an observer failed with OSError"]


CONFIG = "stores: {main: {in_memory: {}}, other: {in_memory: {}}}\nevents:\n  file: log/events.jsonl\n"


@pytest.mark.parametrize("content", [False, True])
def test_a_configuration_turns_it_on_for_every_store(tmp_path, content):
    (tmp_path / "memhub.yaml").write_text(CONFIG + f"  content: {content}\n")
    with open_blocking_hub(tmp_path / "memhub.yaml") as hub:
        for name in ("main", "other"):
            hub[name].observe(Observation(ME, facts=[Fact("tea")]))
            hub[name].recall(Query(ME))
    found = lines(tmp_path / "log" / "events.jsonl")
    assert sorted(one["store"] for one in found) == ["main", "main", "other", "other"]
    assert all(("records" in one) == content for one in found)


@pytest.mark.parametrize(
    ("section", "problem"),
    [
        ("{file: memhub.yaml/x}", "line 2: events.file: cannot be written: "),
        (
            "{fil: x}",
            "line 2: events.fil: no such field; did you mean 'file'?; the fields are file, otel, content",
        ),
        ("{content: maybe}", "line 2: events.content: must be a valid boolean"),
        ("[x]", "line 2: events: must be a mapping of file, otel, content"),
    ],
)
def test_what_is_wrong_is_told_before_a_store_opens(tmp_path, section, problem):
    (tmp_path / "memhub.yaml").write_text(
        f"stores: {{main: {{sqlite: {{path: x.db}}}}}}\nevents: {section}\n"
    )

    async def run():
        async with open_hub(tmp_path / "memhub.yaml"):
            pass

    with pytest.raises(InvalidConfig) as caught:
        asyncio.run(run())
    assert problem in caught.value.message
    assert not (tmp_path / "x.db").exists()


def test_a_pipe_that_nobody_reads_holds_nothing_up(tmp_path):
    os.mkfifo(tmp_path / "events")
    source = {"stores": {"main": {"in_memory": {}}}, "events": {"file": str(tmp_path / "events")}}
    with pytest.raises(InvalidConfig, match="cannot be written: "), open_blocking_hub(source):
        pass
