"""The Qdrant adapter keeps every promise that it declares: embedded, over a socket, and on a server that is named."""

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import ClassVar

import pytest

from memhub.conformance import AdapterConformance, Clock
from memhub_adapters.embedders.hash import HashEmbedder
from memhub_adapters.qdrant import QdrantAdapter
from memhub_adapters.standins.qdrant import qdrant_server
from memhub_adapters.standins.server import Server
from qdrant_folders import quick_folder

KEY = "key-of-the-tests"


@asynccontextmanager
async def closing(adapter: QdrantAdapter) -> AsyncIterator[QdrantAdapter]:
    try:
        yield adapter
    finally:
        await adapter.aclose()


class Again(AdapterConformance):
    """Opens the same data a second time as it was opened first."""

    def made(self) -> QdrantAdapter:
        raise NotImplementedError

    def open_adapter(self, clock: Clock) -> AbstractAsyncContextManager[QdrantAdapter]:
        return closing(self.made())

    def open_again(self, adapter: QdrantAdapter, clock: Clock) -> AbstractAsyncContextManager[QdrantAdapter]:
        return closing(self.made())


class TestEmbedded(Again):
    """Each rule in a folder of its own, with an embedder."""

    folder: Path

    @pytest.fixture(autouse=True)
    def _in_a_folder_of_its_own(self) -> Iterator[None]:
        with quick_folder() as self.folder:
            yield

    def made(self) -> QdrantAdapter:
        return QdrantAdapter.embedded(self.folder, collection="memories", embedder=HashEmbedder())


class TestByWords(Again):
    """Without an embedder; all rules on one store in use, since making one takes longest."""

    live = True
    folder: ClassVar[Path]

    @pytest.fixture(autouse=True, scope="class")
    @classmethod
    def _in_use(cls) -> Iterator[None]:
        with quick_folder() as cls.folder:
            user = QdrantAdapter.embedded(cls.folder, collection="memories")
            asyncio.run(user.open())
            yield
            asyncio.run(user.aclose())

    def made(self) -> QdrantAdapter:
        return QdrantAdapter.embedded(self.folder, collection="memories")


class TestRemote(Again):
    """Each rule on a server of its own, over a real socket, with an embedder."""

    server: Server

    @pytest.fixture(autouse=True)
    def _on_a_server_of_its_own(self) -> Iterator[None]:
        with qdrant_server(KEY) as self.server:
            yield

    def made(self) -> QdrantAdapter:
        url, embedder = self.server.url, HashEmbedder()
        return QdrantAdapter.remote(url, collection="memories", api_key=KEY, embedder=embedder)


@pytest.mark.skipif(
    "MEMHUB_LIVE_QDRANT_URL" not in os.environ,
    reason="needs a Qdrant server: set MEMHUB_LIVE_QDRANT_URL, and MEMHUB_LIVE_QDRANT_KEY where it wants one",
)
class TestLive(Again):
    """On a server in use: the collection `memhub-conformance` is made there, and what the rules wrote removed."""

    live = True

    def made(self) -> QdrantAdapter:
        return QdrantAdapter.remote(
            os.environ["MEMHUB_LIVE_QDRANT_URL"],
            collection="memhub-conformance",
            api_key=os.environ.get("MEMHUB_LIVE_QDRANT_KEY"),
            embedder=HashEmbedder(),
        )
