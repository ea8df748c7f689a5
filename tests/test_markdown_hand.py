"""What a person does to the files between two calls is what the next call finds, in every process."""

import asyncio
import os
from datetime import UTC, datetime

import pytest

from markdown_notes import HOME, START, Notes, contents, keep, run, the_one
from memhub import Conflict, NotFound, Observation, Patch, Provenance, Query, Scope, Turn, Unavailable
from memhub_adapters.markdown.names import derived_id


@pytest.fixture
def notes(tmp_path):
    return Notes(tmp_path / "notes")


def test_an_edited_body_is_an_update(notes):
    async def go(store):
        record = await keep(store, "Prefers jasmine tea", tags=["tea"])
        notes.edit(notes.file(), "jasmine", "oolong")
        found = await store.get(record.id)
        assert (found.content, found.tags) == ("Prefers oolong tea", ("tea",))
        assert found.revision != record.revision
        assert found.created_at == record.created_at
        with pytest.raises(Conflict):
            await store.update(record.id, Patch(kind="preference"), revision=record.revision)
        assert (await store.recall(Query(HOME, text="jasmine"))).hits == ()
        assert (await store.recall(Query(HOME, text="oolong"))).hits[0].record == found
        updated = await store.update(found.id, Patch(kind="preference"), revision=found.revision)
        assert (updated.content, updated.kind) == ("Prefers oolong tea", "preference")

    run(notes, go)


def test_an_edited_field_is_an_update_and_a_mere_touch_is_none(notes):
    async def go(store):
        record = await keep(store, "Prefers tea", tags=["tea"], attributes={"cups": 1})
        os.utime(notes.file(), (1, 1))
        assert await store.get(record.id) == record
        notes.edit(notes.file(), "tags: [tea]", "tags:\n  - tea   # hot\n  - evening")
        found = await store.get(record.id)
        assert found.tags == ("tea", "evening")
        assert found.revision != record.revision
        notes.edit(notes.file(), "cups: 1", "cups: true")
        again = await store.get(record.id)
        assert again.attributes["cups"] is True
        assert again.revision not in (found.revision, record.revision)

    run(notes, go)


def test_a_file_by_hand_is_a_record_with_an_id_and_times_of_its_own(notes):
    async def go(store):
        path = notes.write("home/bought.md", "Bought a kettle\n")
        record = await the_one(store)
        assert record.content == "Bought a kettle"
        assert record.kind == "fact"
        assert record.id == derived_id(HOME, "bought.md")
        moment = datetime.fromtimestamp(path.stat().st_mtime, UTC)
        assert {record.created_at, record.observed_at, record.updated_at} == {moment}
        before = path.read_bytes()
        assert await store.get(record.id) == record
        assert (await store.recall(Query(HOME, text="kettle"))).hits[0].record == record
        assert path.read_bytes() == before

    run(notes, go)


def test_the_first_change_through_memhub_writes_the_id_in_and_a_rename_then_keeps_it(notes):
    async def go(store):
        path = notes.write("home/bought.md", "---\nmood: glad\n---\nBought a kettle\n")
        record = await the_one(store)
        updated = await store.update(record.id, Patch(tags=["kitchen"]), revision=record.revision)
        assert updated.id == record.id
        assert updated.created_at == record.created_at
        text = path.read_text(encoding="utf-8")
        assert text.startswith(f"---\nmood: glad\nid: {record.id}\ntags: [kitchen]\n")
        path.rename(path.with_name("kettle.md"))
        assert await store.get(record.id) == updated

    run(notes, go)


def test_a_file_that_a_hand_changed_and_memhub_then_unlinked_reads_the_same_from_a_new_index(notes):
    async def go():
        async with notes.open() as store:
            old = await keep(store, "Prefers tea")
            path = notes.file()
            new = await keep(store, "Prefers oolong", supersedes=old.id)
            path.write_text(path.read_text(encoding="utf-8").replace("tea", "jasmine"), encoding="utf-8")
            os.utime(path, (START.timestamp() + 60, START.timestamp() + 60))
            await store.delete(new.id)
            left = await store.get(old.id)
            assert (left.content, left.superseded_by) == ("Prefers jasmine", None)
            await store.upkeep().reindex()
            assert await store.get(old.id) == left

    asyncio.run(go())


def test_a_moved_file_is_the_same_record_and_an_update_changes_it_where_it_now_is(notes):
    async def go(store):
        record = await keep(store, "Prefers tea")
        path = notes.file()
        moved = path.parent / "drinks" / "Tea.MD"
        moved.parent.mkdir()
        path.rename(moved)
        assert await store.get(record.id) == record
        assert await the_one(store) == record
        moved = moved.rename(moved.with_name("tea.md"))
        updated = await store.update(record.id, Patch(content="Prefers oolong"))
        assert updated.id == record.id
        assert notes.files() == [moved]
        assert "Prefers oolong" in moved.read_text(encoding="utf-8")

    run(notes, go)


def test_a_file_moved_into_the_folder_of_another_scope_is_in_that_scope(notes):
    async def go(store):
        record = await keep(store, "Prefers tea")
        other = notes.root / "tenant=acme,user=%41nn"
        other.mkdir()
        notes.file().rename(other / "x.md")
        ann = Scope(tenant="acme", user="Ann")
        found = await store.get(record.id)
        assert (found.scope, found.content) == (ann, "Prefers tea")
        assert found.revision != record.revision
        assert await contents(store) == []
        assert await contents(store, Scope(tenant="acme")) == ["Prefers tea"]
        await store.delete(record.id)
        assert notes.files() == []

    run(notes, go)


def test_a_renamed_folder_is_another_scope(notes):
    async def go(store):
        records = [await keep(store, f"memory {n}") for n in range(3)]
        (notes.root / "home").rename(notes.root / "away")
        assert await contents(store) == []
        assert await contents(store, Scope("away")) == ["memory 0", "memory 1", "memory 2"]
        assert [one.id for one in await store.get([record.id for record in records])] == [
            record.id for record in records
        ]

    run(notes, go)


def test_a_deleted_file_is_a_deleted_record(notes):
    async def go(store):
        gone, stays = await keep(store, "jasmine tea"), await keep(store, "green tea")
        next(path for path in notes.files() if "jasmine" in path.name).unlink()
        with pytest.raises(NotFound):
            await store.get(gone.id)
        assert await contents(store) == ["green tea"]
        assert (await store.recall(Query(HOME, text="jasmine"))).hits == ()
        with pytest.raises(NotFound):
            await store.update(gone.id, Patch(content="x"))
        assert (await store.stats()).live == 1
        await store.delete(stays.id)

    run(notes, go)


def test_a_deleted_turn_lends_its_neighbours_nothing_any_more(notes):
    async def go(store):
        chat = Provenance("chat")
        turns = [Turn("user", "do you like pistachio"), Turn("assistant", "yes very much")]
        await store.observe(Observation(HOME, turns=turns, provenance=chat))
        assert len((await store.recall(Query(HOME, text="pistachio"))).hits) == 2
        next(path for path in notes.files() if "pistachio" in path.name).unlink()
        assert (await store.recall(Query(HOME, text="pistachio"))).hits == ()
        assert await contents(store) == ["yes very much"]

    run(notes, go)


def test_two_titles_that_differ_in_case_or_punctuation_are_two_records(notes):
    async def go(store):
        for name in ("Tea-time.md", "tea time.md", "tea-time.md"):
            notes.write(f"home/{name}", name)
        assert await contents(store) == ["Tea-time.md", "tea time.md", "tea-time.md"]

    run(notes, go)


def test_hidden_folders_links_and_other_files_are_left_alone(notes, tmp_path):
    async def go(store):
        notes.write("home/.obsidian/template.md", "no memory")
        notes.write("home/.draft.md", "no memory")
        notes.write("home/photo.txt", "no memory")
        outside = tmp_path / "outside"
        outside.mkdir()
        (outside / "secret.md").write_text("no memory", encoding="utf-8")
        (notes.root / "home" / "link").symlink_to(outside)
        (notes.root / "home" / "link.md").symlink_to(outside / "secret.md")
        assert await contents(store) == []
        await keep(store, "a memory")
        assert await store.purge(HOME) == 1
        assert (outside / "secret.md").exists()
        assert (notes.root / "home" / "photo.txt").exists()

    run(notes, go)


def test_a_link_in_the_place_of_a_scopes_folder_leads_nowhere(notes, tmp_path):
    async def go():
        outside = tmp_path / "outside"
        outside.mkdir()
        (outside / "secret.md").write_text("no memory", encoding="utf-8")
        async with notes.open() as store:
            await store.ping()
            (notes.root / "home").symlink_to(outside)
            assert await contents(store) == []
            with pytest.raises(Unavailable, match="a link; put a folder in its place"):
                await keep(store, "tea")
            assert await store.purge(HOME) == 0
        assert [path.name for path in outside.iterdir()] == ["secret.md"]

    asyncio.run(go())


def test_a_root_that_goes_away_is_not_quietly_replaced(notes):
    async def go():
        async with notes.open() as store:
            await keep(store, "tea")
            away = notes.root.rename(notes.root.with_name("away"))
            for call in (contents, lambda store: keep(store, "coffee")):
                with pytest.raises(Unavailable, match="was removed while in use"):
                    await call(store)
            assert not notes.root.exists()
            away.rename(notes.root)
            assert await contents(store) == ["tea"]

    asyncio.run(go())


def test_a_change_in_the_same_instant_and_of_the_same_size_is_seen(notes):
    async def go(store):
        record = await keep(store, "jasmine tea")
        path = notes.file()
        assert await contents(store) == ["jasmine tea"]
        stat = path.stat()
        text = path.read_bytes()
        with path.open("r+b") as file:
            file.write(text.replace(b"jasmine", b"vanilla"))
        os.utime(path, ns=(stat.st_mtime_ns, stat.st_mtime_ns))
        assert path.stat().st_ino == stat.st_ino
        assert path.stat().st_mtime_ns == stat.st_mtime_ns
        assert await contents(store) == ["vanilla tea"]
        assert (await store.get(record.id)).content == "vanilla tea"

    run(notes, go)


def test_a_correction_by_hand_of_a_chain_is_read_as_it_stands(notes):
    async def go(store):
        tea = await keep(store, "tea")
        coffee = await keep(store, "coffee", supersedes=tea.id)
        next(path for path in notes.files() if "coffee" in path.name).unlink()
        assert await contents(store) == []
        assert await contents(store, include_invalidated=True) == ["tea"]
        assert (await store.get(tea.id)).superseded_by == coffee.id
        await store.delete(tea.id)

    run(notes, go)
