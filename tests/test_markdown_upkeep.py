"""Looking after a tree: strangers, files that cannot be opened, an index that is not true to the files."""

import asyncio
import os

import pytest

from markdown_notes import HOME, Notes, contents, keep
from memhub import Fact, Observation, Scope, Unsupported


@pytest.fixture
def notes(tmp_path):
    return Notes(tmp_path / "notes")


def test_check_names_strangers_in_the_tree(notes):
    async def go():
        notes.write("Work/a.md", "x")
        notes.write("README.md", "x")
        async with notes.open() as store:
            await keep(store, "tea")
            notes.write(os.fsdecode(b"home/\xff.md"), "x")
            lines = await store.upkeep().check()
            assert [line.partition(":")[0] for line in lines] == ["README.md", "Work/", "home/\ufffd.md"]
            assert await contents(store) == ["tea"]

    asyncio.run(go())


def test_a_deep_check_finds_an_index_that_is_not_true_to_the_files(notes):
    async def go():
        async with notes.open() as store:
            await keep(store, "tea")
            for sql in ("UPDATE file SET digest = x'00', seen = seen + 9000000000", "DELETE FROM fresh"):
                await store._adapter._access._writer.run(lambda book, sql=sql: book.db.execute(sql))
            assert await store.upkeep().check() == []
            lines = await store.upkeep().check(deep=True)
            assert any("postings of block 0 differ from its records" in line for line in lines)
            assert lines[-1].endswith("is not what the index holds of it; run `memhub reindex`")
            assert await store.upkeep().reindex() == 1
            assert await store.upkeep().check(deep=True) == []

    asyncio.run(go())


def test_a_file_that_may_not_be_read_is_reported_until_it_may(notes, monkeypatch):
    async def go():
        path = os.fsencode(notes.write("home/private.md", "tea"))
        opened = os.open

        def guarded(name, *rest, **options):
            if name == path:
                raise PermissionError(13, "Permission denied", name)
            return opened(name, *rest, **options)

        async with notes.open() as store:
            with monkeypatch.context() as patch:
                patch.setattr(os, "open", guarded)
                await keep(store, "coffee")
                assert await contents(store) == ["coffee"]
                assert await store.upkeep().check() == [
                    "home/private.md:1: cannot be read: Permission denied"
                ]
            assert await store.upkeep().check() == []
            assert await contents(store) == ["coffee", "tea"]

    asyncio.run(go())


def test_a_file_that_may_not_be_read_does_not_hold_up_the_others_while_it_is_new(notes, monkeypatch):
    async def go():
        path = notes.write("away/private.md", "tea")
        named, opened, saved = os.fsencode(path), os.open, path.stat().st_mtime_ns

        def guarded(name, *rest, **options):
            if name == named:
                raise PermissionError(13, "Permission denied", name)
            return opened(name, *rest, **options)

        async with notes.open(now=lambda: saved + 1) as store:
            with monkeypatch.context() as patch:
                patch.setattr(os, "open", guarded)
                record = await keep(store, "coffee")
                await store.delete(record.id)
                assert await contents(store) == []
            assert await contents(store, Scope("away")) == ["tea"]

    asyncio.run(go())


@pytest.mark.parametrize("verb", ["backup", "restore_backup"])
def test_backups_are_left_to_what_copies_folders(notes, verb):
    async def go():
        async with notes.open() as store:
            with pytest.raises(Unsupported, match=r"copy the folder, or use `memhub export`"):
                await getattr(store.upkeep(), verb)(notes.root)

    asyncio.run(go())


def test_purge_takes_files_with_faults_too(notes):
    async def go():
        notes.write("home/bad.md", "---\nx: [\n---\nsecret\n")
        async with notes.open() as store:
            await store.observe(Observation(HOME, facts=[Fact("tea")]))
            assert await store.purge(HOME) == 1
            assert not (notes.root / "home").exists()
            assert await store.upkeep().check() == []

    asyncio.run(go())
