"""A file that is not ours, or not whole: a clear error, and it stays as it is."""

import asyncio
import os
import re
import sqlite3
import tempfile
import traceback
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from child_talk import SCOPE
from children import Child
from memhub import HubError, InvalidConfig, MemoryStore, Query, Unavailable
from memhub_adapters.sqlite import SqliteAdapter
from sqlite_files import contents, digest, fact, fill


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "m.db"


def foreign(path: Path) -> None:
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE song(title TEXT)")
    db.commit()
    db.close()


def newer(path: Path) -> None:
    fill(path, "green tea")
    db = sqlite3.connect(path)
    db.execute("PRAGMA user_version = 99")
    db.close()


def emptied(path: Path) -> None:
    fill(path, "green tea")
    db = sqlite3.connect(path)
    for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        db.execute(f"DROP TABLE {name}")
    db.close()


@cache
def whole() -> bytes:
    """A sound file, most of it text."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "m.db")
        fill(path, *(f"jasmine tea number {n}, " * 20 for n in range(100)))
        return path.read_bytes()


def text(path: Path) -> None:
    path.write_text("# Notes\n" + "Prefers jasmine tea.\n" * 500)


def truncated(path: Path) -> None:
    fill(path, *(f"tea number {n}" for n in range(50)))
    os.truncate(path, path.stat().st_size // 2)


@pytest.mark.parametrize(
    ("make", "kind", "said"),
    [
        (foreign, InvalidConfig, "m.db is a SQLite file of another program; choose another path"),
        (newer, InvalidConfig, "m.db has schema version 99, newer than 1; use a newer Memhub"),
        (emptied, Unavailable, "m.db is damaged: its tables are missing; restore it from a backup"),
        (text, Unavailable, "m.db: this is no SQLite file, or a damaged one; choose another path"),
        (truncated, Unavailable, "m.db: the file is damaged; run `memhub check --deep`, or restore a backup"),
    ],
)
def test_a_file_that_is_not_ours_or_not_whole_is_refused_and_stays_as_it_is(path, make, kind, said):
    make(path)
    before = digest(path)

    async def use() -> None:
        adapter = SqliteAdapter(path)
        with pytest.raises(kind, match=re.escape(said)):
            await adapter.open()
        async with MemoryStore(adapter) as store:
            for call in (lambda: store.observe(fact("black tea")), lambda: contents(store)):
                with pytest.raises(kind, match=re.escape(said)):
                    await call()

    asyncio.run(use())
    assert digest(path) == before
    assert [file.name for file in path.parent.iterdir()] == ["m.db"]


def test_the_log_that_another_program_left_is_not_written_into_its_file(path, tmp_path):
    foreign(path)
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA journal_mode = WAL")
    db.close()
    with Child("hold", path) as other:
        other.hear()
        other.process.kill()
    with Child("scribble", path) as other:
        other.hear()
        other.process.kill()
    before = digest(path), digest(tmp_path / "m.db-wal")

    async def use() -> None:
        with pytest.raises(InvalidConfig, match="of another program"):
            await SqliteAdapter(path).open()

    asyncio.run(use())
    assert (digest(path), digest(tmp_path / "m.db-wal")) == before


@pytest.mark.parametrize(
    "damage",
    [
        "content = CAST(content AS BLOB)",
        "content = CAST(x'fe' || content AS TEXT)",
        "tags = '[jasmine'",
        "kind = 7",
        "created_at = 1 << 62",
        "id = 7",
    ],
)
def test_a_row_that_is_no_record_any_more_is_damage_and_not_quoted(path, damage):
    fill(path, "jasmine tea")
    db = sqlite3.connect(path)
    db.execute(f"UPDATE record SET {damage}")
    db.commit()
    db.close()

    async def use() -> None:
        async with MemoryStore(SqliteAdapter(path)) as store:
            with pytest.raises(
                Unavailable, match=r"m\.db: the file is damaged; run `memhub check"
            ) as refused:
                await contents(store)
            assert "jasmine" not in quoted(refused.value)

    asyncio.run(use())


@settings(max_examples=100)
@given(st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(1, 255)), min_size=1, max_size=30))
def test_flipped_bytes_give_what_is_left_or_an_error_that_quotes_none_of_it(flips):
    data = bytearray(whole())
    for place, bits in flips:
        data[int(place * len(data))] ^= bits

    async def use(path: Path) -> None:
        async with MemoryStore(SqliteAdapter(path)) as store:
            for call in (
                lambda: contents(store),
                lambda: store.recall(Query(SCOPE, text="jasmine")),
                lambda: store.observe(fact("black tea")),
            ):
                try:
                    await call()
                except (Unavailable, InvalidConfig) as error:
                    assert "jasmine" not in quoted(error)

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "m.db")
        path.write_bytes(data)
        asyncio.run(use(path))


def quoted(error: HubError) -> str:
    """All that a log could show of an error."""
    return "".join(traceback.format_exception(error))
