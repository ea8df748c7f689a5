"""When the disk, the index or the journal fails: a clear error, nothing half-written, and on it goes."""

import asyncio
import errno
import json
import os
import shutil
import sqlite3

import pytest

from markdown_notes import HOME, Notes, contents, keep, listed
from memhub import Fact, Observation, Patch, Query, Scope, Unavailable


@pytest.fixture
def notes(tmp_path):
    return Notes(tmp_path / "notes")


def failing(monkeypatch, name: str, at: int, code: int = errno.ENOSPC) -> None:
    """Let the call of this number to a function of `os` fail."""
    work, calls = getattr(os, name), iter(range(1, 1_000_000))

    def call(*args, **options):
        if next(calls) == at:
            named = args[0] if isinstance(args[0], bytes) else None
            raise OSError(code, os.strerror(code), named)
        return work(*args, **options)

    monkeypatch.setattr(os, name, call)


def observation(*texts: str, **fields) -> Observation:
    return Observation(HOME, facts=[Fact(text) for text in texts], **fields)


@pytest.mark.parametrize(
    ("name", "at"), [("fsync", 1), ("fsync", 3), ("fsync", 5), ("mkdir", 1), ("replace", 1)]
)
def test_a_disk_that_fails_before_all_is_agreed_changes_nothing(notes, monkeypatch, name, at):
    async def go():
        async with notes.open() as store:
            await keep(store, "elsewhere", Scope("away"))
            with monkeypatch.context() as patch:
                failing(patch, name, at)
                with pytest.raises(Unavailable, match="No space left on device") as failed:
                    await store.observe(observation("one", "two", "three"))
                assert not failed.value.retryable
            assert notes.files() != []
            assert await contents(store) == []
            assert sorted(path.name for path in notes.root.iterdir()) == [".memhub", "away"]
            await store.observe(observation("one", "two", "three"))
            assert await contents(store) == ["one", "three", "two"]
            assert await store.upkeep().check(deep=True) == []

    asyncio.run(go())


@pytest.mark.parametrize(("name", "at"), [("replace", 2), ("replace", 3), ("replace", 4), ("unlink", 1)])
def test_what_is_agreed_and_fails_half_way_is_finished_by_the_next_call(notes, monkeypatch, name, at):
    async def go():
        async with notes.open() as store, notes.open() as other:
            await keep(store, "zero")
            assert await contents(other) == ["zero"]
            with monkeypatch.context() as patch:
                failing(patch, name, at, errno.EACCES)
                with pytest.raises(Unavailable, match="the next call finishes this one"):
                    await store.observe(observation("one", "two", "three", idempotency_key="k"))
            assert await contents(other) in (["zero"], ["one", "three", "two", "zero"])
            again = await store.observe(observation("one", "two", "three", idempotency_key="k"))
            assert again.replayed
            assert len(again.records) == 3
            assert await contents(store) == await contents(other) == ["one", "three", "two", "zero"]
            assert await store.upkeep().check(deep=True) == []

    asyncio.run(go())


def test_a_supersede_across_two_files_is_finished_whole(notes, monkeypatch):
    async def go():
        async with notes.open() as store, notes.open() as other:
            tea = await keep(store, "tea")
            with monkeypatch.context() as patch:
                failing(patch, "replace", 3, errno.EACCES)
                with pytest.raises(Unavailable):
                    await keep(store, "coffee", supersedes=tea.id)
            assert await contents(other) == ["coffee"]
            old, new = sorted(
                await listed(other, include_invalidated=True), key=lambda r: r.content == "coffee"
            )
            assert (old.superseded_by, new.supersedes) == (new.id, old.id)

    asyncio.run(go())


def test_a_damaged_journal_is_named_with_its_remedy(notes):
    async def go():
        async with notes.open() as store:
            await keep(store, "tea")
            path = notes.root / ".memhub/journal/list.json"
            path.write_text("{", encoding="utf-8")
            with pytest.raises(Unavailable, match=r"list\.json is damaged.* move this file away"):
                await keep(store, "coffee")
            path.unlink()
            await keep(store, "coffee")
            assert await contents(store) == ["coffee", "tea"]

    asyncio.run(go())


@pytest.mark.parametrize(
    "found",
    [
        {"puts": [[".memhub/journal/0.new", "../outside.md"]], "removes": []},
        {"puts": [["../outside.md", "home/in.md"]], "removes": []},
        {"puts": [], "removes": ["../outside.md"]},
        {"puts": [], "removes": ["home/../../outside.md"]},
        {"puts": [], "removes": ["/outside.md"]},
        {"puts": [], "removes": [5]},
        {"puts": [["one"]], "removes": []},
    ],
)
def test_a_journal_that_leads_out_of_the_root_is_not_followed(notes, found):
    async def go():
        outside = notes.root.parent / "outside.md"
        outside.write_text("mine", encoding="utf-8")
        async with notes.open() as store:
            await keep(store, "tea")
        notes.write(".memhub/journal/0.new", "theirs")
        notes.write(".memhub/journal/list.json", json.dumps(found))
        async with notes.open() as store:
            with pytest.raises(Unavailable, match=r"list\.json is damaged"):
                await contents(store)
        assert outside.read_text(encoding="utf-8") == "mine"
        assert not (notes.root / "home/in.md").exists()

    asyncio.run(go())


@pytest.mark.parametrize("link", ["home", ".memhub/journal", ".memhub"])
def test_a_journal_does_not_reach_through_links(notes, link):
    async def go():
        async with notes.open() as store:
            await keep(store, "tea", Scope("away"))
        there = notes.root.parent / "there"
        (there / "journal").mkdir(parents=True)
        kept = [there / "mine.md", there / "journal/mine.md"]
        for path in kept:
            path.write_text("mine", encoding="utf-8")
        if link == "home":
            found = {"puts": [], "removes": ["home/mine.md"]}
            notes.write(".memhub/journal/list.json", json.dumps(found))
        else:
            shutil.rmtree(notes.root / link)
        (notes.root / link).symlink_to(there)
        async with notes.open() as store:
            with pytest.raises(Unavailable, match="is, or lies behind, a link"):
                await keep(store, "coffee", Scope("away"))
        assert all(path.read_text(encoding="utf-8") == "mine" for path in kept)

    asyncio.run(go())


def test_a_folder_that_takes_no_change_holds_up_its_own_scope_alone(notes, monkeypatch):
    async def go():
        async with notes.open() as store:
            await store.observe(observation("one", "two"))
            home, access = os.fsencode(notes.root / "home"), os.access
            with monkeypatch.context() as patch:
                patch.setattr(os, "access", lambda path, mode: path != home and access(path, mode))
                with pytest.raises(Unavailable, match=r"home: is not writable by this user"):
                    await store.purge(HOME)
                await keep(store, "tea", Scope("away"))
                assert await contents(store) == ["one", "two"]
            assert await store.purge(HOME) == 2

    asyncio.run(go())


def test_an_index_whose_log_was_removed_in_use_is_made_anew(notes):
    async def go():
        async with notes.open() as store:
            await store.observe(observation(*(f"tea number {n}" for n in range(200))))
            (notes.root / ".memhub/index.db-wal").unlink()
            assert len(await listed(store)) == 200
            await keep(store, "coffee")
            assert len(await contents(store)) == 201
            assert await store.upkeep().check(deep=True) == []

    asyncio.run(go())


def test_an_interrupted_write_is_told_by_check(notes):
    async def go():
        async with notes.open() as store:
            record = await keep(store, "tea")
            journal = notes.root / ".memhub/journal"
            data = notes.file().read_bytes().replace(b"\ntea", b"\ngreen tea")
            (journal / "0.new").write_bytes(data)
            move = [".memhub/journal/0.new", str(notes.file().relative_to(notes.root))]
            (journal / "list.json").write_text(json.dumps({"puts": [move], "removes": []}), encoding="utf-8")
            assert await store.upkeep().check() == ["a write was interrupted; it has been finished now"]
            assert (await store.get(record.id)).content == "green tea"
            assert await store.upkeep().check() == []

    asyncio.run(go())


def spoil(path, how: str) -> None:
    if how == "garbage":
        path.write_bytes(b"this is no database" * 1_000)
    elif how == "pages":
        whole = bytearray(path.read_bytes())
        for at in range(4096, len(whole), 4096):
            whole[at : at + 256] = b"\xff" * 256
        path.write_bytes(bytes(whole))
    elif how == "foreign":
        path.unlink()
        with sqlite3.connect(path) as db:
            db.execute("CREATE TABLE theirs(x)")
        db.close()
    elif how == "tables":
        with sqlite3.connect(path) as db:
            db.execute("DROP TABLE file")
        db.close()
    elif how == "format":
        with sqlite3.connect(path) as db:
            db.execute("UPDATE meta SET value = 99 WHERE name = 'markdown'")
        db.close()
    elif how == "empty":
        path.write_bytes(b"")
    else:
        path.unlink()


@pytest.mark.parametrize("how", ["garbage", "pages", "foreign", "tables", "format", "empty", "missing"])
@pytest.mark.parametrize("in_use", [False, True])
def test_an_index_of_no_use_is_made_anew(notes, how, in_use):
    async def go():
        index = notes.root / ".memhub/index.db"
        async with notes.open() as store:
            records = [await keep(store, f"tea number {n}") for n in range(60)]
            await store.update(records[0].id, Patch(tags=["first"]))
            expected = await listed(store)
        if not in_use:
            spoil(index, how)
        async with notes.open() as store:
            if in_use:
                assert await listed(store) == expected
                with sqlite3.connect(index) as db:
                    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                db.close()
                spoil(index, how)
            assert await listed(store) == expected
            assert len((await store.recall(Query(HOME, text="tea", limit=100))).hits) == 60
            await keep(store, "one more")
            assert len(await contents(store)) == 61
            assert await store.upkeep().check(deep=True) == []

    asyncio.run(go())


def test_a_write_whose_index_cannot_be_committed_is_done_all_the_same(notes):
    async def go():
        async with notes.open() as store, notes.open() as other:
            await keep(store, "zero")
            await other.observe(observation("first", idempotency_key="first"))
            index = sqlite3.connect(notes.root / ".memhub/index.db", isolation_level=None)
            index.execute(
                "CREATE TRIGGER fault BEFORE INSERT ON file WHEN new.seen > 0 "
                "BEGIN SELECT RAISE(ABORT, 'no room'); END"
            )
            said = await store.observe(observation("one", "two", idempotency_key="k"))
            assert len(notes.files()) == 4
            index.execute("DROP TRIGGER fault")
            index.close()
            again = await other.observe(observation("one", "two", idempotency_key="k"))
            assert (again.replayed, again.records) == (True, said.records)
            assert await store.get([record.id for record in said.records]) == list(said.records)
            assert await contents(store) == ["first", "one", "two", "zero"]
            assert await store.upkeep().check(deep=True) == []
            assert (notes.root / ".memhub/lock").stat().st_size == 0

    asyncio.run(go())


def test_a_file_edited_while_it_is_about_to_be_rewritten_is_not_overwritten(notes, monkeypatch):
    async def go():
        async with notes.open() as store:
            record = await keep(store, "jasmine tea", tags=["old"])
            path = notes.file()
            fsync, edits = os.fsync, iter([True])

            def edit_first(handle):
                if next(edits, False):
                    notes.edit(path, "jasmine", "oolong")
                return fsync(handle)

            monkeypatch.setattr(os, "fsync", edit_first)
            updated = await store.update(record.id, Patch(tags=["new"]))
            assert (updated.content, updated.tags) == ("oolong tea", ("new",))
            assert await store.get(record.id) == updated

    asyncio.run(go())


def test_files_that_never_stop_changing_are_told_as_such(notes, monkeypatch):
    async def go():
        async with notes.open() as store:
            record = await keep(store, "tea")
            fsync = os.fsync

            def edit_first(handle):
                notes.write(f"home/{notes.file().name}", notes.file().read_bytes())
                return fsync(handle)

            with monkeypatch.context() as patch:
                patch.setattr(os, "fsync", edit_first)
                with pytest.raises(Unavailable, match="files keep changing") as refused:
                    await store.update(record.id, Patch(content="coffee"))
                assert refused.value.retryable
            assert (await store.get(record.id)) == record
            assert list((notes.root / ".memhub/journal").iterdir()) == []

    asyncio.run(go())


def test_a_root_that_is_a_file_is_named(notes):
    notes.root.write_text("mine", encoding="utf-8")

    async def go():
        async with notes.open() as store:
            with pytest.raises(Unavailable, match="notes"):
                await contents(store)
            with pytest.raises(Unavailable, match="notes"):
                await store.ping()

    asyncio.run(go())
    assert notes.root.read_text(encoding="utf-8") == "mine"
