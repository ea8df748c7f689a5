"""Search by meaning with pgvector: exact, never short, and never with another embedder's vectors."""

import asyncio
import math
import random
from collections.abc import Awaitable, Callable, Iterator, Sequence

import pytest
from psycopg.conninfo import make_conninfo

from memhub import (
    Fact,
    InvalidConfig,
    MemoryStore,
    Observation,
    Patch,
    Provenance,
    Query,
    Scope,
    Turn,
    Unavailable,
    Unsupported,
)
from memhub_adapters.embedders.hash import HashEmbedder
from memhub_adapters.postgres import PostgresAdapter, meaning
from postgres_fixture import drop, dsn, new_schema, sql

SCOPE = Scope(tenant="acme", user="u")
WORDS = "tea jasmine oolong harbour lantern violin garden winter train rehearsal doctor recipe".split()  # noqa: SIM905


class Other(HashEmbedder):
    """Another model: the same size, another identity."""

    def __init__(self, dimensions: int = 64) -> None:
        super().__init__(dimensions)
        self.identity = "other"
        self.fails_after = math.inf
        self.meanwhile: Callable[[], Awaitable[object]] | None = None

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile is not None:
            await meanwhile()
        self.fails_after -= len(texts)
        if self.fails_after < 0:
            raise Unavailable("the model is away")
        return [vector[::-1] for vector in await super().embed(texts)]


@pytest.fixture
def schema() -> Iterator[str]:
    name = new_schema()
    yield name
    drop(name)


def run(
    schema: str,
    use: Callable[[MemoryStore], Awaitable[object]],
    embedder: HashEmbedder | None = None,
    *,
    to: str = "",
    reembedding: bool = False,
) -> None:
    async def go() -> None:
        adapter = PostgresAdapter(to or dsn(), schema=schema, embedder=embedder)
        try:
            await adapter.open(reembedding=reembedding)
        except BaseException:
            await adapter.aclose()
            raise
        async with MemoryStore(adapter) as store:
            await use(store)

    asyncio.run(go())


async def write(store: MemoryStore, *texts: str, scope: Scope = SCOPE) -> None:
    await store.observe(Observation(scope, facts=[Fact(text) for text in texts]))


async def found(store: MemoryStore, text: str, **options: object) -> list[str]:
    hits = (await store.recall(Query(options.pop("scope", SCOPE), text=text, **options))).hits
    return [hit.record.content for hit in hits]


def sentences(count: int, seed: int = 3) -> list[str]:
    chance = random.Random(seed)
    return [f"{' '.join(chance.choices(WORDS, k=8))} {n}" for n in range(count)]


async def nearest(texts: list[str], question: str) -> list[str]:
    """The texts by their cosines, worked out here."""
    embedder = HashEmbedder(64)
    [asked], vectors = await embedder.embed([question]), await embedder.embed(texts)
    scores = {text: sum(map(float.__mul__, asked, one)) for text, one in zip(texts, vectors, strict=True)}
    return sorted(texts, key=lambda text: -round(scores[text], 6))


# What is found


@pytest.mark.parametrize("way", ["exact", "approximate", "given up"])
def test_the_nearest_are_found_in_a_scope_among_many_and_never_too_few(schema, monkeypatch, way):
    # As if vectors were so large, or so small, that there can be but few, or very many, of them.
    monkeypatch.setattr(meaning, "_ROW", 1 if way == "exact" else 10**9)
    monkeypatch.setattr(meaning, "_LEAST", 1 if way == "given up" else 20_000)
    mine = sentences(60)

    async def use(store: MemoryStore) -> None:
        for number in range(4):
            others = sentences(250, seed=number + 10)
            await write(store, *others, scope=Scope(tenant="acme", user=f"other{number}"))
        await write(store, *mine)
        for question in ("jasmine tea in the garden", "doctor doctor", "winter train"):
            by_meaning = await found(store, question, mode="semantic", limit=50)
            expected = await nearest(mine, question)
            assert len(by_meaning) == 50
            assert set(by_meaning[:20]) == set(expected[:20])
            assert len(await found(store, question, limit=60)) == 60
        assert len(await found(store, "tea", mode="semantic", limit=500, scope=Scope(tenant="acme"))) == 500

    run(schema, use, HashEmbedder(64))


def test_filters_are_applied_before_the_cut(schema):
    async def use(store: MemoryStore) -> None:
        await write(store, *(f"tea tea tea {n}" for n in range(50)))
        for number in range(5):
            fact = Fact(f"violin {number}", tags=["rare"], attributes={"n": number})
            await store.observe(Observation(SCOPE, facts=[fact]))
        for mode in ("semantic", "hybrid"):
            assert len(await found(store, "tea", mode=mode, limit=5, tags=["rare"])) == 5
            assert await found(store, "tea", mode=mode, where={"n": {"gt": 3}}) == ["violin 4"]

    run(schema, use, HashEmbedder(64))


def test_words_and_meaning_are_fused_and_said(schema):
    async def use(store: MemoryStore) -> None:
        await write(store, "jasmine tea", "green leaves in water", "a violin rehearsal")
        hits = (await store.recall(Query(SCOPE, text="jasmine tea", explain=True))).hits
        assert hits[0].record.content == "jasmine tea"
        assert len(hits) == 3
        assert hits[0].why.semantic == pytest.approx(0.35)
        assert set(hits[0].why.words) == {"jasmine", "tea"}
        assert hits[0].score == pytest.approx(1.0)
        alone = (await store.recall(Query(SCOPE, text="jasmine tea", mode="semantic", explain=True))).hits
        assert alone[0].why.semantic == pytest.approx(1.0, abs=1e-6)
        assert await found(store, "jasmine tea", mode="keyword") == ["jasmine tea"]

    run(schema, use, HashEmbedder(64))


def test_turns_still_gain_from_those_around_them(schema):
    said = ["when is the rehearsal", "on tuesday at six", "shall I bring the violin"]

    async def use(store: MemoryStore) -> None:
        turns = [Turn("user", text) for text in said]
        await store.observe(Observation(SCOPE, turns=turns, provenance=Provenance("c")))
        await write(store, "on tuesday at seven")
        hits = await found(store, "when is the rehearsal")
        assert hits[0] == said[0]
        assert hits.index(said[1]) < hits.index("on tuesday at seven")

    run(schema, use, HashEmbedder(64))


def test_a_vector_follows_its_record(schema):
    async def use(store: MemoryStore) -> None:
        stored = await store.observe(Observation(SCOPE, facts=[Fact("jasmine tea"), Fact("violin")]))
        tea, violin = stored.records
        await store.update(tea.id, Patch(content="winter train"))
        assert (await found(store, "winter train", mode="semantic"))[0] == "winter train"
        assert (await found(store, "jasmine tea", mode="semantic")) != ["jasmine tea"]
        await store.delete(violin.id)
        assert sql(f"SELECT count(*) FROM {schema}.meaning") == [(1,)]
        assert await store.upkeep().check(deep=True) == []
        await store.purge(SCOPE)
        assert sql(f"SELECT count(*) FROM {schema}.meaning") == [(0,)]

    run(schema, use, HashEmbedder(64))


def test_a_model_that_is_away_stores_nothing(schema):
    embedder = Other()

    async def use(store: MemoryStore) -> None:
        await write(store, "jasmine tea")
        embedder.fails_after = 0
        with pytest.raises(Unavailable, match="the model is away"):
            await write(store, "violin")
        embedder.fails_after = math.inf
        assert (await store.stats()).live == 1

    run(schema, use, embedder)


@pytest.mark.parametrize(("dimensions", "kind"), [(2000, "vector"), (2001, "halfvec"), (4000, "halfvec")])
def test_long_vectors_are_kept_as_the_index_can_hold_them(schema, dimensions, kind):
    async def use(store: MemoryStore) -> None:
        await write(store, "jasmine tea", "violin")
        assert (await found(store, "jasmine tea", mode="semantic"))[0] == "jasmine tea"

    run(schema, use, HashEmbedder(dimensions))
    [(found_kind,)] = sql(
        "SELECT format_type(atttypid, atttypmod) FROM pg_attribute "
        f"WHERE attrelid = '{schema}.meaning'::regclass AND attname = 'embedding'"
    )
    assert found_kind.endswith(f"{kind}({dimensions})")


def test_longer_vectors_than_any_index_holds_are_refused(schema):
    with pytest.raises(InvalidConfig, match="pgvector indexes 4,000 at most; use a smaller model"):
        run(schema, lambda store: store.ping(), HashEmbedder(4001))


# Whose vectors they are


async def _tea(store: MemoryStore) -> None:
    await write(store, "jasmine tea", "violin")


@pytest.mark.parametrize("embedder", [None, Other(), HashEmbedder(32)])
def test_vectors_of_another_embedder_are_refused_and_told(schema, embedder):
    run(schema, _tea, HashEmbedder(64))
    with pytest.raises(
        InvalidConfig, match=r"holds vectors of hash \(64 dimensions\), and the configuration has"
    ):
        run(schema, _tea, embedder)
    run(schema, _tea, HashEmbedder(64))


def test_records_without_vectors_are_told_and_reembedded(schema):
    run(schema, _tea)
    with pytest.raises(InvalidConfig, match="have no vectors yet; run `memhub reembed STORE` once"):
        run(schema, _tea, HashEmbedder(64))

    async def use(store: MemoryStore) -> None:
        assert await store.reembed() == 2
        assert (await found(store, "jasmine tea", mode="semantic"))[0] == "jasmine tea"

    run(schema, use, HashEmbedder(64), reembedding=True)
    run(schema, _tea, HashEmbedder(64))


def test_reembedding_goes_over_to_another_embedder_while_others_write(schema):
    async def use(old: MemoryStore) -> None:
        await write(old, *sentences(150))
        embedder = Other()
        embedder.meanwhile = lambda: asyncio.gather(
            *(write(old, f"written meanwhile {n}") for n in range(20))
        )
        adapter = PostgresAdapter(dsn(), schema=schema, embedder=embedder)
        await adapter.open(reembedding=True)
        async with MemoryStore(adapter) as new:
            seen: list[tuple[int, int]] = []
            count = await new.reembed(progress=lambda *step: seen.append(step))
            assert count >= 150
            assert seen[-1][0] == count
        with pytest.raises(Unavailable, match="or with another embedder"):
            await write(old, "with the former model")

    run(schema, use, HashEmbedder(64))

    async def after(store: MemoryStore) -> None:
        await store.reembed()
        assert await store.upkeep().check(deep=True) == []
        assert (await found(store, "written meanwhile 7", mode="semantic"))[0] == "written meanwhile 7"

    run(schema, after, Other(), reembedding=True)


def test_what_changes_while_it_is_reembedded_is_reembedded_as_it_is_then(schema):
    async def use(old: MemoryStore) -> None:
        record = (await old.observe(Observation(SCOPE, facts=[Fact("jasmine tea")]))).records[0]
        await write(old, *sentences(10))
        embedder = Other()
        embedder.meanwhile = lambda: old.update(record.id, Patch(content="a violin rehearsal"))
        adapter = PostgresAdapter(dsn(), schema=schema, embedder=embedder)
        await adapter.open(reembedding=True)
        async with MemoryStore(adapter) as new:
            await new.reembed()
            hits = (
                await new.recall(Query(SCOPE, text="a violin rehearsal", mode="semantic", explain=True))
            ).hits
            assert hits[0].record.id == record.id
            assert hits[0].score == pytest.approx(1.0, abs=1e-6)

    run(schema, use, HashEmbedder(64))


def test_a_reembedding_that_was_stopped_goes_on_where_it_was(schema):
    run(schema, lambda store: write(store, *sentences(200)), HashEmbedder(64))
    embedder = Other()
    embedder.fails_after = 130

    async def stopped(store: MemoryStore) -> None:
        with pytest.raises(Unavailable, match="the model is away"):
            await store.reembed()

    async def finished(store: MemoryStore) -> None:
        assert await store.reembed() == 200 - 128

    run(schema, stopped, embedder, reembedding=True)
    run(schema, lambda store: store.ping(), HashEmbedder(64))
    run(schema, finished, Other(), reembedding=True)
    run(schema, lambda store: store.ping(), Other())


# Where pgvector is not


@pytest.fixture
def plain() -> Iterator[str]:
    """A database without any extension."""
    name = new_schema()
    sql(f"CREATE DATABASE {name}")
    yield make_conninfo(dsn(), dbname=name)
    sql(f"DROP DATABASE {name} WITH (FORCE)")


def test_without_pgvector_it_searches_by_words_and_its_capabilities_say_why(plain):
    async def use(store: MemoryStore) -> None:
        await write(store, "jasmine tea", "violin")
        assert store.capabilities.modes == ("keyword",)
        assert "let an administrator run CREATE EXTENSION vector" in store.capabilities.why_not("hybrid")
        assert await found(store, "tea") == ["jasmine tea"]
        with pytest.raises(Unsupported, match="the database has no pgvector"):
            await found(store, "tea", mode="semantic")

    run("memhub", use, HashEmbedder(64), to=plain)


def test_a_check_tells_a_missing_extension_and_missing_vectors(schema, plain):
    async def without(store: MemoryStore) -> None:
        [fault] = await store.upkeep().check()
        assert fault.startswith("the database has no pgvector")

    async def lacking(store: MemoryStore) -> None:
        await _tea(store)
        assert await store.upkeep().check(deep=True) == []
        await store.upkeep().compact()
        sql(f"DELETE FROM {schema}.meaning WHERE key IN (SELECT min(key) FROM {schema}.meaning)")
        assert await store.upkeep().check(deep=True) == ["1 records have no vector; run `memhub reembed`"]
        sql(f"DROP INDEX {schema}.meaning_near")
        assert await store.upkeep().check() == ["index meaning_near is missing"]

    run("memhub", without, HashEmbedder(64), to=plain)
    run(schema, lacking, HashEmbedder(64))


def test_a_schema_of_vectors_whose_pgvector_was_dropped_is_refused_as_such(plain):
    async def opened() -> None:
        adapter = PostgresAdapter(plain, embedder=HashEmbedder(8))
        try:
            await adapter.open()
        finally:
            await adapter.aclose()

    sql("CREATE EXTENSION vector", to=plain)
    asyncio.run(opened())
    sql("DROP EXTENSION vector CASCADE", to=plain)
    with pytest.raises(InvalidConfig, match=r"holds vectors of .*, but the database has no pgvector"):
        asyncio.run(opened())
