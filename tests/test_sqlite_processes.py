"""Several processes on one file: nothing lost, no error shown, and none of them waits to read."""

import asyncio
import sqlite3
from contextlib import ExitStack
from pathlib import Path

import pytest

from child_talk import SCOPE
from children import Child, start_together
from memhub import MemoryStore, Query, Unavailable
from memhub_adapters.sqlite import SqliteAdapter
from sqlite_files import assert_sound, fact, stored

PROCESSES = 8
WRITES = 200


def test_eight_processes_write_and_recall_in_one_file_and_all_is_there(tmp_path):
    path = tmp_path / "m.db"
    with ExitStack() as stack:
        children = [
            stack.enter_context(Child("write", path, f"process{n}", WRITES)) for n in range(PROCESSES)
        ]
        start_together(children)
        assert [child.hear() for child in children] == [{"done": f"process{n}"} for n in range(PROCESSES)]
        for child in children:
            child.end()
    assert_sound(path)
    expected = [f"process{n} wrote number {m}" for n in range(PROCESSES) for m in range(WRITES)]
    assert sorted(stored(path)) == sorted(expected)


def test_an_idempotency_key_used_by_several_processes_at_once_gives_one_record(tmp_path):
    path = tmp_path / "m.db"
    for turn in range(5):
        with ExitStack() as stack:
            children = [stack.enter_context(Child("keyed", path, f"key {turn}")) for _ in range(3)]
            start_together(children)
            said = [child.hear() for child in children]
        assert len({one["id"] for one in said}) == 1
        assert sorted(one["replayed"] for one in said) == [False, True, True]
    assert stored(path) == ["said once"] * 5


def test_several_processes_may_make_a_new_file_at_the_same_moment(tmp_path):
    for turn in range(5):
        path = tmp_path / "new" / f"{turn}.db"
        with ExitStack() as stack:
            children = [stack.enter_context(Child("attempt", path)) for _ in range(4)]
            start_together(children)
            for child in children:
                assert child.hear() == {"recall": ["ok", ""], "observe": ["ok", ""]}
                child.end()
        assert stored(path) == ["one more"] * 4


def test_a_write_waits_for_the_lock_of_another_process_and_recall_does_not(tmp_path):
    path = tmp_path / "m.db"

    async def use() -> None:
        async with MemoryStore(SqliteAdapter(path)) as first:
            await first.observe(fact("green tea"))
        async with MemoryStore(SqliteAdapter(path)) as store:
            with Child("hold", path) as holder:
                holder.hear()
                waiting = asyncio.create_task(store.observe(fact("black tea")))
                found = await store.recall(Query(SCOPE, text="tea"))
                assert [hit.record.content for hit in found.hits] == ["green tea"]
                assert (await store.stats()).live == 1
                assert not waiting.done()
                holder.go()
                holder.hear()
                await waiting
                holder.end()
            found = await store.recall(Query(SCOPE, text="tea"))
            assert {hit.record.content for hit in found.hits} == {"green tea", "black tea"}

    asyncio.run(use())


def test_a_write_that_may_not_wait_fails_retryable_and_writes_nothing(tmp_path):
    path = tmp_path / "m.db"

    async def use() -> None:
        async with MemoryStore(SqliteAdapter(path, busy_timeout=0.01)) as store:
            await store.observe(fact("green tea"))
            with Child("hold", path) as holder:
                holder.hear()
                with pytest.raises(Unavailable, match="another process holds the write lock") as refused:
                    await store.observe(fact("black tea"))
                assert refused.value.retryable
                assert refused.value.unapplied
                assert str(path) in str(refused.value)
                holder.go()
                holder.hear()
                holder.end()
            assert (await store.stats()).live == 1
            await store.observe(fact("white tea"))

    asyncio.run(use())
    assert stored(path) == ["green tea", "white tea"]


def change(path: Path, statement: str) -> None:
    db = sqlite3.connect(path, isolation_level=None)
    db.execute(statement)
    db.close()


@pytest.mark.parametrize(
    ("other", "back"),
    [
        ("PRAGMA user_version = 99", "PRAGMA user_version = 1"),
        (
            "UPDATE meta SET value = 'x' || value WHERE name = 'analyzer'",
            "UPDATE meta SET value = substr(value, 2) WHERE name = 'analyzer'",
        ),
    ],
)
def test_a_file_that_another_version_took_over_is_not_written_by_this_one(tmp_path, other, back):
    path = tmp_path / "m.db"

    async def use() -> None:
        async with MemoryStore(SqliteAdapter(path)) as store:
            await store.observe(fact("green tea"))
            change(path, other)
            for _ in range(2):
                with pytest.raises(Unavailable, match=r"m\.db is in use by another version of Memhub"):
                    await store.observe(fact("black tea"))
            change(path, back)
            await store.observe(fact("white tea"))

    asyncio.run(use())
    assert_sound(path)
    assert stored(path) == ["green tea", "white tea"]
