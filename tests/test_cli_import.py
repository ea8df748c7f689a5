"""`import`: a conversation, checked whole, written once."""

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from command import TWO, Command
from memhub import InvalidInput, Scope
from memhub_config import open_blocking_hub
from memhub_config.cli.conversation import conversations, read_lines
from memhub_config.cli.importing import import_turns

P = ("--scope", "p")
FRESH = {"conversations": 1, "replayed": 0, "pending": [], "persisted": True}


@pytest.fixture
def memhub(tmp_path, capsys, monkeypatch):
    return Command(tmp_path, capsys, monkeypatch)


def lines(*given):
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in given).encode()


def turns(count, first=0, conversation="c", **more):
    return [
        {
            "role": "user",
            "content": f"turn number {n} about thing{n}",
            "conversation_id": conversation,
            **more,
        }
        for n in range(first, first + count)
    ]


def contents(memhub):
    """What the store holds, in the order written."""
    with open_blocking_hub("memhub.yaml") as hub:
        return [record.content for record in hub["main"].scan().records]


def test_a_line_becomes_a_record(memhub):
    line = {
        "role": "assistant",
        "content": "Good morning, Ada. 早上好 🌅",
        "speaker": "Wick",
        "at": "2026-03-01T10:30:00.25+01:00",
        "conversation_id": "day-1",
        "tags": ["greeting"],
        "attributes": {"mood": "sunny", "n": 3},
    }
    assert memhub.json("import", *P, stdin=lines(line)) == {**FRESH, "written": 1}
    (record,) = memhub.json("list", *P)["records"]
    assert (record["kind"], record["content"]) == ("episode", line["content"])
    assert record["provenance"] == {
        "conversation_id": "day-1", "run_id": None, "author": "Wick", "role": "assistant",
    }  # fmt: skip
    assert record["observed_at"] == "2026-03-01T09:30:00.250000Z"
    assert (record["tags"], record["attributes"]) == (line["tags"], line["attributes"])


def test_a_file_and_a_repeat(memhub, tmp_path):
    (tmp_path / "talk.jsonl").write_bytes(b"\xef\xbb\xbf" + lines(*turns(250)).replace(b"\n", b"\r\n\r\n"))
    assert memhub("import", "talk.jsonl", *P).out == "Imported 250 turns of 1 conversation.\n"
    assert (
        memhub("import", "talk.jsonl", *P).out
        == "Nothing new: all 250 turns of 1 conversation were there already.\n"
    )
    assert memhub.json("import", "talk.jsonl", *P) == {**FRESH, "written": 0, "replayed": 250}
    assert memhub.json("stats")["live"] == 250
    assert contents(memhub) == [turn["content"] for turn in turns(250)]


@pytest.mark.parametrize("before", [1, 7, 99, 100, 101, 150, 200])
def test_a_file_that_has_grown_adds_what_is_new(memhub, before):
    memhub.json("import", *P, stdin=lines(*turns(before)))
    assert memhub.json("import", *P, stdin=lines(*turns(210))) == {
        **FRESH, "written": 210 - before, "replayed": before,
    }  # fmt: skip
    assert contents(memhub) == [turn["content"] for turn in turns(210)]


@pytest.mark.parametrize("batches", [(1, 100), (100, 1), (7, 3), (3, 1000), (40, 7)])
def test_another_batch_size_writes_nothing_again(memhub, batches):
    first, second = batches
    data = lines(*turns(45))
    assert memhub.json("import", *P, "--batch", first, stdin=data)["written"] == 45
    assert memhub.json("import", *P, "--batch", second, stdin=data) == {**FRESH, "written": 0, "replayed": 45}


def test_a_file_that_has_changed_is_refused_at_its_line(memhub):
    memhub.json("import", *P, "--batch", 10, stdin=lines(*turns(30)))
    changed = turns(40)
    changed[15]["content"] = "something else"
    ended = memhub("import", *P, "--batch", 10, "--json", stdin=lines(*changed))
    assert (ended.code, ended.out, ended.error["code"]) == (1, "", "conflict")
    assert ended.error["message"].startswith(
        "line 11: the turns from here on were imported before with other"
    )
    assert memhub.json("stats")["live"] == 30


def test_another_scope_is_another_import(memhub):
    data = lines(*turns(3))
    assert memhub.json("import", *P, stdin=data)["written"] == 3
    assert memhub.json("import", "--label", "a=b", stdin=data)["written"] == 3
    assert memhub.json("import", "--scope", "p", stdin=data)["written"] == 0


def test_conversations_stay_apart_however_their_lines_are_mixed(memhub):
    mixed = [
        turn for pair in zip(turns(20), turns(20, first=50, conversation="d"), strict=True) for turn in pair
    ]
    assert memhub.json("import", *P, stdin=lines(*mixed)) == {**FRESH, "conversations": 2, "written": 40}
    assert memhub.json("import", *P, stdin=lines(*turns(20)))["replayed"] == 20


class TestNeighbours:
    """A turn answers to its predecessor's words: across batches, never across conversations."""

    @staticmethod
    def lent(memhub, word):
        hits = memhub.json("recall", word, *P, "--explain")["hits"]
        return {hit["record"]["content"] for hit in hits if word in hit["why"]["neighbour"]}

    @pytest.mark.parametrize("batch", [1, 2, 3, 100])
    def test_a_batch_changes_nothing(self, memhub, batch):
        memhub.json("import", *P, "--batch", batch, stdin=lines(*turns(6), *turns(6, 50, "d")))
        for before, after in pairwise([*range(6)]):
            assert self.lent(memhub, f"thing{before}") == {f"turn number {after} about thing{after}"}
        assert self.lent(memhub, "thing5") == set()

    @pytest.mark.parametrize("options", [(), ("--conversation", "mine")])
    def test_lines_that_name_no_conversation_are_one(self, memhub, options):
        nameless = [{"role": "user", "content": f"about thing{n}"} for n in range(5)]
        assert memhub.json("import", *P, *options, "--batch", 2, stdin=lines(*nameless)) == {
            **FRESH,
            "written": 5,
        }
        assert self.lent(memhub, "thing1") == {"about thing2"}
        names = {record["provenance"]["conversation_id"] for record in memhub.json("list", *P)["records"]}
        assert len(names) == 1
        assert options == () or names == {"mine"}

    def test_a_nameless_file_that_grows_keeps_its_name(self, memhub):
        nameless = [{"role": "user", "content": f"about thing{n}"} for n in range(5)]
        memhub.json("import", *P, stdin=lines(*nameless[:3]))
        assert memhub.json("import", *P, stdin=lines(*nameless)) == {**FRESH, "written": 2, "replayed": 3}
        assert self.lent(memhub, "thing2") == {"about thing3"}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "is not JSON: Expecting property name enclosed in double quotes, column 2"),
        ("[]", "must be an object with role and content"),
        ('"x"', "must be an object"),
        ("[" * 100_000, "is nested too deeply"),
        (f'{{"at": {"9" * 5_000}}}', "holds a number of too many digits"),
        ("{}", "role: is required"),
        ('{"role": "user"}', "content: is required"),
        ('{"role": "user", "content": null}', "content: is required"),
        ('{"role": "king", "content": "x"}', "role: is not one of system, user, assistant, tool"),
        ('{"role": 3, "content": "x"}', "role: is not one of"),
        ('{"role": "user", "content": 3}', "content: must be text, not int"),
        ('{"role": "user", "content": "  "}', "content: is blank"),
        ('{"role": "user", "content": "x\\u0000"}', "content: holds a NUL character"),
        ('{"role": "user", "content": "\\ud800"}', "content: holds a lone surrogate"),
        ('{"role": "user", "content": "x", "speeker": "y"}', "speeker: no such field; did you mean speaker?"),
        ('{"role": "user", "content": "x", "zzzz": "y"}', "zzzz: no such field"),
        ('{"role": "user", "content": "x", "content": "y"}', "content: is given twice; keep one"),
        ('{"role": "user", "content": "x", "speaker": ""}', "speaker: is blank"),
        ('{"role": "user", "content": "x", "speaker": 3}', "speaker: must be text"),
        ('{"role": "user", "content": "x", "at": "2026-03-01T00:00:00"}', "at: has no time zone; end it with Z"),
        ('{"role": "user", "content": "x", "at": "2026-03-01"}', "at: must be an RFC 3339 time"),
        ('{"role": "user", "content": "x", "at": 1772323200}', "at: must be an RFC 3339 time"),
        ('{"role": "user", "content": "x", "at": "2026-02-30T00:00:00Z"}', "at: is no time that exists"),
        ('{"role": "user", "content": "x", "conversation_id": 3}', "conversation_id: must be text"),
        ('{"role": "user", "content": "x", "tags": "a"}', "tags: must be a list"),
        ('{"role": "user", "content": "x", "tags": [3]}', "tags[0]: must be text"),
        ('{"role": "user", "content": "x", "attributes": [3]}', "attributes: must be a mapping"),
        ('{"role": "user", "content": "x", "attributes": {"a": {}}}', "attributes['a']: must be text, a number"),
        ('{"role": "user", "content": "x", "attributes": {"a": NaN}}', "attributes['a']: is not a finite number"),
    ],
)  # fmt: skip
def test_a_bad_line_is_named_and_nothing_is_written(memhub, line, message):
    data = lines(*turns(2)) + line.encode() + b"\n" + lines(*turns(1, first=2))
    ended = memhub("import", *P, "--json", stdin=data)
    assert (ended.code, ended.out, ended.error["code"]) == (1, "", "invalid_input")
    assert ended.error["message"].startswith(f"stdin, line 3: {message}")
    assert ended.error["message"].endswith("; nothing was written")
    assert memhub.json("stats")["live"] == 0


def test_bytes_that_are_no_text_are_named(memhub):
    ended = memhub("import", *P, stdin=b'{"role": "user", "content": "\xff"}\n')
    assert ended.err == "error [invalid_input] stdin, line 1: is not UTF-8 (byte 30); nothing was written\n"


def test_all_bad_lines_are_told_up_to_twenty(memhub, tmp_path):
    (tmp_path / "bad.jsonl").write_bytes(lines(*turns(1)) + b"x\n" * 30)
    told = memhub("import", "bad.jsonl", *P).err.splitlines()
    assert told[0] == "error [invalid_input] bad.jsonl has 30 bad lines; nothing was written:"
    assert told[1].startswith("  line 2: is not JSON")
    assert (len(told), told[-1]) == (22, "  and 10 more")


@pytest.mark.parametrize("data", [b"", b"\n\n  \n", b"\xef\xbb\xbf"])
def test_a_file_without_turns_is_an_error(memhub, data):
    ended = memhub("import", *P, stdin=data)
    assert (ended.code, ended.out) == (1, "")
    assert ended.err == "error [invalid_input] stdin: holds no turns\n"


def test_an_error_half_way_says_what_was_written(memhub, monkeypatch):
    from memhub import MemoryStore, Unavailable

    observe, calls = MemoryStore.observe, []

    async def failing(store, observation):
        calls.append(observation)
        if len(calls) == 3:
            raise Unavailable("the disk is full", store=store.name)
        return await observe(store, observation)

    with monkeypatch.context() as patched:
        patched.setattr(MemoryStore, "observe", failing)
        ended = memhub("import", *P, "--batch", 10, "--json", stdin=lines(*turns(50)))
    assert (ended.code, ended.out) == (1, "")
    assert ended.error["notes"] == ["20 turns were written before; repeat the command to go on."]
    assert memhub.json("import", *P, "--batch", 10, stdin=lines(*turns(50))) == {
        **FRESH, "written": 30, "replayed": 20,
    }  # fmt: skip


def test_what_a_store_cannot_keep_is_refused_before_anything_is_written(memhub, monkeypatch):
    from dataclasses import replace

    from memhub_adapters.in_memory import InMemoryAdapter

    poor = replace(InMemoryAdapter.capabilities, turn_fields=frozenset({"role", "provenance"}))
    monkeypatch.setattr(InMemoryAdapter, "capabilities", poor)
    memhub.configure(TWO)
    data = lines(*turns(5), *turns(1, first=5, speaker="Ada"))
    ended = memhub("import", *P, "--store", "other", "--batch", 2, "--json", stdin=data)
    assert (ended.code, ended.error["code"]) == (1, "unsupported")
    assert "it cannot keep speaker of turns" in ended.error["message"]
    assert ended.error["notes"] == []


def test_a_store_that_keeps_nothing_says_so(memhub):
    memhub.configure("stores: {nowhere: {none: {}}}")
    assert memhub.json("import", *P, stdin=lines(*turns(5))) == {**FRESH, "written": 5, "persisted": False}
    assert (
        memhub("import", *P, stdin=lines(*turns(5))).out
        == "Read 5 turns of 1 conversation; this store keeps nothing.\n"
    )
    assert "This store keeps nothing." in memhub("observe", "x", *P).err
    ended = memhub("demo", "--store", "nowhere", "--json")
    assert (ended.code, ended.out, ended.error["code"]) == (1, "", "unsupported")


def test_a_store_that_takes_few_at_once_gets_few_at_once(memhub, monkeypatch):
    from dataclasses import replace

    from memhub_adapters.in_memory import InMemoryAdapter

    monkeypatch.setattr(
        InMemoryAdapter, "capabilities", replace(InMemoryAdapter.capabilities, atomic_facts=3)
    )
    memhub.configure(TWO)
    assert memhub.json("import", *P, "--store", "other", stdin=lines(*turns(10)))["written"] == 10


@given(
    st.lists(st.integers(1, 12), min_size=1, max_size=6), st.lists(st.integers(1, 40), min_size=1, max_size=4)
)
def test_any_sequence_of_growing_imports_writes_each_turn_once(steps, batches):
    all_turns = turns(sum(steps))
    with open_blocking_hub({"stores": {"a": {"in_memory": {}}}}) as hub:
        memory, done = hub["a"], 0
        for number, step in enumerate(steps):
            done += step
            grouped = conversations(read_lines(lines(*all_turns[:done]), "x"))
            batch = batches[number % len(batches)]
            tally = memory._portal.call(
                lambda: import_turns(memory._store, Scope("p"), grouped, batch=batch)  # noqa: B023 - called at once
            )
            assert (tally.written, tally.replayed) == (step, done - step)
        assert [record.content for record in memory.scan().records] == [turn["content"] for turn in all_turns]


@given(st.binary(max_size=80))
def test_any_bytes_are_read_or_refused(data):
    try:
        assert isinstance(read_lines(data, "x"), list)
    except InvalidInput as error:
        assert "x" in str(error)
