"""Deleted text leaves file and log, at the latest once nobody reads an older snapshot."""

import asyncio

import pytest

from child_talk import SCOPE
from children import Child, traces
from memhub import MemoryStore, Patch
from memhub_adapters.sqlite import SqliteAdapter
from sqlite_files import assert_sound, contents, fact

WORD = "zanzibar"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "m.db"


@pytest.mark.parametrize("how", ["delete", "purge", "update"])
def test_forgotten_text_is_gone_from_file_and_log_when_the_call_returns(path, how):
    async def use() -> None:
        async with MemoryStore(SqliteAdapter(path)) as store:
            await store.observe(fact("green tea"))
            record = (await store.observe(fact(f"remember {WORD}"))).records[0]
            assert traces(path, WORD)
            if how == "update":
                await store.update(record.id, Patch(content="remember something else"))
                record = (await store.observe(fact("black tea"))).records[0]
            if how == "purge":
                assert await store.purge(SCOPE) == 2
            else:
                await store.delete(record.id)
            assert not (await store.stats()).erasure_pending
            assert traces(path, WORD) == []

    asyncio.run(use())


def test_what_a_reader_holds_back_is_said_and_goes_with_the_write_after_its_end(path):
    async def use() -> None:
        async with MemoryStore(SqliteAdapter(path)) as store:
            record = (await store.observe(fact(f"remember {WORD}"))).records[0]
            with Child("read", path) as reader:
                reader.hear()
                await store.delete(record.id)
                for number in range(50):
                    await store.observe(fact(f"tea number {number} " + "word " * 2_000))
                assert (await store.stats()).erasure_pending
                assert len(await contents(store)) == 50
                assert traces(path, WORD)
                reader.go()
                reader.hear()
                reader.end()
            grown = (await store.stats()).bytes
            await store.observe(fact("one more"))
            stats = await store.stats()
            assert not stats.erasure_pending
            assert stats.bytes < grown
            assert traces(path, WORD) == []

    asyncio.run(use())
    assert_sound(path)


def test_what_a_killed_process_left_in_the_log_goes_with_the_next_write_of_another(path):
    async def use() -> None:
        async with MemoryStore(SqliteAdapter(path)) as store:
            await store.observe(fact("green tea"))
        with Child("read", path) as reader:
            reader.hear()
            with Child("forget", path, WORD) as other:
                assert other.hear() == {"pending": True}
                other.process.kill()
            reader.process.kill()
        assert traces(path, WORD)
        # While anybody has the file open, no close empties the log in passing.
        with Child("connect", path) as idle:
            idle.hear()
            async with MemoryStore(SqliteAdapter(path)) as store:
                await contents(store)
                assert traces(path, WORD)
                await store.observe(fact("black tea"))
                assert not (await store.stats()).erasure_pending
                assert traces(path, WORD) == []

    asyncio.run(use())
    assert_sound(path)
