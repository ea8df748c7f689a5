"""A Qdrant collection remembers what made its vectors, and goes over to another maker when told to."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from memhub import (
    MemoryStore,
    Observation,
    Query,
    Retry,
    Turn,
    Unavailable,
    Unsupported,
)
from memhub.embedding import Embedder
from memhub_adapters.embedders.hash import HashEmbedder
from qdrant_folders import quick_folder
from qdrant_stores import SCOPE, adapter, facts, refused, store, texts


class Renamed(HashEmbedder):
    """The same vectors under another name, and a count of the texts that were asked for."""

    def __init__(self, identity: str, dimensions: int = 16, fails_after: int | None = None) -> None:
        super().__init__(dimensions)
        self.identity = identity
        self.fails_after = fails_after
        self.seen = 0

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        if self.fails_after is not None and self.seen >= self.fails_after:
            raise Unavailable("the model has gone")
        self.seen += len(texts)
        return await super().embed(texts)


@pytest.fixture
def folder() -> Path:
    with quick_folder() as place:
        yield place


def test_another_embedder_is_refused_by_both_names_until_reembedded(folder: Path) -> None:
    async def run() -> None:
        async with store(folder, Renamed("model-a", 16)) as opened:
            await opened.observe(facts("jasmine tea", "black coffee"))
        told = await refused(adapter(folder, Renamed("model-b", 16)))
        assert "model-a (16 dimensions)" in told
        assert "model-b (16 dimensions)" in told
        assert "memhub reembed" in told
        assert "model-a (24 dimensions)" in await refused(adapter(folder, Renamed("model-a", 24)))
        assert "no embedder" in await refused(adapter(folder))
        one = adapter(folder, Renamed("model-b", 24))
        await one.open(reembedding=True)
        steps: list[tuple[int, int]] = []
        async with MemoryStore(one) as opened:
            assert await opened.reembed(progress=lambda *step: steps.append(step)) == 2
            assert await texts(opened, text="black coffee", mode="semantic") == [
                "black coffee",
                "jasmine tea",
            ]
        assert steps == [(2, 2)]
        assert "model-b (24 dimensions)" in await refused(adapter(folder, Renamed("model-a", 16)))
        async with store(folder, Renamed("model-b", 24)) as opened:
            assert await texts(opened, text="tea", mode="keyword") == ["jasmine tea"]

    asyncio.run(run())


def test_embedding_anew_goes_on_where_it_was_stopped(folder: Path) -> None:
    async def run() -> None:
        async with store(folder, Renamed("model-a")) as opened:
            await opened.observe(facts(*(f"memory {n}" for n in range(200))))
        failing = Renamed("model-b", fails_after=128)
        one = adapter(folder, failing)
        await one.open(reembedding=True)
        async with MemoryStore(one, retry=Retry(attempts=1)) as opened:
            with pytest.raises(Unavailable):
                await opened.reembed()
        assert failing.seen == 128
        assert "model-a" in await refused(adapter(folder, Renamed("model-b")))
        async with store(folder, Renamed("model-a")) as opened:
            await opened.observe(facts("written meanwhile"))
        rest = Renamed("model-b")
        one = adapter(folder, rest)
        await one.open(reembedding=True)
        async with MemoryStore(one) as opened:
            assert await opened.reembed() == 73
            assert rest.seen == 73
            assert await opened.reembed() == 0
            assert len(await texts(opened, text="memory", mode="semantic")) == 100

    asyncio.run(run())


def test_a_store_without_an_embedder_gets_one(folder: Path) -> None:
    async def run() -> None:
        async with store(folder) as opened:
            await opened.observe(facts("jasmine tea"))
            with pytest.raises(Unsupported, match="no embedder is configured"):
                await opened.recall(Query(SCOPE, text="tea", mode="hybrid"))
            with pytest.raises(Unsupported, match="no embedder is configured"):
                await opened.reembed()
        one = adapter(folder, Renamed("model-a"))
        await one.open(reembedding=True)
        async with MemoryStore(one) as opened:
            assert await opened.reembed() == 1
            assert await texts(opened, text="tea") == ["jasmine tea"]

    asyncio.run(run())


@pytest.mark.parametrize("embedder", [None, Renamed("model-a", fails_after=3)])
def test_words_cut_by_another_analyzer_are_cut_anew_and_nothing_is_embedded(
    folder: Path, monkeypatch: pytest.MonkeyPatch, embedder: Embedder | None
) -> None:
    async def run() -> None:
        async with store(folder, embedder) as opened:
            await opened.observe(
                Observation(SCOPE, turns=[Turn("user", "do you like tea"), Turn("assistant", "very much")])
            )
        monkeypatch.setattr("memhub_adapters.qdrant.collection.fingerprint", lambda: "2-ffffffff")
        async with store(folder, embedder) as opened:
            assert await texts(opened, text="tea", mode="keyword") == ["do you like tea", "very much"]
            assert (await opened._adapter._engine.shape()).sparse == {"words-2-ffffffff"}

    asyncio.run(run())
