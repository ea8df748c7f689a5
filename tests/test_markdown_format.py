"""The file: what any record becomes and comes back from, and what a rewrite leaves as it was."""

import asyncio
import json
import os
import subprocess
import sys
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from markdown_notes import HOME, START, Notes, contents, keep, listed, the_one
from memhub import Patch, Record, Scope
from memhub.interchange import record_to_json
from memhub_adapters.markdown.fields import Memory, memory_of, new_text, rewritten
from memhub_adapters.markdown.note import read
from memhub_adapters.markdown.tree import Place
from memhub_adapters.markdown.yamlread import root, values_of
from memhub_adapters.markdown.yamltext import inline
from strategies import characters, json_values, records

PLAIN = Record(
    id="r1",
    scope=HOME,
    kind="fact",
    content="Prefers tea",
    created_at=START,
    updated_at=START,
    observed_at=START,
    revision="5b1f0a9e3c2d4f60",
)


def same(one: Record, other: Record) -> bool:
    """Equal to the type of each value, whatever the order of attributes."""
    dumped = [json.dumps(record_to_json(record), sort_keys=True) for record in (one, other)]
    return dumped[0] == dumped[1]


def taken(text: str, scope: Scope = HOME) -> Memory:
    return memory_of(read(text), Place(scope, "name.md"), mtime=0)


@pytest.fixture
def notes(tmp_path):
    return Notes(tmp_path / "notes")


@given(records, st.none() | st.text("añ中:#'\"- ", min_size=1, max_size=6))
def test_a_record_comes_back_from_its_file(record, key):
    back = taken(new_text(Memory(record, key, key and "digest")), record.scope)
    assert same(back.record, record)
    assert (back.key, back.named) == (key, True)


@given(records, records, st.text(characters, max_size=20))
def test_a_record_comes_back_from_a_file_that_was_changed(one, other, comment):
    other = replace(other, id=one.id, scope=one.scope, created_at=one.created_at)
    line = f"mine: {inline(comment)} # kept\n"
    note = read(new_text(Memory(one)).replace("---\n", f"---\n{line}", 1))
    text = rewritten(note, memory_of(note, Place(one.scope, "name.md"), mtime=0), other)
    assert same(taken(text, other.scope).record, other)
    assert text.startswith(f"---\n{line}")


@given(st.text(characters, max_size=40) | json_values)
def test_every_value_is_the_same_in_yaml_1_2_and_text_stays_text_in_1_1(value):
    text = f"key: {inline(value)}\n"
    assert values_of(root(text), {"key": None}) == {"key": value}
    if isinstance(value, str):
        assert yaml.safe_load(text) == {"key": value} or value[:1].isdigit()


def test_the_common_file_is_short():
    assert new_text(Memory(PLAIN)) == (
        "---\nid: r1\ncreated_at: 2026-03-01T09:30:00Z\nrevision: 5b1f0a9e3c2d4f60/535ceb08\n---\nPrefers tea\n"
    )


CONTENTS = [
    *("---\nStatus: open\n---", "---", "--- \nx", "# Title\n\ntext", "ends in a newline\n", "two\n\n", "\n\nx"),
    *("a\r\nb\r\n", "a\r", "\rb", "\ttab\t", " spaces ", "\ufefffirst", "\x85\u2028\u2029x", "a\vb\fc", "→ Ж 😀"),
]  # fmt: skip


@pytest.mark.parametrize("content", CONTENTS)
def test_content_comes_back_exactly_also_once_the_index_is_gone(notes, content):
    async def go():
        async with notes.open() as store:
            record = await keep(store, content)
            assert await store.upkeep().reindex() == 1
            assert await store.get(record.id) == record
            assert record.content == content
            changed = await store.update(record.id, Patch(content=f"{content}x{content}"))
            await store.upkeep().reindex()
            assert await store.get(record.id) == changed

    asyncio.run(go())


FRONT = """---
# above
title: "A 'quoted' title"   # mine
created_at:   2026-03-01T11:30:00+02:00 # when
tags:
    - tea      # hot
    - 'evening'
# between
aliases: [one,   two]
attributes:
   lang: en   # which
   "n":   3
   city: [Porto]
nested:
  deep:
    - {a: 1}
text: |
  several
    lines

kind: preference
mood: !custom glad
---
Prefers tea
"""


def test_a_rewrite_changes_only_the_entries_that_change(notes):
    async def go():
        path = notes.write("home/tea.md", FRONT)
        async with notes.open() as store:
            record = await the_one(store)
            assert (record.tags, record.kind) == (("tea", "evening"), "preference")
            assert record.attributes == {"lang": "en", "n": 3, "city": ["Porto"]}
            assert record.created_at == START
            notes.now += timedelta(hours=1)
            patch = Patch(set_attributes={"n": 4, "new": "x"}, remove_attributes=["city"], tags=["green"])
            record = await store.update(record.id, patch)
            text = path.read_text(encoding="utf-8")
            tail = text[text.index("id: ") : text.index("---\nPrefers")]
            assert text == FRONT.replace('"n":   3', '"n":   4').replace(
                "   city: [Porto]\n", "   new: x\n"
            ).replace("tags:\n    - tea      # hot\n    - 'evening'\n", "tags: [green]\n").replace(
                "---\nPrefers", f"{tail}---\nPrefers"
            )
            assert [line.split(":")[0] for line in tail.splitlines()] == ["id", "updated_at", "revision"]
            await store.update(record.id, Patch(kind="fact", tags=()))
            text = path.read_text(encoding="utf-8")
            assert "kind" not in text
            assert "tags" not in text
            assert "# above\ntitle: \"A 'quoted' title\"   # mine\n" in text
            await store.upkeep().reindex()
            assert (await the_one(store)).attributes == {"lang": "en", "n": 4, "new": "x"}

    asyncio.run(go())


def test_a_file_with_windows_line_ends_and_a_mark_at_its_start_keeps_both(notes):
    async def go():
        path = notes.write("home/a.md", "\ufeff---\r\nkind: preference\r\n---\r\none\r\ntwo\r\n")
        plain = notes.write("home/b.md", "\ufeffthree\r\nfour\r\n")
        async with notes.open() as store:
            assert await contents(store) == ["one\r\ntwo", "three\r\nfour\r"]
            for word in ("one", "three"):
                record = next(r for r in await listed(store) if word in r.content)
                updated = await store.update(record.id, Patch(tags=["x"]))
                await store.upkeep().reindex()
                assert await store.get(record.id) == updated
        data = path.read_bytes()
        assert data.startswith(b"\xef\xbb\xbf---\r\nkind: preference\r\nid: ")
        assert data.endswith(b"\r\n---\r\none\r\ntwo\r\n")
        assert b"\n" not in data.replace(b"\r\n", b"")
        assert plain.read_bytes().startswith(b"\xef\xbb\xbf---\nid: ")
        assert plain.read_bytes().endswith(b"---\nthree\r\nfour\r\n")

    asyncio.run(go())


def test_what_people_write_is_understood(notes):
    async def go():
        notes.write(
            "home/a.md", "---\ntags: tea\nobserved_at: 2026-02-03\nrole:\nkind: fact\n---\n\nPrefers tea\n\n"
        )
        async with notes.open() as store:
            record = await the_one(store)
            assert (record.tags, record.content) == (("tea",), "\nPrefers tea\n")
            assert record.observed_at.isoformat() == "2026-02-03T00:00:00+00:00"

    asyncio.run(go())


PROGRAM = """
import asyncio, sys
from memhub import Fact, MemoryStore, Observation, Query, Scope
from memhub_adapters.markdown import MarkdownAdapter

async def go():
    async with MemoryStore(MarkdownAdapter(sys.argv[1])) as store:
        scope = Scope("\\u041a\\u0430\\u0444\\u0435/\\u2192")
        said = await store.observe(Observation(scope, facts=[Fact("\\u2192 \\u0416 \\U0001f600")]))
        found = (await store.recall(Query(scope, text="\\u0436"))).hits
        assert [hit.record for hit in found] == list(said.records)
        assert await store.upkeep().check(deep=True) == []

asyncio.run(go())
"""


@pytest.mark.parametrize(
    "locale", [{"LANG": "C"}, {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0"}, {"LC_ALL": "POSIX"}]
)
def test_files_are_utf_8_whatever_the_locale(tmp_path, locale):
    environ = {**os.environ, "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii", **locale}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, tmp_path], env=environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    (path,) = tmp_path.rglob("*.md")
    assert path.parent.name == "%d0%9aафе%2f→"
    assert path.read_bytes().endswith("---\n→ Ж 😀\n".encode())
    assert Path(path.name).suffix == ".md"
