"""The same memories on SQLite and on PostgreSQL: two hundred queries find the same, in the same order."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from memhub import Fact, MemoryStore, Observation, Patch, Provenance, Query, Scope, Turn, changes
from memhub_adapters.postgres import PostgresAdapter
from memhub_adapters.sqlite import SqliteAdapter
from postgres_fixture import drop, dsn, new_schema

START = datetime(2024, 5, 8, 9, tzinfo=UTC)
SCOPES = [
    Scope("player:42"),
    Scope("player:7"),
    Scope(tenant="acme"),
    *(Scope(tenant="acme", user=f"u{n}") for n in range(3)),
    Scope(tenant="zenith", user="u1"),
]
PEOPLE = ["Anna", "Bo", "Chiara", "李雷"]
WORDS = [
    "tea",
    "jasmine",
    "oolong",
    "harbour",
    "lantern",
    "violin",
    "garden",
    "winter",
    "Lisbon",
    "train",
    "running",
    "ran",
    "runs",
    "morning",
    "café",
    "北京",
    "天气",
    "東京",
    "🍕",
    "snake_case",
    "walk",
    "tide",
    "concert",
    "rehearsal",
    "sister",
    "brother",
    "May",
    "Tuesday",
    "doctor",
    "recipe",
    "soup",
    "the",
    "a",
    "and",
    "will",
    "not",
    "is",
    "was",
    "to",
    "of",
]
CITIES = ["Porto", "Lisbon", "北京"]


class Story:
    """What is written and asked; seeded, so that both stores are told the same."""

    def __init__(self) -> None:
        self.chance = random.Random(11)
        self.now = START

    def clock(self) -> datetime:
        return self.now

    def words(self, most: int) -> str:
        return " ".join(self.chance.choices(WORDS, k=self.chance.randint(1, most)))

    def turns(self) -> Observation:
        said = [
            Turn(
                self.chance.choice(["user", "assistant"]),
                self.words(25),
                speaker=self.chance.choice([*PEOPLE, None]),
                at=self.now + timedelta(minutes=number),
            )
            for number in range(self.chance.randint(1, 6))
        ]
        conversation = self.chance.choice([None, "first", "second"])
        return Observation(self.scope(), turns=said, provenance=Provenance(conversation))

    def facts(self) -> Observation:
        return Observation(self.scope(), facts=[self.fact() for _ in range(self.chance.randint(1, 4))])

    def fact(self) -> Fact:
        return Fact(
            self.words(18),
            kind=self.chance.choice(["fact", "preference", "profile"]),
            tags=self.chance.sample(["red", "blue", "tea"], k=self.chance.randint(0, 2)),
            attributes={"n": self.chance.randint(0, 5), "city": self.chance.choice(CITIES)},
            expires_at=self.chance.choice([None] * 6 + [self.now + timedelta(days=3)]),
        )

    def scope(self) -> Scope:
        return self.chance.choice(SCOPES)

    def query(self) -> Query:
        pick = self.chance.random
        return Query(
            self.chance.sample(SCOPES, k=self.chance.randint(1, 3)),
            text=self.words(6) if pick() < 0.85 else None,
            limit=self.chance.choice([1, 5, 10, 50, 300]),
            exact=pick() < 0.2,
            explain=pick() < 0.3,
            **self.filters(),
        )

    def filters(self) -> dict[str, object]:
        moment = START + timedelta(hours=self.chance.randint(0, 300))
        choices: list[dict[str, object]] = [
            {"kinds": ["preference", "episode"]},
            {"tags": ["red"]},
            {"where": {"n": {"gte": 2, "lt": 5}}},
            {"where": {"city": {"in": ["Porto", "北京"]}, "n": {"ne": 1}}},
            {"where": {"city": {"exists": False}}},
            {"since": moment},
            {"until": moment},
            {"as_of": moment},
            {"include_invalidated": True},
        ]
        return self.chance.choice([{}, {}, *choices])


async def live(store: MemoryStore, story: Story) -> None:
    """Some 900 records, a tenth of them changed afterwards in every way there is."""
    written = []
    for _ in range(260):
        story.now += timedelta(hours=1)
        said = story.turns() if story.chance.random() < 0.7 else story.facts()
        written += (await store.observe(said)).records
    for record in story.chance.sample(written, k=90):
        story.now += timedelta(minutes=1)
        change = story.chance.randrange(4)
        if change == 0 and record.expires_at is None:
            await store.update(record.id, Patch(content=story.words(20)))
        elif change == 1 and record.expires_at is None:
            await store.invalidate(record.id, "no longer so")
        elif change == 2:
            await store.delete(record.id)
        elif record.expires_at is None:
            await store.observe(Observation(record.scope, facts=[Fact(story.words(9), supersedes=record.id)]))


async def answers(store: MemoryStore, story: Story) -> list[tuple]:
    queries = [story.query() for _ in range(200)]
    return [(query, await hits_of(store, query)) for query in queries]


async def hits_of(store: MemoryStore, query: Query) -> list[tuple]:
    return [(hit.record.id, hit.score, hit.why) for hit in (await store.recall(query)).hits]


async def told(store: MemoryStore, story: Story, monkeypatch) -> list[tuple]:
    numbers = itertools.count(1)
    monkeypatch.setattr(changes, "new_id", lambda _: f"00000000-0000-7000-8000-{next(numbers):012x}")
    await live(store, story)
    return await answers(store, story)


async def moved(source: MemoryStore, target: MemoryStore) -> None:
    """Every record of one store, restored into another."""
    cursor = None
    while True:
        page = await source.scan(cursor, limit=100)
        await target.restore(page.records)
        cursor = page.cursor
        if cursor is None:
            return


@pytest.fixture
def schemas() -> Iterator[tuple[str, str]]:
    names = new_schema(), new_schema()
    yield names
    for name in names:
        drop(name)


def test_two_hundred_queries_find_the_same_on_both_and_after_a_move(tmp_path, schemas, monkeypatch):
    one, other = schemas

    async def compare() -> None:
        story, again = Story(), Story()
        async with (
            MemoryStore(SqliteAdapter(tmp_path / "m.db"), clock=story.clock) as sqlite,
            MemoryStore(PostgresAdapter(dsn(), schema=one), clock=again.clock) as postgres,
            MemoryStore(PostgresAdapter(dsn(), schema=other), clock=again.clock) as second,
        ):
            expected = await told(sqlite, story, monkeypatch)
            found = await told(postgres, again, monkeypatch)
            assert_alike(expected, found)
            await moved(postgres, second)
            questions = [query for query, _ in expected]
            assert_alike(expected, [(query, await hits_of(second, query)) for query in questions])
            for store in (sqlite, postgres, second):
                assert await store.upkeep().check(deep=True) == []

    asyncio.run(compare())


def assert_alike(expected: list[tuple], found: list[tuple]) -> None:
    for one, other in zip(expected, found, strict=True):
        assert one == other
    assert sum(bool(hits) for _, hits in expected) > 150
