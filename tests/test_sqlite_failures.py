"""When the disk or the file fails: a clear error, nothing half-written, and on it goes."""

import asyncio
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from child_talk import SCOPE
from children import Child
from memhub import Fact, MemoryStore, Observation, Observed, Unavailable
from memhub_adapters.sqlite import SqliteAdapter
from sqlite_files import assert_sound, contents, digest, fact, fill


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "m.db"


# A full disk


def large(name: str) -> Observation:
    """About a megabyte of facts."""
    return Observation(SCOPE, facts=[Fact(f"{name} {n} " + f"word{n} " * 7_000) for n in range(20)])


async def allow(adapter: SqliteAdapter, pages: int) -> None:
    """Let the file of the adapter's writing connection grow so far."""
    await adapter._writer.run(lambda book: book.db.execute(f"PRAGMA max_page_count = {pages}").fetchone())


def test_a_full_file_refuses_writes_whole_and_takes_them_once_there_is_room(path):
    async def use() -> None:
        adapter = SqliteAdapter(path)
        async with MemoryStore(adapter) as store:
            await store.observe(fact("green tea"))
            for _ in range(3):
                await allow(adapter, 40)
                with pytest.raises(
                    Unavailable, match=r"m\.db: the disk is full, so nothing was written"
                ) as full:
                    await store.observe(large("too much"))
                assert not full.value.retryable
                assert full.value.operation == "observe"
                assert await contents(store) == ["green tea"]
            await allow(adapter, 4_000)
            await store.observe(large("enough"))
            assert len(await contents(store)) == 21

    asyncio.run(use())
    assert_sound(path)


def test_of_a_group_that_meets_a_full_file_exactly_what_was_refused_is_missing(path):
    async def use() -> None:
        adapter = SqliteAdapter(path)
        async with MemoryStore(adapter) as store:
            await allow(adapter, 60)
            writes = [
                fact("small 1"),
                large("too much"),
                fact("small 2"),
                large("too large"),
                fact("small 3"),
            ]
            done = await asyncio.gather(*map(store.observe, writes), return_exceptions=True)
            refused = [str(one) for one in done if isinstance(one, BaseException)]
            assert refused
            assert all("the disk is full, so nothing was written" in text for text in refused)
            stored = [record.content for one in done if isinstance(one, Observed) for record in one.records]
            assert await contents(store) == sorted(content[:20] for content in stored)

    asyncio.run(use())
    assert_sound(path)


@pytest.fixture
def small_disk(tmp_path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=3m", "memhub-test", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no file system can be mounted here: {done.stderr.strip()}")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_refuses_writes_whole_and_takes_them_once_there_is_room(small_disk):
    path, ballast = small_disk / "m.db", small_disk / "ballast"

    async def use() -> None:
        async with MemoryStore(SqliteAdapter(path)) as store:
            await store.observe(fact("green tea"))
            ballast.write_bytes(bytes(1_500_000))
            stored = 0
            with pytest.raises(Unavailable, match=r"m\.db: the disk is full"):
                for stored in range(10):
                    await store.observe(large(f"number {stored}"))
            assert len(await contents(store)) == 1 + 20 * stored
            ballast.unlink()
            await store.observe(fact("black tea"))
            assert len(await contents(store)) == 2 + 20 * stored

    asyncio.run(use())
    assert_sound(path)


# A file that cannot be written


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that an unprivileged user may enter, which pytest's own are not."""
    made = Path(tempfile.mkdtemp())
    made.chmod(0o755)
    yield made
    made.chmod(0o755)
    shutil.rmtree(made)


def attempts(path: Path) -> dict[str, list[str]]:
    """What a process without root's rights meets when it recalls, then writes."""
    with Child("unprivileged", path) as child:
        child.hear()
        child.go()
        return child.hear()


def test_a_read_only_file_can_be_recalled_and_says_why_it_is_not_written(folder):
    path = folder / "m.db"
    fill(path, "green tea")
    folder.chmod(0o777)
    path.chmod(0o444)
    before = digest(path)
    said = attempts(path)
    assert said["recall"] == ["ok", ""]
    assert said["observe"][0] == "unavailable"
    assert "m.db: the file, its folder or its disk is read-only for this user" in said["observe"][1]
    assert digest(path) == before


@pytest.mark.parametrize(
    ("mode", "name", "text"),
    [
        (0o555, "m.db", "m.db: the file, its folder or its disk is read-only for this user"),
        (0o555, "new.db", "new.db: the file cannot be opened; check that this user may write"),
        (0o555, "deep/new.db", "deep: Permission denied"),
        (0o700, "m.db", "m.db-wal: Permission denied"),
        (0o777, "m.db/", "m.db: the file cannot be opened; check that this user may write"),
    ],
)
def test_a_folder_without_permission_names_the_path_and_the_remedy(folder, mode, name, text):
    fill(folder / "m.db", "green tea")
    before = digest(folder / "m.db")
    if name.endswith("/"):
        (folder / "m.db").chmod(0o600)
    folder.chmod(mode)
    for code, said in attempts(folder / name).values():
        assert code == "unavailable"
        assert text in said
    folder.chmod(0o755)
    assert digest(folder / "m.db") == before
