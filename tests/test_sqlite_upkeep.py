"""Backup while others write, restore, checks and reindexing of a SQLite store."""

from __future__ import annotations

import asyncio
import random
import sqlite3

import pytest

from memhub import (
    Fact,
    InvalidConfig,
    InvalidInput,
    MemoryStore,
    Observation,
    Query,
    Scope,
    Unavailable,
    Unsupported,
)
from memhub_adapters.in_memory import InMemoryAdapter
from memhub_adapters.sqlite import SqliteAdapter

PLACE = Scope("place")
WORDS = [f"word{number}" for number in range(2000)]


def opened(path) -> MemoryStore:
    return MemoryStore(SqliteAdapter(path))


async def write(store: MemoryStore, *texts: str) -> None:
    await store.observe(Observation(PLACE, facts=[Fact(text) for text in texts]))


async def texts(store: MemoryStore) -> list[str]:
    return sorted(hit.record.content for hit in (await store.recall(Query(PLACE, limit=1000))).hits)


def test_a_backup_holds_one_moment_while_others_write(tmp_path):
    async def go() -> None:
        seen: list[tuple[int, int]] = []
        async with opened(tmp_path / "live.db") as store:
            await write(store, *(f"memory {n} of the tide" for n in range(500)))
            writing = asyncio.gather(*(write(store, f"pair {n} a", f"pair {n} b") for n in range(50)))
            await store.upkeep().backup(tmp_path / "copy.db", progress=lambda *step: seen.append(step))
            await writing
            live = await texts(store)
        async with opened(tmp_path / "copy.db") as copy:
            held = await texts(copy)
            assert await copy.upkeep().check(deep=True) == []
        assert set(held) <= set(live)
        assert sum(text.startswith("memory") for text in held) == 500
        assert sum(text.endswith(" a") for text in held) == sum(text.endswith(" b") for text in held)
        assert seen[-1][0] == seen[-1][1] > 0

    asyncio.run(go())
    assert sorted(file.name for file in tmp_path.iterdir() if "partial" in file.name) == []


def test_a_backup_never_overwrites(tmp_path):
    (tmp_path / "copy.db").write_bytes(b"mine")

    async def go() -> None:
        async with opened(tmp_path / "live.db") as store:
            with pytest.raises(InvalidInput, match="exists already"):
                await store.upkeep().backup(tmp_path / "copy.db")

    asyncio.run(go())
    assert (tmp_path / "copy.db").read_bytes() == b"mine"


def test_a_restore_replaces_what_every_open_store_sees(tmp_path):
    async def go() -> None:
        async with opened(tmp_path / "live.db") as store, opened(tmp_path / "live.db") as other:
            await write(store, "before")
            await store.upkeep().backup(tmp_path / "copy.db")
            await write(store, "after")
            assert await texts(other) == ["after", "before"]
            await store.upkeep().restore_backup(tmp_path / "copy.db")
            assert await texts(store) == await texts(other) == ["before"]
            await write(other, "later")
            assert await texts(store) == ["before", "later"]
            assert await store.upkeep().check(deep=True) == []

    asyncio.run(go())


@pytest.mark.parametrize("kind", ["missing", "foreign", "text", "damaged", "index"])
def test_a_restore_from_anything_but_a_sound_backup_changes_nothing(tmp_path, kind):
    async def go() -> None:
        async with opened(tmp_path / "live.db") as store:
            await write(store, *(f"memory {n} of the tide" for n in range(200)))
            await store.upkeep().backup(tmp_path / "copy.db")
            spoil(tmp_path / "copy.db", kind)
            held = await texts(store)
            with pytest.raises((InvalidInput, InvalidConfig, Unavailable)) as refused:
                await store.upkeep().restore_backup(tmp_path / "copy.db")
            assert "copy.db" in str(refused.value)
            assert await texts(store) == held

    asyncio.run(go())


def spoil(path, kind: str) -> None:
    if kind == "missing":
        path.unlink()
    elif kind == "text":
        path.write_text("this is no database, whatever its name says" * 100, encoding="utf-8")
    elif kind == "damaged":
        whole = bytearray(path.read_bytes())
        for at in range(8192, len(whole), 4096):
            whole[at : at + 64] = b"\xff" * 64
        path.write_bytes(bytes(whole))
    elif kind == "foreign":
        path.unlink()
        with sqlite3.connect(path) as db:
            db.execute("CREATE TABLE theirs(x)")
        db.close()
    else:
        with sqlite3.connect(path) as db:
            db.execute("DELETE FROM posting WHERE term = 'tide'")
        db.close()


def test_a_check_names_what_is_wrong_and_a_reindex_mends_the_index(tmp_path):
    async def go() -> None:
        async with opened(tmp_path / "live.db") as store:
            await write(store, *(f"memory {n} of the tide" for n in range(200)))
            spoil(tmp_path / "live.db", "index")
            assert await store.upkeep().check() == []
            assert await store.upkeep().check(deep=True) != []
            assert (await store.recall(Query(PLACE, text="tide"))).hits == ()
            assert await store.upkeep().reindex() == 200
            assert await store.upkeep().check(deep=True) == []
            assert len((await store.recall(Query(PLACE, text="tide"))).hits) == 10

    asyncio.run(go())


def test_an_index_of_another_analyzer_is_rebuilt_when_the_file_is_opened(tmp_path):
    async def go() -> None:
        async with opened(tmp_path / "live.db") as store:
            await write(store, "the tide is high")
        with sqlite3.connect(tmp_path / "live.db") as db:
            db.execute("UPDATE meta SET value = 'older' WHERE name = 'analyzer'")
            db.execute("DELETE FROM fresh")
        db.close()
        async with opened(tmp_path / "live.db") as store:
            assert len((await store.recall(Query(PLACE, text="tide"))).hits) == 1

    asyncio.run(go())


def test_a_store_without_files_says_so():
    async def go() -> None:
        async with MemoryStore(InMemoryAdapter()) as store:
            with pytest.raises(Unsupported, match="no files of its own"):
                store.upkeep()

    asyncio.run(go())


def test_compacting_clears_the_unused_space_and_frees_it(tmp_path):
    """Page splits leave copies of cells in the unused space of pages; interleaved deletes make some stay."""

    async def go() -> int:
        chance = random.Random(1)
        async with MemoryStore(SqliteAdapter(tmp_path / "m.db", durability="normal")) as store:
            kept, gone = [], set()
            for number in range(1000):
                text = f"secret{number:06d} " + " ".join(chance.choices(WORDS, k=chance.randrange(40)))
                scope = Scope(f"user{chance.randrange(20)}")
                done = await store.observe(Observation(scope, facts=[Fact(text)]))
                kept.append((done.records[0].id, text[:12].encode()))
                if chance.random() < 0.4:
                    id, name = kept.pop(chance.randrange(len(kept)))
                    await store.delete(id)
                    gone.add(name)
            before = (tmp_path / "m.db").stat().st_size
            await store.upkeep().compact()
            assert await store.upkeep().check(deep=True) == []
            held = (tmp_path / "m.db").read_bytes()
            assert [name for name in gone if name in held] == []
            assert all(name in held for _, name in kept)
            assert (await store.stats()).live == len(kept)
            return before - len(held)

    assert asyncio.run(go()) >= 0
