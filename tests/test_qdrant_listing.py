"""A listing of a Qdrant collection: as many records at one and the same place as there may be."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from memhub import Fact, MemoryStore, Observation, Query, Scope
from memhub_adapters.qdrant import QdrantAdapter, edge, ordered
from memhub_adapters.qdrant import remote as remote_engine
from memhub_adapters.standins import Server
from memhub_adapters.standins.qdrant import Qdrant
from qdrant_folders import quick_folder

SCOPE = Scope("player:42")


@pytest.fixture
def folder() -> Path:
    with quick_folder() as place:
        yield place


@pytest.mark.parametrize("remote", [False, True])
def test_a_listing_goes_on_through_more_ties_than_one_page_holds(
    folder: Path, remote: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As records have that were all restored with one and the same time."""
    for module in (edge, ordered, remote_engine):
        monkeypatch.setattr(module, "ALL", 3)

    async def run(one: QdrantAdapter) -> None:
        async with MemoryStore(one) as opened:
            record = (await opened.observe(Observation(SCOPE, facts=[Fact("tied")]))).records[0]
            tied = [replace(record, id=f"{n:02}", content=f"tied {n}") for n in range(20)]
            await opened.restore(tied)
            seen, query = list[str](), Query(SCOPE, limit=4)
            while True:
                page = await opened.recall(query)
                seen += [hit.record.id for hit in page.hits]
                if page.cursor is None:
                    break
                query = replace(query, cursor=page.cursor)
            assert seen == sorted([record.id, *(one.id for one in tied)], reverse=True)

    with Server(Qdrant()) as server:
        if remote:
            asyncio.run(run(QdrantAdapter.remote(server.url, collection="memories")))
        else:
            asyncio.run(run(QdrantAdapter.embedded(folder, collection="memories")))
