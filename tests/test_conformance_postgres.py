"""The PostgreSQL adapter keeps every promise of the contract, on a real server."""

from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import ClassVar

import pytest

from memhub.conformance import AdapterConformance, Clock
from memhub.embedding import Embedder
from memhub_adapters.embedders.hash import HashEmbedder
from memhub_adapters.postgres import PostgresAdapter
from postgres_fixture import drop, dsn, empty, new_schema


@pytest.fixture(scope="class")
def schema() -> Iterator[str]:
    name = new_schema()
    yield name
    drop(name)


class TestPostgres(AdapterConformance):
    schema: str
    embedder: ClassVar[Embedder | None] = None

    @pytest.fixture(autouse=True)
    def _in_an_empty_schema(self, schema: str) -> None:
        self.schema = schema
        empty(schema)

    def open_adapter(self, clock: Clock) -> AbstractAsyncContextManager[PostgresAdapter]:
        return self._opened()

    def open_again(
        self, adapter: PostgresAdapter, clock: Clock
    ) -> AbstractAsyncContextManager[PostgresAdapter]:
        return self._opened()

    @asynccontextmanager
    async def _opened(self) -> AsyncIterator[PostgresAdapter]:
        adapter = PostgresAdapter(dsn(), schema=self.schema, embedder=self.embedder)
        try:
            yield adapter
        finally:
            await adapter.aclose()


class TestPostgresWithAnEmbedder(TestPostgres):
    embedder = HashEmbedder(64)
