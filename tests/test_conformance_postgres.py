"""The PostgreSQL adapter keeps every promise of the contract, on a real server."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import ClassVar

import pytest

from memhub import Unsupported
from memhub.conformance import AdapterConformance, Clock
from memhub.embedding import Embedder
from memhub_adapters.embedders.hash import HashEmbedder
from memhub_adapters.postgres import PostgresAdapter
from postgres_fixture import drop, dsn, empty, new_schema, owner_of


@pytest.fixture(scope="class")
def schema() -> Iterator[str]:
    name = new_schema()
    yield name
    drop(name)


@pytest.fixture(scope="class")
def role(schema: str) -> Iterator[str]:
    """How a role that owns the schema and may nothing else connects."""
    with owner_of(schema) as connects:
        yield connects


class TestPostgres(AdapterConformance):
    schema: str
    dsn: str
    embedder: ClassVar[Embedder | None] = None
    rls: ClassVar[str | None] = None

    @pytest.fixture(autouse=True)
    def _in_an_empty_schema(self, schema: str) -> None:
        self.schema, self.dsn = schema, dsn()
        empty(schema)

    def open_adapter(self, clock: Clock) -> AbstractAsyncContextManager[PostgresAdapter]:
        return self._opened()

    def open_again(
        self, adapter: PostgresAdapter, clock: Clock
    ) -> AbstractAsyncContextManager[PostgresAdapter]:
        return self._opened()

    @asynccontextmanager
    async def _opened(self) -> AsyncIterator[PostgresAdapter]:
        adapter = PostgresAdapter(self.dsn, schema=self.schema, embedder=self.embedder, rls=self.rls)
        try:
            yield adapter
        finally:
            await adapter.aclose()


class TestPostgresWithAnEmbedder(TestPostgres):
    embedder = HashEmbedder(64)


def without_a_tenant(base: type[AdapterConformance], name: str) -> Callable[..., None]:
    """A rule of the kit whose scopes of pairs name no tenant."""
    mark = pytest.mark.xfail(
        strict=True, raises=Unsupported, reason="with rls every scope of pairs names its tenant"
    )

    def test(self: AdapterConformance) -> None:
        getattr(base, name)(self)

    return mark(test)


class TestPostgresWithTenants(TestPostgres):
    """As a role that is no superuser, with row-level security forced."""

    rls = "tenant"

    @pytest.fixture(autouse=True)
    def _as_another_role(self, _in_an_empty_schema: None, role: str) -> None:
        self.dsn = role

    test_pairs_come_back_as_given = without_a_tenant(TestPostgres, "test_pairs_come_back_as_given")
    test_a_name_is_no_pair = without_a_tenant(TestPostgres, "test_a_name_is_no_pair")
    test_pairs_do_not_collide = without_a_tenant(TestPostgres, "test_pairs_do_not_collide")
    test_keys_of_a_provider_are_plain_labels = without_a_tenant(
        TestPostgres, "test_keys_of_a_provider_are_plain_labels"
    )
