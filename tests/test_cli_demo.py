"""`demo`: the story it tells, and that it leaves nothing behind."""

import json
from importlib.resources import files

import pytest
from rich.cells import cell_len

from command import ONE, Command
from memhub_config.cli.conversation import conversations, read_lines

STORY = read_lines(files("memhub_config").joinpath("data", "demo.jsonl").read_bytes(), "demo.jsonl")
ANSWERS = [
    "hazelnuts",
    "Friday 16 May at 06:40",
    "Thursday 15 May at 07:10",
    "Blue sea glass",
    "green coat",
    "麦茶",
]


@pytest.fixture
def memhub(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    return Command(tmp_path, capsys, monkeypatch)


def test_the_conversation_is_two_weeks_of_two_speakers():
    times = [line.turn.at for line in STORY]
    assert times == sorted(times)
    assert (times[-1] - times[0]).days in (12, 13)
    assert 60 <= len(STORY) <= 100
    assert len({line.turn.speaker for line in STORY}) == 2
    assert len(conversations(STORY)) == 10


def test_it_answers_and_tells_what_was_replaced(memhub):
    told = memhub.json("demo")
    assert (told["turns"], told["conversations"], told["fresh"]) == (len(STORY), 10, True)
    old, new = told["corrected"]["old"], told["corrected"]["new"]
    assert (old["superseded_by"], new["supersedes"]) == (new["id"], old["id"])
    assert old["invalid_at"] == "2025-05-12T09:32:00.000000Z"
    for answer, expected in zip(told["answers"], ANSWERS, strict=True):
        assert expected in answer["hit"]["record"]["content"]
    now, then = told["answers"][1:3]
    assert now["question"] == then["question"]
    assert (now["hit"]["record"], now["replaced"]) == (new, old)
    assert (then["as_of"], then["hit"]["record"]) == ("2025-05-10T12:00:00.000000Z", old)


def test_the_page_for_people(memhub):
    ended = memhub("demo")
    assert ended.code == 0
    assert ended.out.startswith(
        "Two weeks on the Lantern Coast\nPell Quillfeather and Wick, 4 May 2025 to 17 May 2025"
    )
    for answer in ANSWERS:
        assert answer in ended.out
    for told in (
        "  replaced    The ferry to Tinder Isle leaves on Thursday",
        "said by Pell Quillfeather on 11 May 2025",
        "a fact, noted on 12 May 2025",
        "valid until 12 May 2025",
        "(as of 10 May 2025)",
    ):
        assert told in ended.out
    assert max(map(cell_len, ended.out.splitlines())) <= 80
    assert ended.err == "This was a temporary store, and it is gone. For one that stays: memhub init\n"


def test_it_needs_no_configuration_and_leaves_nothing_behind(memhub, tmp_path):
    (tmp_path / "memhub.yaml").unlink()
    assert memhub("demo").code == 0
    assert [path.name for path in tmp_path.iterdir()] == ["temporary"]
    assert list((tmp_path / "temporary").iterdir()) == []


def test_in_a_store_it_stays_and_a_repeat_writes_nothing(memhub):
    first = memhub.json("demo", "--store", "main")
    counts = memhub.json("stats")
    again = memhub.json("demo", "--store", "main")
    assert (first["fresh"], again["fresh"]) == (True, False)
    assert {**first, "fresh": False} == again
    assert memhub.json("stats") == counts
    assert counts["live"] == len(STORY) + 3
    ended = memhub("demo", "--store", "main")
    assert "had heard the story: nothing was written" in ended.err
    assert "It stays in main, scope memhub-demo" in ended.err
    assert memhub.json("purge", "--scope", "memhub-demo") == {"purged": len(STORY) + 4}


def test_another_scope(memhub):
    told = memhub.json("demo", "--store", "main", "--label", "who=pell")
    assert told["scope"] == {"who": "pell"}
    assert [row["scope"] for row in memhub.json("scopes")["scopes"]] == [{"who": "pell"}]


def test_a_story_with_a_part_deleted_is_not_told_half(memhub):
    told = memhub.json("demo", "--store", "main")
    memhub.json("delete", told["corrected"]["new"]["id"])
    ended = memhub("demo", "--store", "main", "--json")
    assert (ended.code, ended.out, ended.error["code"]) == (1, "", "conflict")
    assert "purge the scope, or name another" in ended.error["message"]


def test_any_adapter_of_ours_tells_the_same_story(memhub):
    memhub.configure(ONE + "  other:\n    in_memory: {}\n")
    contents = [
        [answer["hit"]["record"]["content"] for answer in memhub.json("demo", "--store", store)["answers"]]
        for store in ("main", "other")
    ]
    assert contents[0] == contents[1]
    assert json.dumps(contents[0], ensure_ascii=False)
