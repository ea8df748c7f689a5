"""A file that goes away under a running store: missed at once, never replaced by an empty one."""

import asyncio
import os
import shutil
import sqlite3
import threading

import pytest

from child_talk import SCOPE
from children import Child
from memhub import InvalidConfig, MemoryStore, Unavailable
from memhub_adapters.sqlite import SqliteAdapter
from sqlite_files import assert_sound, contents, digest, fact, fill, stored


@pytest.fixture
def path(tmp_path):
    return tmp_path / "m.db"


def test_a_file_taken_away_is_missed_at_once_and_works_again_when_put_back(path, tmp_path):
    async def use() -> None:
        async with MemoryStore(SqliteAdapter(path)) as store:
            await store.observe(fact("green tea"))
            assert await contents(store) == ["green tea"]
            path.rename(tmp_path / "away.db")
            for _ in range(3):
                for call in (lambda: store.observe(fact("black tea")), lambda: contents(store), store.stats):
                    with pytest.raises(
                        Unavailable, match=r"m\.db was removed, emptied or replaced while in use"
                    ):
                        await call()
            assert not path.exists()
            (tmp_path / "away.db").rename(path)
            assert await contents(store) == ["green tea"]
            await store.observe(fact("white tea"))

    asyncio.run(use())
    assert_sound(path)
    assert stored(path) == ["green tea", "white tea"]


def test_a_write_that_went_with_its_file_is_not_acknowledged(path, tmp_path, monkeypatch):
    async def use() -> None:
        adapter = SqliteAdapter(path)
        async with MemoryStore(adapter) as store:
            green = (await store.observe(fact("green tea"))).records[0]
            passed = seen_by_check(adapter, monkeypatch)
            with Child("hold", path) as holder:
                holder.hear()
                calls = [store.observe(fact("black tea")), store.delete(green.id), store.purge(SCOPE)]
                writing = asyncio.gather(*calls, return_exceptions=True)
                await asyncio.to_thread(passed.wait)
                path.rename(tmp_path / "away.db")
                holder.go()
                holder.hear()
                refused = await writing
                holder.end()
            assert [error.operation for error in refused] == ["observe", "delete", "purge"]
            assert all("what was just written went with it" in str(error) for error in refused)
            assert not any(error.unapplied for error in refused)

    asyncio.run(use())
    assert not path.exists()


def seen_by_check(adapter, monkeypatch) -> threading.Event:
    """Set once a write has found its file in place and goes on to wait for the lock."""
    passed, check = threading.Event(), adapter._file.check

    def checked(db, **options):
        check(db, **options)
        passed.set()

    monkeypatch.setattr(adapter._file, "check", checked)
    return passed


def test_a_file_that_comes_back_is_verified_anew(path, tmp_path):
    other = sqlite3.connect(tmp_path / "other.db")
    other.execute("CREATE TABLE song(title TEXT)")
    other.close()

    async def use() -> None:
        async with MemoryStore(SqliteAdapter(path)) as store:
            await store.observe(fact("green tea"))
            for file in list(tmp_path.glob("m.db*")):
                file.rename(tmp_path / f"away-{file.name}")
            with pytest.raises(Unavailable, match="was removed"):
                await store.observe(fact("black tea"))
            # The same inode, so that only its contents tell what came back.
            (tmp_path / "away-m.db").write_bytes((tmp_path / "other.db").read_bytes())
            (tmp_path / "away-m.db").rename(path)
            with pytest.raises(InvalidConfig, match="of another program"):
                await store.observe(fact("black tea"))

    asyncio.run(use())


def test_a_store_that_was_deleted_is_never_replaced_by_an_empty_one(path, tmp_path):
    async def use() -> None:
        async with MemoryStore(SqliteAdapter(path)) as store:
            await store.observe(fact("green tea"))
            for file in tmp_path.iterdir():
                file.unlink()
            for call in (lambda: store.observe(fact("black tea")), lambda: contents(store), store.ping):
                with pytest.raises(Unavailable, match="was removed"):
                    await call()
        assert list(tmp_path.iterdir()) == []

    asyncio.run(use())


def test_a_removed_folder_is_not_made_again_under_a_running_store(tmp_path):
    path = tmp_path / "data" / "m.db"

    async def use() -> None:
        async with MemoryStore(SqliteAdapter(path)) as store:
            await store.observe(fact("green tea"))
            shutil.rmtree(path.parent)
            with pytest.raises(Unavailable, match="was removed"):
                await store.observe(fact("black tea"))

    asyncio.run(use())
    assert not path.parent.exists()


def test_a_backup_put_in_its_place_is_used_by_every_connection(path, tmp_path):
    fill(tmp_path / "backup.db", "old tea")

    async def use() -> None:
        async with MemoryStore(SqliteAdapter(path)) as store:
            await store.observe(fact("green tea"))
            assert await contents(store) == ["green tea"]
            for file in (path, tmp_path / "m.db-wal", tmp_path / "m.db-shm"):
                file.rename(tmp_path / f"away-{file.name}")
            (tmp_path / "backup.db").rename(path)
            # The reader meets the new file first; the writer must not go on with the old one.
            with pytest.raises(Unavailable, match="replaced"):
                await contents(store)
            assert await contents(store) == ["old tea"]
            with pytest.raises(Unavailable, match="replaced"):
                await store.observe(fact("lost tea"))
            await store.observe(fact("new tea"))
            assert await contents(store) == ["new tea", "old tea"]

    asyncio.run(use())
    assert_sound(path)
    assert stored(path) == ["old tea", "new tea"]
    (tmp_path / "away-m.db").rename(tmp_path / "first.db")
    (tmp_path / "away-m.db-wal").rename(tmp_path / "first.db-wal")
    assert stored(tmp_path / "first.db") == ["green tea"]


def test_a_backup_is_not_mixed_with_the_log_of_the_file_that_it_replaces(path, tmp_path):
    fill(tmp_path / "backup.db", "old tea")

    async def use() -> None:
        async with MemoryStore(SqliteAdapter(path)) as store:
            await store.observe(fact("green tea"))
            path.rename(tmp_path / "away.db")
            (tmp_path / "backup.db").rename(path)
            for _ in range(2):
                with pytest.raises(Unavailable, match="replaced"):
                    await store.observe(fact("lost tea"))
            with pytest.raises(Unavailable, match=r"m\.db-wal.* still lie beside it; move them away"):
                await contents(store)
            for name in ("m.db-wal", "m.db-shm"):
                (tmp_path / name).unlink()
            assert await contents(store) == ["old tea"]

    asyncio.run(use())
    assert_sound(path)


def test_a_file_emptied_under_us_is_missed(path):
    async def use() -> None:
        async with MemoryStore(SqliteAdapter(path)) as store:
            await store.observe(fact("green tea"))
            os.truncate(path, 0)
            for call in (lambda: store.observe(fact("black tea")), lambda: contents(store)):
                with pytest.raises(Unavailable, match="emptied"):
                    await call()

    asyncio.run(use())


def test_a_log_without_its_file_is_not_thrown_away(path, tmp_path):
    fill(path, "green tea")
    with Child("read", path) as reader:
        reader.hear()
        fill(path, "black tea")
        reader.process.kill()
    log = digest(tmp_path / "m.db-wal")
    path.rename(tmp_path / "away.db")

    async def use() -> None:
        async with MemoryStore(SqliteAdapter(path)) as store:
            with pytest.raises(Unavailable, match=r"m\.db is missing, yet its log .*m\.db-wal is there"):
                await contents(store)
            assert digest(tmp_path / "m.db-wal") == log
            (tmp_path / "away.db").rename(path)
            assert await contents(store) == ["black tea", "green tea"]

    asyncio.run(use())
    assert_sound(path)
