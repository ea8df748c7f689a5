"""Ids and keys lie in the files: copies, derived ids, and idempotency keys that outlive the index."""

import asyncio
import shutil
from dataclasses import replace

import pytest

from markdown_notes import HOME, Notes, contents, keep, run, the_one
from memhub import Conflict, Fact, NotFound, Observation, Patch, Query
from memhub_adapters.markdown.lock import Lock


@pytest.fixture
def notes(tmp_path):
    return Notes(tmp_path / "notes")


def test_a_copy_is_reported_and_the_path_that_was_there_first_keeps_the_id(notes):
    async def go():
        async with notes.open() as store:
            record = await keep(store, "Prefers tea")
            first = notes.file()
            copy = first.with_name("a copy.md")
            shutil.copy(first, copy)
            assert await contents(store) == ["Prefers tea"]
            assert await store.upkeep().check() == [
                f"home/a copy.md: has the id of home/{first.name}; remove it, or remove its id line"
            ]
            await store.update(record.id, Patch(content="Prefers oolong"))
            assert "Prefers tea" in copy.read_text(encoding="utf-8")
            assert await store.upkeep().reindex() == 1
            assert await contents(store) == ["Prefers oolong"]
            first.unlink()
            assert await contents(store) == ["Prefers tea"]
            assert (await the_one(store)).id == record.id
            assert await store.upkeep().check() == []

    asyncio.run(go())


def test_a_copy_without_its_id_line_is_a_record_of_its_own(notes):
    async def go(store):
        record = await keep(store, "Prefers tea")
        copy = notes.file().with_name("copy.md")
        shutil.copy(notes.file(), copy)
        assert await contents(store) == ["Prefers tea"]
        notes.edit(copy, f"id: {record.id}\n", "")
        assert await contents(store) == ["Prefers tea", "Prefers tea"]

    run(notes, go)


def test_deleting_a_record_deletes_its_copies_in_whatever_folder(notes):
    async def go(store):
        record = await keep(store, "Prefers tea")
        (notes.root / "away").mkdir()
        for name in ("home/copy.md", "away/copy.md"):
            shutil.copy(next(iter(notes.files())), notes.root / name)
        await store.delete(record.id)
        with pytest.raises(NotFound):
            await store.get(record.id)
        assert notes.files() == []

    run(notes, go)


def test_a_second_file_where_an_id_was_derived_before_gets_another_id(notes):
    async def go(store):
        path = notes.write("home/list.md", "milk\n")
        first = await the_one(store)
        await store.update(first.id, Patch(tags=["shop"]))
        path.rename(path.with_name("old list.md"))
        path = notes.write("home/list.md", "bread\n")
        assert await contents(store) == ["bread", "milk"]
        assert (await store.get(first.id)).content == "milk"
        bread = (await store.recall(Query(HOME, text="bread"))).hits[0].record
        notes.edit(path, "bread", "bread and butter")
        assert (await store.get(bread.id)).content == "bread and butter"
        await store.update(bread.id, Patch(content="rye bread"))
        assert bread.id in path.read_text(encoding="utf-8")

    run(notes, go)


def test_a_key_written_by_another_machine_is_known(notes, tmp_path):
    async def go():
        given = Observation(HOME, facts=[Fact("once")], idempotency_key="k")
        async with Notes(tmp_path / "theirs").open() as theirs:
            said = await theirs.observe(given)
        shutil.copytree(tmp_path / "theirs" / "home", notes.root / "home")
        async with notes.open() as store:
            again = await store.observe(given)
            assert again.replayed
            assert again.records == said.records

    asyncio.run(go())


def test_a_purge_in_one_commit_with_the_last_delete_forgets_the_key_too(notes):
    async def go():
        given = Observation(HOME, facts=[Fact("jasmine once")], idempotency_key="k")
        async with notes.open() as store:
            said = (await store.observe(given)).records[0]
            taken = Lock(notes.root / ".memhub" / "lock", timeout=1).take()
            calls = [asyncio.ensure_future(call) for call in (store.delete(said.id), store.purge(HOME))]
            await asyncio.sleep(0)
            taken.release()
            assert await asyncio.gather(*calls) == [None, 0]
            assert [path for path in notes.root.rglob("*") if path.suffix in (".md", ".json")] == []
            assert not (await store.observe(replace(given, facts=[Fact("else")]))).replayed

    asyncio.run(go())


def test_a_key_may_be_used_anew_in_one_commit_with_the_purge_that_forgot_it(notes):
    async def go():
        given = Observation(HOME, facts=[Fact("jasmine once")], idempotency_key="k")
        async with notes.open() as store:
            await store.delete((await store.observe(given)).records[0].id)
            await keep(store, "tea")
            taken = Lock(notes.root / ".memhub" / "lock", timeout=1).take()
            calls = [asyncio.ensure_future(call) for call in (store.purge(HOME), store.observe(given))]
            await asyncio.sleep(0)
            taken.release()
            count, said = await asyncio.gather(*calls)
            assert (count, said.replayed, await contents(store)) == (1, False, ["jasmine once"])
            assert await store.observe(given) == replace(said, replayed=True)

    asyncio.run(go())


def test_a_spent_key_outlives_the_index(notes):
    async def go():
        given = Observation(HOME, facts=[Fact("jasmine once")], idempotency_key="k")
        async with notes.open() as store:
            await store.delete((await store.observe(given)).records[0].id)
        for file in (notes.root / ".memhub").glob("index.db*"):
            file.unlink()
        async with notes.open() as store:
            again = await store.observe(given)
            assert (again.replayed, again.records) == (True, ())
            with pytest.raises(Conflict):
                await store.observe(Observation(HOME, facts=[Fact("else")], idempotency_key="k"))
            held = [file.read_bytes() for file in notes.root.rglob("*") if file.is_file()]
            assert not any(b"jasmine" in data for data in held)
            await store.purge(HOME)
            assert not (await store.observe(given)).replayed

    asyncio.run(go())
