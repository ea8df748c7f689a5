"""The way to a schema: transactions on one that is there and up to date, and where its vectors are."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from memhub.embedding import Embedder
from memhub.errors import HubError, Unsupported
from memhub_adapters.postgres.capabilities import CAPABILITIES
from memhub_adapters.postgres.errors import translate
from memhub_adapters.postgres.meaning import Meaning, Meant
from memhub_adapters.postgres.opening import opened
from memhub_adapters.postgres.parameters import where
from memhub_adapters.postgres.pool import Pools
from memhub_adapters.postgres.schema import mark
from memhub_adapters.postgres.session import READ, Session, Terms, perform
from memhub_adapters.postgres.tenants import EVERY, Tenants

__all__ = ["Access"]

T = TypeVar("T")


class Access:
    """Everything behind an adapter's verbs: connections, schema, embedder. Connects on first use.

    `capabilities` are final once it is open. `parameters` are psycopg's.
    """

    def __init__(
        self,
        parameters: dict[str, Any],
        *,
        schema: str,
        embedder: Embedder | None,
        tenants: Tenants | None,
        pool_size: int,
        pool_timeout: float,
    ) -> None:
        self.capabilities = CAPABILITIES["without" if embedder is None else "with an embedder"]
        self.pools = Pools(parameters, pool_size, pool_timeout)
        self._schema = schema
        self._embedder = embedder
        self._tenants = tenants
        self._where = where(parameters)
        self._meaning: Meaning | None = None
        self._mark: str | None = None

    @property
    def meaning(self) -> Meaning | None:
        """Where the vectors are, once open; None where words alone are searched."""
        return self._meaning

    @property
    def missing(self) -> list[str]:
        """Why an embedder that is configured is of no use, once open; nothing where all is well."""
        unused = self._embedder is not None and self._mark is not None and self._meaning is None
        return [self.capabilities.why_not("semantic")] if unused else []

    async def ready(self) -> str:
        """Open what is not open yet; returns the mark that this store's index must bear."""
        if self._mark is None:
            return await self.open()
        return self._mark

    async def open(self, *, reembedding: bool = False) -> str:
        """Bring the schema up to date. Raises what `PostgresAdapter.open` says, in native errors."""
        self.pools.here()
        found = await opened(self.pools, self._schema, self._embedder, self._tenants, reembedding=reembedding)
        if isinstance(found, str):
            self.capabilities = self.capabilities.by_words(found)
        self._meaning = found if isinstance(found, Meaning) else None
        self._mark = mark(None if self._meaning is None else self._meaning.identity)
        return self._mark

    async def perform(
        self,
        work: Callable[[Session], Awaitable[T]],
        *,
        begin: str | None,
        tenants: Sequence[str] | None = None,
    ) -> T:
        """Run a transaction in a schema that is there, up to date; None begins none.

        With row-level security it is bound to `tenants`, to none in particular where none are given.
        """
        mark = await self.ready()
        if self._tenants is None:
            return await perform(self.pools, work, Terms(begin=begin, mark=mark))
        return await perform(
            self.pools, work, Terms(begin=begin or READ, mark=mark, tenants=tenants or EVERY)
        )

    async def perform_bare(self, work: Callable[[Session], Awaitable[T]]) -> T:
        """Run statements that suffer no transaction around them, bound to nobody."""
        return await perform(self.pools, work, Terms(begin=None, mark=await self.ready()))

    async def meant(self, texts: Sequence[str]) -> Meant | None:
        """The vectors of what is about to be stored, made before anything is locked."""
        await self.ready()
        if self._meaning is None:
            return None
        some = list(dict.fromkeys(texts))
        vectors = await self._meaning.embedder.embed(some) if some else []
        return Meant(self._meaning, dict(zip(some, vectors, strict=True)))

    def vectors(self, operation: str) -> Meaning:
        """Where the vectors are. Raises Unsupported where, as it turned out on opening, there are none."""
        if self._meaning is not None:
            return self._meaning
        why = self.capabilities.why_not("semantic")
        raise Unsupported(f"postgres cannot do {operation}: {why}", provider="postgres", operation=operation)

    def translate(self, error: Exception) -> HubError | None:
        """The contract's error for one of the server or the driver."""
        return translate(error, self._where)
