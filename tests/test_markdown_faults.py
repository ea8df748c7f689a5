"""Files that cannot be read, or not be changed: reported with their line, never rewritten, no harm to others."""

import asyncio

import pytest

from markdown_notes import HOME, Notes, contents, keep
from memhub import Conflict, NotFound, Patch, Query


@pytest.fixture
def notes(tmp_path):
    return Notes(tmp_path / "notes")


FAULTS = {
    'description: "a "b" c"': 3,
    "x: [1, 2": 4,
    "id: one\nid: two": 4,
    "just text": 3,
    "- a\n- b": 3,
    "? [a]\n: b": 3,
    "kind: idea": 3,
    "x: 1\ntags:\n  - a\n  - 3": 4,
    "tags: [' ']": 3,
    "created_at: yesterday": 3,
    "created_at: 2026-03-01T09:30": 3,
    "attributes: {a: {b: c}}": 3,
    "attributes: [a]": 3,
    "attributes: {a: .inf, b: 1e999}": 3,
    "position: -1": 3,
    "payload: {a: 1}": 3,
    "payload: '{'": 3,
    "id: 42": 3,
    "expires_at: 2026-13-01": 3,
    "author: [x]": 3,
    "a: &x [1]\nkind: *y": 4,
    "tab:\n\t- x": 4,
}


@pytest.mark.parametrize("front", FAULTS)
def test_front_matter_that_cannot_be_read_is_reported_and_never_rewritten(notes, front):
    async def go():
        text = f"---\nid: broken\n{front}\n---\nPrefers tea\n"
        if front.startswith(("id:", "just", "- a")):
            text = f"---\n\n{front}\n---\nPrefers tea\n"
        path = notes.write("home/bad.md", text)
        notes.write("home/good.md", "works\n")
        async with notes.open() as store:
            assert await contents(store) == ["works"]
            (line,) = await store.upkeep().check()
            assert line.startswith(f"home/bad.md:{FAULTS[front]}: "), line
            with pytest.raises(NotFound):
                await store.get("broken")
            await keep(store, "more")
            if "id: broken" in text and "id: 42" not in text:
                for change in (store.update("broken", Patch(content="x")), store.delete("broken")):
                    with pytest.raises(Conflict, match=rf"home/bad\.md:{FAULTS[front]}: "):
                        await change
            assert path.read_text(encoding="utf-8") == text
            notes.write("home/bad.md", "---\nid: broken\n---\nmended\n")
            assert await contents(store) == ["mended", "more", "works"]
            assert await store.upkeep().check() == []

    asyncio.run(go())


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"---\nid: x\nno end\n", "1: the front matter has no end"),
        (b"", "1: content: is blank"),
        (b"---\nid: x\n---\n \n", "4: content: is blank"),
        (b"one\ntw\xff\n", "2: is not UTF-8"),
        ("è".encode("latin-1"), "1: is not UTF-8"),
        ("utf-16".encode("utf-16"), "1: is not UTF-8"),
        (b"a\0b", "1: content: holds a NUL character"),
        (b"x" * 70_000, "1: content: has 70,000 characters"),
        (b"x" * 2**21, "1: is larger than 1,048,576 bytes"),
    ],
)
def test_a_file_that_is_no_text_of_ours_is_reported_and_left_alone(notes, data, problem):
    async def go():
        path = notes.write("home/bad.md", data)
        notes.write("home/good.md", "works\n")
        async with notes.open() as store:
            assert await contents(store) == ["works"]
            (line,) = await store.upkeep().check()
            assert line.startswith(f"home/bad.md:{problem}")
            assert path.read_bytes() == data

    asyncio.run(go())


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("---\nPrefers", "Prefers", "the front matter has no end"),
        ("tags: [a]", "tags: [[a]]", "must be text"),
        ("tags: [a]", "tags: [a", "no YAML"),
        ("Prefers tea", " ", "content: is blank"),
        ("tea", "te\0", "holds a NUL character"),
    ],
)
def test_a_known_record_whose_file_is_spoiled_is_none_until_it_is_mended(notes, old, new, problem):
    async def go():
        async with notes.open() as store:
            record = await keep(store, "Prefers tea", tags=("a",))
            path = notes.file()
            text = path.read_text(encoding="utf-8")
            notes.edit(path, old, new)
            assert (await contents(store), (await store.stats()).live) == ([], 0)
            assert (await store.recall(Query(HOME, text="tea"))).hits == ()
            with pytest.raises(NotFound):
                await store.get(record.id)
            with pytest.raises(Conflict, match=problem):
                await store.delete(record.id)
            (line,) = await store.upkeep().check(deep=True)
            assert problem in line
            notes.write(str(path.relative_to(notes.root)), text)
            assert await store.get(record.id) == record
            notes.edit(path, old, new)
            assert await contents(store) == []
            path.unlink()
            assert (await contents(store), await store.upkeep().check(deep=True)) == ([], [])
            with pytest.raises(NotFound):
                await store.delete(record.id)

    asyncio.run(go())


def test_front_matter_in_braces_is_read_and_not_changed(notes):
    async def go():
        text = "---\n{id: x, kind: preference}\n---\nPrefers tea\n"
        path = notes.write("home/a.md", text)
        async with notes.open() as store:
            assert (await store.get("x")).kind == "preference"
            with pytest.raises(Conflict, match=r"home/a\.md:2: .* one key a line"):
                await store.update("x", Patch(tags=["a"]))
            assert path.read_text(encoding="utf-8") == text
            await store.delete("x")
            assert notes.files() == []

    asyncio.run(go())


def test_an_entry_that_others_point_to_is_not_changed(notes):
    async def go():
        text = "---\nid: x\ntags: &all [a, b]\nmine: *all\n---\nPrefers tea\n"
        path = notes.write("home/a.md", text)
        async with notes.open() as store:
            assert (await store.get("x")).tags == ("a", "b")
            with pytest.raises(Conflict, match=r"home/a\.md:1: .* cannot be changed safely"):
                await store.update("x", Patch(tags=["c"]))
            assert path.read_text(encoding="utf-8") == text

    asyncio.run(go())
