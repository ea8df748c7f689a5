"""The index is what its records demand, after any sequence of writes, and so is what it finds."""

from __future__ import annotations

import asyncio
import itertools
import sqlite3
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memhub import (
    Fact,
    HubError,
    MemoryStore,
    Observation,
    Patch,
    Provenance,
    Query,
    Record,
    Scope,
    Turn,
    changes,
)
from memhub_adapters.in_memory import InMemoryAdapter
from memhub_adapters.sqlite import SqliteAdapter, postings
from memhub_adapters.sqlite.indexcheck import index_faults, reindex

START = datetime(2024, 5, 8, 9, tzinfo=UTC)
SCOPES = [Scope("a"), Scope("b"), Scope(tenant="acme", user="u"), Scope(tenant="acme")]
WORDS = ["tea", "jasmine", "running", "ran", "the", "will", "Anna", "北京", "café", "🍕", "x_y", "May"]

words = st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join)
scopes = st.sampled_from(SCOPES)
turns = st.builds(
    Turn,
    st.sampled_from(["user", "assistant"]),
    words,
    speaker=st.sampled_from([None, "Anna", "Bo"]),
    tags=st.lists(st.sampled_from(["red", "tea"]), max_size=1),
)
picks = st.integers(0, 30)
steps = st.one_of(
    st.tuples(
        st.just("turns"), scopes, st.lists(turns, min_size=1, max_size=4), st.sampled_from([None, "c"])
    ),
    st.tuples(st.just("fact"), scopes, words),
    st.tuples(st.just("supersede"), picks, words),
    st.tuples(st.just("content"), picks, words),
    st.tuples(st.just("expiry"), picks, st.sampled_from([None, 1, 5])),
    st.tuples(st.just("tags"), picks, st.sampled_from([(), ("red",)])),
    st.tuples(st.just("invalidate"), picks),
    st.tuples(st.just("delete"), picks),
    st.tuples(st.just("purge"), scopes),
)


async def take(store: MemoryStore, step: tuple, now: datetime) -> None:
    """One step; what the contract refuses is part of the sequence."""
    try:
        await _take(store, step, now)
    except HubError as refused:
        assert refused.code in ("not_found", "conflict")


async def _take(store: MemoryStore, step: tuple, now: datetime) -> None:
    kind, *rest = step
    if kind == "turns":
        scope, said, conversation = rest
        await store.observe(Observation(scope, turns=said, provenance=Provenance(conversation)))
    elif kind == "fact":
        await store.observe(Observation(rest[0], facts=[Fact(rest[1])]))
    elif kind == "purge":
        await store.purge(rest[0])
    else:
        await _change(store, kind, await _picked(store, rest[0]), rest[1:], now)


async def _picked(store: MemoryStore, pick: int) -> Record:
    held = sorted((await store.scan()).records, key=lambda record: record.id)
    return held[pick % len(held)] if held else (await store.get("none"))


async def _change(store: MemoryStore, kind: str, record: Record, rest: list, now: datetime) -> None:
    if kind == "supersede":
        await store.observe(Observation(record.scope, facts=[Fact(rest[0], supersedes=record.id)]))
    elif kind == "content":
        await store.update(record.id, Patch(content=rest[0]))
    elif kind == "tags":
        await store.update(record.id, Patch(tags=rest[0]))
    elif kind == "expiry":
        at = None if rest[0] is None else now + timedelta(minutes=rest[0])
        await store.update(record.id, Patch(expires_at=at))
    elif kind == "invalidate":
        await store.invalidate(record.id, "wrong")
    else:
        await store.delete(record.id)


async def everything(store: MemoryStore, now: datetime) -> list:
    """What a product can see: each word and the listing in each scope, with and without history."""
    found: list = []
    for scope, text, past in itertools.product(SCOPES, [*WORDS, "will the", None], (False, True)):
        query = Query(scope, text=text, limit=50, include_invalidated=past, explain=True)
        found.append([(hit.record.id, hit.score, hit.why) for hit in (await store.recall(query)).hits])
    at = Query(SCOPES, text="tea running", as_of=now - timedelta(minutes=2))
    found.append([hit.record.id for hit in (await store.recall(at)).hits])
    stats = await store.stats(by_scope=True)
    return [*found, stats.live, stats.invalidated, stats.expired, stats.scopes]


async def play(store: MemoryStore, script: list[tuple], clock: list[datetime], monkeypatch) -> list:
    numbers = itertools.count(1)
    monkeypatch.setattr(changes, "new_id", lambda _: f"00000000-0000-7000-8000-{next(numbers):012x}")
    clock[0] = START
    for step in script:
        clock[0] += timedelta(minutes=1)
        await take(store, step, clock[0])
    return await everything(store, clock[0])


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(steps, min_size=1, max_size=14))
def test_any_sequence_of_writes_leaves_the_index_true_and_the_answers_those_of_the_reference(
    monkeypatch, script
):
    # So few that even short sequences move documents into the postings.
    monkeypatch.setattr(postings, "FRESH", 3)

    async def compare(path: Path) -> None:
        clock = [START]
        async with MemoryStore(SqliteAdapter(path, durability="normal"), clock=lambda: clock[0]) as store:
            found = await play(store, script, clock, monkeypatch)
        async with MemoryStore(InMemoryAdapter(), clock=lambda: clock[0]) as reference:
            expected = await play(reference, script, clock, monkeypatch)
        assert found == expected

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "memory.db")
        asyncio.run(compare(path))
        db = sqlite3.connect(path, isolation_level=None)
        try:
            assert index_faults(db) == []
            reindex(db)
            assert index_faults(db) == []
        finally:
            db.close()


def test_a_damaged_index_is_found(tmp_path):
    async def fill() -> None:
        async with MemoryStore(SqliteAdapter(tmp_path / "m.db")) as store:
            await store.observe(Observation(Scope("a"), facts=[Fact(f"green tea {n}") for n in range(40)]))
            await store.observe(Observation(Scope("b"), facts=[Fact("black tea")]))

    asyncio.run(fill())
    db = sqlite3.connect(tmp_path / "m.db", isolation_level=None)
    try:
        assert index_faults(db) == []
        db.execute("UPDATE posting SET entries = x'000404' WHERE term = 'tea'")
        db.execute("DELETE FROM posting WHERE term = 'green'")
        db.execute("UPDATE scope SET length = length + 1 WHERE id = 1")
        db.execute("DELETE FROM fresh")
        faults = index_faults(db)
        assert any("scope 1: postings" in fault for fault in faults)
        assert any("scope 1: its counts" in fault for fault in faults)
        assert any("scope 2: postings" in fault for fault in faults)
        assert reindex(db) == 41
        assert index_faults(db) == []
    finally:
        db.close()
