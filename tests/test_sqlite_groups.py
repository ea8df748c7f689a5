"""Concurrent writes share one transaction, and each of them succeeds or fails as if it were alone."""

import asyncio
import itertools
import sqlite3
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from child_talk import SCOPE
from fakes import SetClock
from memhub import (
    Conflict,
    Fact,
    HubError,
    MemoryStore,
    NotFound,
    Observation,
    Patch,
    Provenance,
    Query,
    Scope,
    Turn,
    Unavailable,
    changes,
)
from memhub_adapters.in_memory import InMemoryAdapter
from memhub_adapters.sqlite import SqliteAdapter, threads
from sqlite_files import assert_sound, fact, stored


@pytest.fixture(autouse=True)
def patient_groups(monkeypatch):
    """A slow machine must not end a group early."""
    monkeypatch.setattr(threads, "GROUP_SECONDS", 3600)


async def together(path: Path, store: MemoryStore, calls: Sequence[Awaitable[object]]) -> list[object]:
    """The outcomes of calls that all wait while another connection holds the write lock."""
    lock = sqlite3.connect(path, isolation_level=None)
    try:
        lock.execute("BEGIN IMMEDIATE")
        tasks = list(map(asyncio.ensure_future, calls))
        await asyncio.sleep(0)
        assert store._adapter._writer._queue.qsize() >= len(calls) - 1
        lock.execute("ROLLBACK")
        return await asyncio.gather(*tasks, return_exceptions=True)
    finally:
        lock.close()


def test_sixteen_concurrent_writes_take_one_commit(tmp_path):
    path = tmp_path / "m.db"

    async def use() -> None:
        adapter = SqliteAdapter(path)
        async with MemoryStore(adapter) as store:
            await store.observe(fact("green tea"))
            before = adapter._writer.commits
            done = await together(path, store, [store.observe(fact(f"tea {n}")) for n in range(16)])
            assert [one.records[0].content for one in done] == [f"tea {n}" for n in range(16)]
            assert adapter._writer.commits - before == 1

    asyncio.run(use())
    assert len(stored(path)) == 17


@pytest.mark.parametrize("place", [0, 7, 15])
@pytest.mark.parametrize(
    "fault", ["superseded twice", "stale revision", "no such record", "half a batch", "half written"]
)
def test_one_refused_write_of_a_group_fails_alone(tmp_path, place, fault):
    path = tmp_path / "m.db"

    async def use() -> None:
        adapter = SqliteAdapter(path)
        async with MemoryStore(adapter) as store:
            old, new = [(await store.observe(fact(text))).records[0] for text in ("green tea", "black tea")]
            await store.observe(Observation(SCOPE, facts=[Fact("oolong", supersedes=old.id)]))
            half = [Fact("half"), Fact("of it", supersedes=old.id)]
            faults: dict[str, Callable[[], Awaitable[object]]] = {
                "superseded twice": lambda: store.observe(Observation(SCOPE, facts=half[1:])),
                "stale revision": lambda: store.update(new.id, Patch(content="x"), revision="stale"),
                "no such record": lambda: store.delete("unknown"),
                "half a batch": lambda: store.observe(Observation(SCOPE, facts=half)),
                "half written": lambda: store.observe(
                    Observation(SCOPE, facts=[Fact("a"), Fact("b" * 20_000)])
                ),
            }
            await adapter._writer.run(lambda book: book.db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 10_000))
            others = [store.observe(fact(f"tea {n}")) for n in range(15)]
            calls = [*others[:place], faults[fault](), *others[place:]]
            done = await together(path, store, calls)
            refused = done.pop(place)
            kind = {"no such record": NotFound, "half written": Unavailable}.get(fault, Conflict)
            assert isinstance(refused, kind)
            assert [one.records[0].content for one in done] == [f"tea {n}" for n in range(15)]

    asyncio.run(use())
    assert_sound(path)
    assert stored(path) == ["green tea", "black tea", "oolong", *(f"tea {n}" for n in range(15))]


def test_a_scope_that_a_refused_write_would_have_made_is_made_by_the_next(tmp_path):
    path, scope = tmp_path / "m.db", Scope("new")

    async def use() -> None:
        async with MemoryStore(SqliteAdapter(path)) as store:
            old = (await store.observe(fact("green tea"))).records[0]
            elsewhere = Observation(scope, facts=[Fact("x", supersedes=old.id)], idempotency_key="key")
            calls = [fact("black tea"), elsewhere, Observation(scope, facts=[Fact("white tea")])]
            _, refused, _ = await together(path, store, [store.observe(call) for call in calls])
            assert isinstance(refused, NotFound)
            found = await store.recall(Query(scope, text="tea"))
            assert [hit.record.content for hit in found.hits] == ["white tea"]

    asyncio.run(use())
    assert_sound(path)


SCOPES = [Scope("a"), Scope("b"), Scope(tenant="acme", user="u"), Scope(tenant="acme")]
texts = st.lists(
    st.sampled_from(["tea", "jasmine", "ran", "the", "Anna", "京都"]), min_size=1, max_size=4
).map(" ".join)
scopes = st.sampled_from(SCOPES)
picks = st.integers(0, 11)
steps = st.one_of(
    st.tuples(st.just("fact"), scopes, texts),
    st.tuples(st.just("turns"), scopes, st.lists(texts, min_size=1, max_size=3)),
    st.tuples(st.just("keyed"), scopes, st.sampled_from(["k1", "k2"]), st.none() | picks),
    st.tuples(st.just("supersede"), picks, texts),
    st.tuples(st.just("update"), picks, texts),
    st.tuples(st.just("invalidate"), picks),
    st.tuples(st.just("delete"), picks),
    st.tuples(st.just("purge"), scopes),
)


async def take(store: MemoryStore, step: tuple, homes: dict[str, Scope]) -> object:
    """One write; a pick names one of the prepared records."""
    verb, about, *rest = step
    ids = list(homes)
    id = ids[about % len(ids)] if isinstance(about, int) else ""
    match verb:
        case "fact":
            done = await store.observe(Observation(about, facts=[Fact(rest[0])]))
        case "turns":
            turns = [Turn("user", text, speaker="Anna") for text in rest[0]]
            done = await store.observe(Observation(about, turns=turns, provenance=Provenance("c")))
        case "keyed":
            once = Fact("once", supersedes=None if rest[1] is None else ids[rest[1] % len(ids)])
            done = await store.observe(Observation(about, facts=[once], idempotency_key=rest[0]))
        case "supersede":
            done = await store.observe(Observation(homes[id], facts=[Fact(rest[0], supersedes=id)]))
        case "update":
            done = await store.update(id, Patch(content=rest[0]))
        case "purge":
            done = await store.purge(about)
        case _:
            done = await getattr(store, verb)(id)
    return done


async def prepare(store: MemoryStore) -> dict[str, Scope]:
    """Three facts and three turns in two scopes; their ids, and where they live."""
    homes = {}
    for scope in SCOPES[1:3]:
        turns = [Turn("user", text, speaker="Anna") for text in ("jasmine tea", "ran", "the tea")]
        for items in ({"turns": turns, "provenance": Provenance("c")}, {"facts": [Fact("tea"), Fact("ran")]}):
            done = await store.observe(Observation(scope, **items))
            homes |= {record.id: scope for record in done.records}
    return homes


async def everything(store: MemoryStore) -> list[tuple]:
    records = (await store.scan()).records
    return sorted(
        (r.id, r.scope.canonical, r.content, r.invalid_at, r.supersedes or "", r.superseded_by or "")
        for r in records
    )


def outcome(done: object) -> object:
    if isinstance(done, HubError):
        return done.code
    assert not isinstance(done, BaseException)
    return [record.id for record in done.records] if hasattr(done, "records") else getattr(done, "id", done)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(steps, min_size=2, max_size=10))
def test_a_group_comes_to_what_its_writes_come_to_one_after_another(monkeypatch, script):
    def numbered() -> None:
        numbers = itertools.count(1)
        monkeypatch.setattr(changes, "new_id", lambda _: f"00000000-0000-7000-8000-{next(numbers):012x}")

    async def alone() -> tuple[list, list]:
        numbered()
        async with MemoryStore(InMemoryAdapter(), clock=SetClock()) as store:
            homes = await prepare(store)
            done = [await asyncio.gather(take(store, step, homes), return_exceptions=True) for step in script]
            return [outcome(one) for (one,) in done], await everything(store)

    async def grouped(path: Path) -> tuple[list, list]:
        numbered()
        async with MemoryStore(SqliteAdapter(path, durability="normal"), clock=SetClock()) as store:
            homes = await prepare(store)
            done = await together(path, store, [take(store, step, homes) for step in script])
            return list(map(outcome, done)), await everything(store)

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "m.db")
        assert asyncio.run(grouped(path)) == asyncio.run(alone())
        assert_sound(path)
