"""Without an index the same is found, in the same order, with the same reasons."""

import asyncio
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memhub import Fact, MemoryStore, Observation, Query, Recalled, Scope
from memhub.requests import read_from
from memhub.unindexed import listed, searched
from memhub_adapters.in_memory import InMemoryAdapter

ME = Scope("me")
NOW = datetime(2026, 3, 1, tzinfo=UTC)
words = st.lists(st.sampled_from(["tea", "teas", "the", "Zoë", "茶", "🍵", "cup_of"]), min_size=1, max_size=4)
contents = st.lists(words.map(" ".join), min_size=1, max_size=150)


def both(texts: list[str], query: Query) -> tuple[Recalled, Recalled]:
    """What the in-memory adapter finds, and what is found without its index."""

    async def run() -> tuple[Recalled, Recalled]:
        async with MemoryStore(InMemoryAdapter(), clock=lambda: NOW) as memory:
            facts = [Fact(text, kind="preference" if n % 3 else "fact") for n, text in enumerate(texts)]
            kept = (await memory.observe(Observation(ME, facts=facts))).records
            read = read_from(query, NOW)
            rows = list(enumerate(kept, 1))
            return await memory.recall(query), searched(kept, read) if query.text else listed(
                rows, read, newest=len(rows)
            )

    return asyncio.run(run())


@given(contents, words, st.integers(1, 20), st.booleans())
def test_a_search_finds_the_same(texts: list[str], asked: list[str], limit: int, explain: bool) -> None:
    query = Query(ME, text=" ".join(asked), limit=limit, explain=explain, kinds=["preference"])
    indexed, plain = both(texts, query)
    assert plain == indexed


@given(contents, st.integers(1, 20))
def test_a_listing_shows_the_same(texts: list[str], limit: int) -> None:
    indexed, plain = both(texts, Query(ME, limit=limit, kinds=["fact"]))
    assert plain.hits == indexed.hits
    assert (plain.cursor is None) == (indexed.cursor is None)


@pytest.mark.parametrize("text", ["tea", None])
def test_nothing_is_found_among_no_records(text: str | None) -> None:
    read = read_from(Query(ME, text=text), NOW)
    assert (searched([], read) if text else listed([], read, newest=0)) == Recalled()
