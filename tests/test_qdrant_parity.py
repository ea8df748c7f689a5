"""Whatever is stored and asked, Qdrant answers as the store in memory does: records, filters, pages, members."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memhub import Fact, MemoryStore, Observation, Provenance, Query, Record, Scope, Turn
from memhub_adapters.in_memory import InMemoryAdapter
from memhub_adapters.qdrant import QdrantAdapter
from qdrant_folders import quick_folder
from strategies import records, scalars, scopes

NAMES = ("city", "a.b", "AND", "n", "ü")
SOME = st.sampled_from(["Porto", "1", 1, 1.0, 2, 2.5, -0.0, 0, True, False, "true", 2**53])
HERE = Scope(tenant="acme", user="ann")
THERE = Scope(tenant="acme", user="bob")
START = datetime(2024, 5, 8, 9, tzinfo=UTC)
NOW = datetime(2030, 1, 1, tzinfo=UTC)
thorough = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)


class Pair:
    """The two stores in one event loop, and a scope of its own for each example."""

    def __init__(self, runner: asyncio.Runner, qdrant: MemoryStore) -> None:
        self.run = runner.run
        self.qdrant = qdrant
        self.count = 0

    def fresh(self) -> tuple[MemoryStore, MemoryStore]:
        """Both, empty."""
        found = self.run(self.qdrant.stats(by_scope=True))
        for row in found.scopes:
            self.run(self.qdrant.purge(row.scope, exact=True))
        return self.qdrant, MemoryStore(InMemoryAdapter(), clock=lambda: NOW)

    def both(self, items: list[Record]) -> tuple[MemoryStore, MemoryStore]:
        stores = self.fresh()
        for store in stores:
            self.run(store.restore(items))
        return stores

    def pages(self, store: MemoryStore, query: Query) -> list[Record]:
        found: list[Record] = []
        while True:
            page = self.run(store.recall(query))
            found += [hit.record for hit in page.hits]
            if page.cursor is None:
                return found
            query = replace(query, cursor=page.cursor)


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    with quick_folder() as folder, asyncio.Runner() as runner:
        store = MemoryStore(QdrantAdapter.embedded(folder, collection="parity"), clock=lambda: NOW)
        yield Pair(runner, store)
        runner.run(store.aclose())


def distinct(items: list[Record]) -> list[Record]:
    return list({record.id: record for record in items}.values())


@thorough
@given(items=st.lists(records, min_size=1, max_size=4).map(distinct))
def test_any_record_comes_back_as_it_was(pair: Pair, items: list[Record]) -> None:
    qdrant, _ = pair.both(items)
    alive = [record for record in items if record.expires_at is None or record.expires_at > NOW]
    if alive:
        assert pair.run(qdrant.get([record.id for record in alive])) == alive
    assert list(pair.run(qdrant.scan()).records) == items


@thorough
@given(items=st.lists(records, min_size=1, max_size=4).map(distinct), asked=scopes, exact=st.booleans())
def test_scopes_reach_what_they_reach_in_memory(
    pair: Pair, items: list[Record], asked: Scope, exact: bool
) -> None:
    qdrant, memory = pair.both(items)
    for scope in (asked, items[0].scope, Scope(items[0].scope.canonical)):
        query = Query(scope, exact=exact, include_invalidated=True)
        assert pair.pages(qdrant, query) == pair.pages(memory, query)


VALUES = st.dictionaries(st.sampled_from(NAMES), SOME | st.lists(SOME, max_size=3), max_size=4)
TESTS = st.one_of(
    st.tuples(st.sampled_from(["eq", "ne"]), SOME),
    st.tuples(st.sampled_from(["in", "not_in"]), st.lists(SOME, min_size=1, max_size=3)),
    st.tuples(st.just("exists"), st.booleans()),
    st.tuples(st.sampled_from(["gt", "gte", "lt", "lte"]), st.sampled_from([0, 1, 2.5, -1, 2**53])),
)
WHERE = st.dictionaries(
    st.sampled_from(NAMES), st.lists(TESTS, min_size=1, max_size=2).map(dict), min_size=1, max_size=2
)


@thorough
@given(kept=st.lists(VALUES, min_size=1, max_size=6), where=WHERE)
def test_filters_mean_the_same(pair: Pair, kept: list[dict], where: dict) -> None:
    stores = pair.fresh()
    for store in stores:
        facts = [Fact(f"memory {n}", attributes=values) for n, values in enumerate(kept)]
        pair.run(store.observe(Observation(HERE, facts=facts)))
    query = Query(HERE, where=where, limit=100)
    found = [[hit.record.content for hit in pair.run(store.recall(query)).hits] for store in stores]
    assert found[0] == found[1]


@thorough
@given(attributes=st.dictionaries(st.text(min_size=1, max_size=3).filter(str.strip), scalars, max_size=3))
def test_any_attribute_is_found_by_what_it_is(pair: Pair, attributes: dict) -> None:
    if any("\0" in name or not name.isprintable() for name in attributes):
        return
    qdrant, _ = pair.fresh()
    pair.run(qdrant.observe(Observation(HERE, facts=[Fact("a memory", attributes=attributes)])))
    for name, value in attributes.items():
        assert pair.pages(qdrant, Query(HERE, where={name: value}))
        assert not pair.pages(qdrant, Query(HERE, where={name: {"ne": value}}))


FEW_TIMES = st.integers(0, 2).map(lambda n: START + timedelta(hours=n))


@thorough
@given(
    times=st.lists(st.tuples(FEW_TIMES, FEW_TIMES, st.integers(0, 2)), min_size=1, max_size=12),
    size=st.integers(1, 5),
)
def test_pages_of_any_size_show_ties_in_order(pair: Pair, times: list[tuple], size: int) -> None:
    items = [
        Record(
            id=f"record-{n}",
            scope=HERE,
            kind="fact",
            content=f"memory {n}",
            created_at=created,
            updated_at=created,
            observed_at=observed,
            revision="r",
            position=position,
        )
        for n, (observed, created, position) in enumerate(times)
    ]
    qdrant, memory = pair.both(items)
    whole = pair.pages(memory, Query(HERE, limit=1000))
    assert pair.pages(qdrant, Query(HERE, limit=size)) == whole


WORDS = st.lists(
    st.sampled_from(
        [
            "tea",
            "jasmine",
            "running",
            "ran",
            "café",
            "北京天气",
            "🍕",
            "snake_case",
            "the",
            "not",
            "May",
            "1899",
            "x",
        ]
    ),
    min_size=1,
    max_size=6,
).map(" ".join)


@thorough
@given(said=st.lists(st.tuples(WORDS, st.booleans()), min_size=1, max_size=8), asked=WORDS)
def test_words_find_the_same_members(pair: Pair, said: list[tuple[str, bool]], asked: str) -> None:
    stores, found = pair.fresh(), []
    for store in stores:
        for n, (text, turn) in enumerate(said):
            at = START + timedelta(minutes=n)
            kept = {"turns": [Turn("user", text, at=at)]} if turn else {"facts": [Fact(text)]}
            pair.run(store.observe(Observation(HERE, observed_at=at, provenance=Provenance("chat"), **kept)))
        hits = pair.run(store.recall(Query(HERE, text=asked, limit=100))).hits
        found.append(sorted(hit.record.content for hit in hits))
    assert found[0] == found[1]


def test_other_scopes_do_not_change_the_order(pair: Pair) -> None:
    qdrant, _ = pair.fresh()
    texts = ["green tea", "black tea", "tea leaves", "saffron rice", "tea of saffron", "rice pudding"]
    pair.run(qdrant.observe(Observation(HERE, facts=[Fact(text) for text in texts])))
    query = Query(HERE, text="saffron tea rice", explain=True)
    alone = pair.run(qdrant.recall(query)).hits
    common = [Fact(f"saffron rice number {n}") for n in range(300)]
    pair.run(qdrant.observe(Observation(THERE, facts=common)))
    assert pair.run(qdrant.recall(query)).hits == alone
    assert pair.run(qdrant.recall(replace(query, scope=Scope(tenant="acme")))).hits != alone


def test_ties_are_cut_in_the_order_of_a_listing(pair: Pair) -> None:
    qdrant, _ = pair.fresh()
    facts = [Fact("jasmine tea") for _ in range(300)]
    kept = pair.run(qdrant.observe(Observation(HERE, facts=facts))).records
    hits = pair.run(qdrant.recall(Query(HERE, text="tea", limit=3))).hits
    assert [hit.record.id for hit in hits] == [record.id for record in kept[:-4:-1]]
