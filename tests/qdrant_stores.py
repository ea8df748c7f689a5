"""Embedded Qdrant stores for tests."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from memhub import Fact, InvalidConfig, MemoryStore, Observation, Query, Retry, Scope
from memhub.embedding import Embedder
from memhub_adapters.qdrant import QdrantAdapter

SCOPE = Scope("player:42")


def facts(*texts: str, **more: object) -> Observation:
    return Observation(SCOPE, facts=[Fact(text) for text in texts], **more)


def adapter(folder: Path, embedder: Embedder | None = None, collection: str = "memories") -> QdrantAdapter:
    return QdrantAdapter.embedded(folder, collection=collection, embedder=embedder)


@asynccontextmanager
async def store(folder: Path, embedder: Embedder | None = None) -> AsyncIterator[MemoryStore]:
    async with MemoryStore(adapter(folder, embedder), retry=Retry(attempts=1)) as opened:
        yield opened


async def texts(opened: MemoryStore, **asked: object) -> list[str]:
    return [hit.record.content for hit in (await opened.recall(Query(SCOPE, limit=100, **asked))).hits]


async def refused(one: QdrantAdapter) -> str:
    try:
        with pytest.raises(InvalidConfig) as caught:
            await one.open()
    finally:
        await one.aclose()
    return str(caught.value)
