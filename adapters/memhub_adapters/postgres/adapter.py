"""The PostgreSQL adapter: one schema on a server, shared by many processes on many machines."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import datetime
from typing import TypeVar

from memhub import limits
from memhub.adapter import Adapter, Read, Write
from memhub.capabilities import Capabilities
from memhub.embedding import Embedder
from memhub.errors import HubError
from memhub.records import Observed, Page, Patch, Recalled, Record, Restored, Stats, Unset
from memhub.scope import Scope
from memhub.upkeep import Progress
from memhub_adapters.postgres import reads, writes
from memhub_adapters.postgres.access import Access
from memhub_adapters.postgres.capabilities import CAPABILITIES
from memhub_adapters.postgres.meaning import Nearby, literal
from memhub_adapters.postgres.parameters import parameters_of
from memhub_adapters.postgres.reembedding import reembed
from memhub_adapters.postgres.search import search
from memhub_adapters.postgres.session import READ, WRITE, Session
from memhub_adapters.postgres.tenants import Tenants
from memhub_adapters.postgres.upkeep import PostgresUpkeep
from memhub_adapters.translating import translated

__all__ = ["CAPABILITIES", "PostgresAdapter"]

T = TypeVar("T")


class PostgresAdapter(Adapter):
    """Memories in one schema of a PostgreSQL database, made where it is missing.

    `dsn` is a connection string of libpq, which may hold a password; no message shows it. At most
    `pool_size` connections for each event loop; a call waits `pool_timeout` seconds for one. The
    server ends a statement after `statement_timeout` seconds. `embedder` stays the caller's; without
    one, or without pgvector in the database, the store searches by words only, as its capabilities
    say once it is open. `rls` is the key of the label that names a scope's tenant; the server then
    keeps tenants apart by row-level security. Connects on first use, or by `open`. Raises InvalidConfig
    for a `dsn` that libpq cannot read, or a `schema` that is no plain name in lower case.
    """

    def __init__(
        self,
        dsn: str,
        *,
        schema: str = "memhub",
        embedder: Embedder | None = None,
        rls: str | None = None,
        pool_size: int = 10,
        pool_timeout: float = 10.0,
        connect_timeout: float = 5.0,
        statement_timeout: float = limits.TIMEOUT,
    ) -> None:
        parameters = parameters_of(
            dsn, schema=schema, connect_timeout=connect_timeout, statement_timeout=statement_timeout
        )
        self._tenants = None if rls is None else Tenants(rls)
        self._access = Access(
            parameters,
            schema=schema,
            embedder=embedder,
            tenants=self._tenants,
            pool_size=pool_size,
            pool_timeout=pool_timeout,
        )

    @property
    def capabilities(self) -> Capabilities:  # type: ignore[override] # nobody sets it
        """What the adapter declares; final once it is open, since pgvector may be missing."""
        return self._access.capabilities

    async def open(self, *, reembedding: bool = False) -> None:
        """Connect now; make the schema, or migrate an older one.

        Raises InvalidConfig for a foreign schema, one that a newer Memhub wrote, or one whose vectors
        another embedder made, unless they are made anew next (`reembedding`); all stay untouched.
        Raises AccessDenied where the role may not make or use it, Unavailable without a server.
        """
        await translated(self._access.open(reembedding=reembedding), self.translate)

    async def observe(self, write: Write) -> Observed:
        tenants = self._of([write.scope], "observe")
        meant = await self._access.meant([item.content for item in write.facts or write.turns])
        async with self._access.pools.here().turn(write.scope.canonical):
            return await self._write(lambda session: writes.observe(session, write, meant), tenants)

    async def recall(self, read: Read) -> Recalled:
        text, tenants = read.text, self._of(read.scopes, "recall")
        if text is None:
            return await self._read(lambda session: reads.listing(session, read), tenants)
        nearby = await self._nearby(read, text)
        return await self._access.perform(
            lambda session: search(session, read, text, nearby), begin=READ, tenants=tenants
        )

    async def get(self, ids: Sequence[str], *, now: datetime) -> list[Record]:
        return await self._read(lambda session: reads.get(session, ids, now=now))

    async def update(self, id: str, patch: Patch, *, revision: str | None, now: datetime) -> Record:
        meant = await self._access.meant([] if isinstance(patch.content, Unset) else [patch.content])
        return await self._write(
            lambda session: writes.update(session, id, patch, meant, revision=revision, now=now)
        )

    async def invalidate(self, id: str, reason: str | None, *, revision: str | None, now: datetime) -> Record:
        return await self._write(
            lambda session: writes.invalidate(session, id, reason, revision=revision, now=now)
        )

    async def delete(self, id: str, *, revision: str | None, now: datetime) -> None:
        meant = await self._access.meant([])
        await self._write(lambda session: writes.delete(session, id, meant, revision=revision))

    async def scan(self, cursor: str | None, limit: int, *, now: datetime) -> Page:
        return await self._read(lambda session: reads.scan(session, cursor, limit))

    async def restore(self, records: Sequence[Record], *, now: datetime) -> Restored:
        self._of([record.scope for record in records], "restore")
        meant = await self._access.meant([record.content for record in records])
        return await self._write(lambda session: writes.restore(session, records, meant))

    async def stats(self, scope: Scope | None, *, by_scope: bool, now: datetime) -> Stats:
        tenants = None if scope is None else self._of([scope], "stats")
        return await self._access.perform(
            lambda session: reads.stats(session, scope, by_scope=by_scope, now=now),
            begin=READ,
            tenants=tenants,
        )

    async def purge(self, scope: Scope, *, exact: bool, now: datetime) -> int:
        tenants = self._of([scope], "purge")
        meant = await self._access.meant([])
        return await self._write(lambda session: writes.purge(session, scope, meant, exact=exact), tenants)

    async def ping(self) -> None:
        await self._read(lambda session: session.ask(("SELECT 1", ())))

    async def aclose(self) -> None:
        self._access.pools.close()

    async def reembed(self, progress: Progress | None = None) -> int:
        await self._access.ready()
        return await reembed(self._access.perform, self._access.vectors("reembed"), progress)

    def upkeep(self) -> PostgresUpkeep:
        return PostgresUpkeep(self._access)

    def translate(self, error: Exception) -> HubError | None:
        return self._access.translate(error)

    async def _read(self, work: Callable[[Session], Awaitable[T]], tenants: Sequence[str] | None = None) -> T:
        """Run what is one statement, and so sees one snapshot."""
        return await self._access.perform(work, begin=None, tenants=tenants)

    async def _write(
        self, work: Callable[[Session], Awaitable[T]], tenants: Sequence[str] | None = None
    ) -> T:
        return await self._access.perform(work, begin=WRITE, tenants=tenants)

    def _of(self, scopes: Iterable[Scope], operation: str) -> Sequence[str] | None:
        """The tenants of scopes, where they are kept apart. Raises Unsupported for a scope without one."""
        return None if self._tenants is None else self._tenants.every(scopes, operation)

    async def _nearby(self, read: Read, text: str) -> Nearby | None:
        """The vector of a question, where meaning counts."""
        await self._access.ready()
        mode = read.mode or self.capabilities.default_mode
        if mode == "keyword":
            return None
        meaning = self._access.vectors("recall")
        [vector] = await meaning.embedder.embed([text])
        return Nearby(meaning, literal(vector), alone=mode == "semantic")
