"""The Qdrant adapter keeps every promise that it declares: embedded and over a socket, with an embedder and without."""

from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from memhub.conformance import AdapterConformance, Clock
from memhub.embedding import Embedder
from memhub_adapters.embedders.hash import HashEmbedder
from memhub_adapters.qdrant import QdrantAdapter
from memhub_adapters.standins.qdrant import qdrant_server
from memhub_adapters.standins.server import Server
from qdrant_folders import quick_folder

KEY = "key-of-the-tests"


class Embedded(AdapterConformance):
    """Each rule in a folder of its own."""

    path: Path
    embedder: Embedder | None = None

    @pytest.fixture(autouse=True)
    def _in_a_folder_of_its_own(self) -> Iterator[None]:
        with quick_folder() as self.path:
            yield

    def open_adapter(self, clock: Clock) -> AbstractAsyncContextManager[QdrantAdapter]:
        return self._opened()

    def open_again(self, adapter: QdrantAdapter, clock: Clock) -> AbstractAsyncContextManager[QdrantAdapter]:
        return self._opened()

    @asynccontextmanager
    async def _opened(self) -> AsyncIterator[QdrantAdapter]:
        adapter = QdrantAdapter.embedded(self.path, collection="memories", embedder=self.embedder)
        try:
            yield adapter
        finally:
            await adapter.aclose()


class TestByWords(Embedded):
    """Without an embedder."""


class TestHybrid(Embedded):
    """With an embedder."""

    embedder = HashEmbedder()


class TestRemote(AdapterConformance):
    """Each rule on a server of its own, over a real socket, with an embedder."""

    server: Server

    @pytest.fixture(autouse=True)
    def _on_a_server_of_its_own(self) -> Iterator[None]:
        with qdrant_server(KEY) as self.server:
            yield

    def open_adapter(self, clock: Clock) -> AbstractAsyncContextManager[QdrantAdapter]:
        return self._opened()

    def open_again(self, adapter: QdrantAdapter, clock: Clock) -> AbstractAsyncContextManager[QdrantAdapter]:
        return self._opened()

    @asynccontextmanager
    async def _opened(self) -> AsyncIterator[QdrantAdapter]:
        adapter = QdrantAdapter.remote(
            self.server.url, collection="memories", api_key=KEY, embedder=HashEmbedder()
        )
        try:
            yield adapter
        finally:
            await adapter.aclose()
