"""The Markdown store as a whole: what it finds, a log that only grows, upkeep, configuration, movement."""

import asyncio
import json
import os
import tempfile
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from time import time_ns

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from markdown_notes import HOME, START, Notes, contents, keep, listed
from memhub import (
    InvalidConfig,
    MemoryStore,
    NotFound,
    Observation,
    Patch,
    Provenance,
    Query,
    Record,
    Scope,
    Turn,
    Unsupported,
)
from memhub.interchange import record_from_json, record_to_json
from memhub_adapters.markdown import MarkdownAdapter
from memhub_adapters.markdown.tree import Tree
from memhub_adapters.sqlite import SqliteAdapter
from memhub_config import open_hub
from strategies import records

MANY = 3_000
WORDS = [
    "tea",
    "jasmine",
    "river",
    "mountain",
    "coffee",
    "garden",
    "window",
    "letter",
    "train",
    "station",
    "music",
    "piano",
]


@pytest.fixture
def notes(tmp_path):
    return Notes(tmp_path / "notes")


def conversation(count: int) -> list[Record]:
    """Turns and facts, as some other store exported them."""
    made = []
    for n in range(count):
        text = " ".join(WORDS[(n * step + step) % len(WORDS)] for step in range(1, 2 + n % 7))
        role = ("user", "assistant", None)[n % 3]
        made.append(
            Record(
                id=f"record-{n:04}",
                scope=HOME,
                kind="episode" if role else "fact",
                content=f"{text} {n % 5}",
                provenance=Provenance(f"chat {n % 4}", None, ("Anna", "Bo")[n % 2], role),
                created_at=START + timedelta(minutes=n),
                updated_at=START + timedelta(minutes=n),
                observed_at=START + timedelta(minutes=n),
                revision=f"revision-{n}",
            )
        )
    return made


async def found(store: MemoryStore) -> list[list[tuple[str, float]]]:
    queries = [Query(HOME, text=text, limit=20) for text in (*WORDS, "Anna tea", "jasmine river music", "3")]
    return [[(hit.record.id, hit.score) for hit in (await store.recall(query)).hits] for query in queries]


def test_it_finds_what_sqlite_finds_in_the_same_order_also_from_a_new_index(notes, tmp_path):
    async def go():
        given = conversation(120)
        async with notes.open() as store, MemoryStore(SqliteAdapter(tmp_path / "m.db")) as reference:
            for one in (store, reference):
                await one.restore(given)
            expected = await found(reference)
            assert any(len(hits) == 20 for hits in expected)
            assert await found(store) == expected
            assert await store.upkeep().reindex() == 120
            assert await found(store) == expected
            assert (await store.scan()).records == tuple(given)

    asyncio.run(go())


@settings(max_examples=15)
@given(st.lists(records, min_size=1, max_size=4, unique_by=lambda record: record.id))
def test_any_record_survives_the_way_from_sqlite_through_json_and_files_to_sqlite(given):
    async def passed(source: MemoryStore, target: MemoryStore) -> list[str]:
        """Everything of a store as JSON lines, taken over by another."""
        lines = [json.dumps(record_to_json(record)) for record in (await source.scan()).records]
        await target.restore([record_from_json(json.loads(line)) for line in lines])
        return sorted(lines)

    async def go(folder: Path) -> None:
        async with (
            MemoryStore(SqliteAdapter(folder / "first.db")) as first,
            MemoryStore(MarkdownAdapter(folder / "notes")) as store,
            MemoryStore(SqliteAdapter(folder / "last.db")) as last,
            MemoryStore(SqliteAdapter(folder / "end.db")) as end,
        ):
            await first.restore(given)
            lines = await passed(first, store)
            assert await store.upkeep().check() == []
            await store.upkeep().reindex()
            assert await passed(store, last) == lines
            assert await passed(last, end) == lines

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(go(Path(folder)))


def test_an_append_only_store_says_why_it_changes_nothing(notes):
    async def go():
        async with notes.open(append_only=True) as store:
            record = await keep(store, "for good")
            assert not store.capabilities.has("update")
            with pytest.raises(Unsupported, match="append_only"):
                await store.update(record.id, Patch(content="x"))
            with pytest.raises(Unsupported, match="append_only"):
                await store.purge(HOME)
            with pytest.raises(Unsupported, match="append_only"):
                await keep(store, "x", supersedes=record.id)
            notes.edit(notes.file(), "for good", "for better")
            assert await contents(store) == ["for better"]

    asyncio.run(go())


def test_it_is_configured_by_its_root(tmp_path):
    async def go():
        source = {
            "stores": {
                "notes": {"markdown": {"root": str(tmp_path / "n"), "lock_timeout": "2s"}},
                "log": {"markdown": {"root": str(tmp_path / "l"), "append_only": True}},
            }
        }
        async with open_hub(source, environ={}) as hub:
            assert (tmp_path / "n/.memhub/.gitignore").read_text(encoding="utf-8") == "*\n"
            await keep(hub["notes"], "tea")
            assert not hub["log"].capabilities.has("delete")
        with pytest.raises(InvalidConfig, match="append_only"):
            async with open_hub(
                {"stores": {"log": {**source["stores"]["log"], "requires": ["delete"]}}}, environ={}
            ):
                pass

    asyncio.run(go())


def test_turns_of_one_conversation_are_neighbours_across_calls_and_indexes(notes):
    async def go():
        async with notes.open() as store:
            for role, text in (("user", "do you like pistachio"), ("assistant", "yes very much")):
                turns = [Turn(role, text)]
                await store.observe(Observation(HOME, turns=turns, provenance=Provenance("chat")))
                notes.now += timedelta(minutes=1)
            await store.upkeep().reindex()
            hits = (await store.recall(Query(HOME, text="pistachio"))).hits
            assert [hit.record.content for hit in hits] == ["do you like pistachio", "yes very much"]

    asyncio.run(go())


def test_turns_that_come_back_or_arrive_late_stand_in_their_places(notes):
    async def go():
        async with notes.open() as store:
            given = conversation(60)
            await store.restore(given)
            expected = await found(store)
            away = notes.root / ".away"
            away.mkdir()
            turns = [path for path in notes.files() if "role: " in path.read_text(encoding="utf-8")]
            for path in turns[10:20]:
                path.rename(away / path.name)
            assert len(await listed(store)) == 50
            assert await found(store) != expected
            for path in away.iterdir():
                path.rename(notes.root / "home" / path.name)
            assert await found(store) == expected
            assert await store.upkeep().check(deep=True) == []
            await store.upkeep().reindex()
            assert await found(store) == expected

    asyncio.run(go())


def test_a_listing_goes_on_while_others_write_by_hand(notes):
    async def go():
        async with notes.open() as store:
            for n in range(6):
                await keep(store, f"memory {n}")
                notes.now += timedelta(minutes=1)
            page = await store.recall(Query(HOME, limit=3))
            notes.write("home/new.md", "---\ncreated_at: 2026-03-01T09:31:30Z\n---\nslipped in\n")
            rest = await store.recall(Query(HOME, limit=10, cursor=page.cursor))
            assert [hit.record.content for hit in rest.hits] == ["memory 2", "memory 1", "memory 0"]
            assert len(await listed(store)) == 7

    asyncio.run(go())


def test_many_files_are_taken_over(notes):
    async def go():
        for n in range(MANY):
            notes.write(f"home/{n}.md", f"memory {n} of {WORDS[n % len(WORDS)]}\n")
        async with notes.open() as store:
            assert (await store.stats()).live == MANY
            found = (await store.recall(Query(HOME, text="jasmine", limit=1000))).hits
            assert len(found) == MANY // len(WORDS)

    asyncio.run(go())


def test_a_look_costs_one_stat_a_file_and_unknown_ids_are_looked_for_once(notes, monkeypatch):
    async def go():
        async with notes.open(now=lambda: time_ns() + 10**10) as store:
            for n in range(3):
                await keep(store, f"memory {n}")
            await keep(store, "elsewhere", Scope("away"))
            await store.stats()
            looks: list[Scope] = []
            files = Tree.files
            monkeypatch.setattr(Tree, "files", lambda tree, scope: looks.append(scope) or files(tree, scope))
            opened: list[object] = []
            work = os.open
            monkeypatch.setattr(os, "open", lambda name, *rest: opened.append(name) or work(name, *rest))
            await contents(store)
            assert looks == [HOME]
            assert opened == []
            with pytest.raises(NotFound):
                await store.get([f"unknown-{n}" for n in range(50)])
            assert sorted(looks[1:], key=str) == [Scope("away"), HOME]

    asyncio.run(go())


def test_wide_queries_see_what_a_hand_adds_in_any_folder_they_cover(notes):
    async def go():
        async with notes.open() as store:
            await keep(store, "tea", Scope(tenant="acme"))
            notes.write("tenant=acme,user=u_42/x.md", "coffee\n")
            notes.write("tenant=other,user=u_42/x.md", "cocoa\n")
            assert await contents(store, Scope(tenant="acme")) == ["coffee", "tea"]
            assert await contents(store, Scope(tenant="acme"), exact=True) == ["tea"]
            assert await contents(store, Scope(user="u_42")) == ["cocoa", "coffee"]
            stats = await store.stats(by_scope=True)
            assert (stats.live, len(stats.scopes)) == (3, 3)
            assert stats.bytes == sum(path.stat().st_size for path in notes.files())
            assert await store.purge(Scope(tenant="acme")) == 2
            assert [str(path.relative_to(notes.root)) for path in notes.files()] == [
                "tenant=other,user=u_42/x.md"
            ]
            assert replace(stats, scopes=()) != await store.stats()

    asyncio.run(go())
