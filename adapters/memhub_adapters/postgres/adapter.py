"""The PostgreSQL adapter: one schema on a server, shared by many processes on many machines."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final, TypeVar

from memhub import limits
from memhub.adapter import Adapter, Read, Write
from memhub.capabilities import FULL, Capabilities
from memhub.embedding import Embedder
from memhub.errors import HubError, Unsupported
from memhub.records import MODES, Observed, Page, Patch, Recalled, Record, Restored, Stats, Unset
from memhub.scope import Scope
from memhub.upkeep import Progress
from memhub_adapters.postgres import reads, writes
from memhub_adapters.postgres.errors import translate
from memhub_adapters.postgres.meaning import Meaning, Meant, Nearby, literal
from memhub_adapters.postgres.opening import opened
from memhub_adapters.postgres.parameters import parameters_of, where
from memhub_adapters.postgres.pool import Pools
from memhub_adapters.postgres.reembedding import reembed
from memhub_adapters.postgres.schema import mark
from memhub_adapters.postgres.search import search
from memhub_adapters.postgres.session import READ, WRITE, Session, Terms, perform
from memhub_adapters.postgres.tenants import EVERY, Tenants
from memhub_adapters.postgres.upkeep import PostgresUpkeep

__all__ = ["CAPABILITIES", "PostgresAdapter"]

T = TypeVar("T")

_WITH_MEANING: Final = replace(
    FULL,
    provider="postgres",
    modes=MODES,
    default_mode="hybrid",
    reasons={
        "operations": FULL.reasons["operations"],
        "complete_erasure": "PostgreSQL keeps deleted rows until a vacuum, and in its log and its backups",
    },
)
_NO_EMBEDDER: Final = "no embedder is configured, so it searches by words only; name one under `embedder`"


def _by_words(why: str) -> Capabilities:
    reasons = {**_WITH_MEANING.reasons, "semantic": why, "hybrid": why}
    return replace(_WITH_MEANING, modes=("keyword",), default_mode="keyword", reasons=reasons)


CAPABILITIES: Final[Mapping[str, Capabilities]] = {
    "with an embedder": _WITH_MEANING,
    "without": _by_words(_NO_EMBEDDER),
}


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
        self.capabilities = CAPABILITIES["without" if embedder is None else "with an embedder"]
        parameters = parameters_of(
            dsn, schema=schema, connect_timeout=connect_timeout, statement_timeout=statement_timeout
        )
        self._schema = schema
        self._embedder = embedder
        self._tenants = None if rls is None else Tenants(rls)
        self._where = where(parameters)
        self._pools = Pools(parameters, pool_size, pool_timeout)
        self._meaning: Meaning | None = None
        self._mark: str | None = None

    async def open(self, *, reembedding: bool = False) -> None:
        """Connect now; make the schema, or migrate an older one.

        Raises InvalidConfig for a foreign schema, one that a newer Memhub wrote, or one whose vectors
        another embedder made, unless they are made anew next (`reembedding`); all stay untouched.
        Raises AccessDenied where the role may not make or use it, Unavailable without a server.
        """
        try:
            await self._open(reembedding=reembedding)
        except Exception as error:  # noqa: BLE001 - raised below, without the native error as context
            failed = error
        else:
            return
        raise self.translate(failed) or failed

    async def observe(self, write: Write) -> Observed:
        tenants = self._of([write.scope], "observe")
        meant = await self._meant([item.content for item in write.facts or write.turns])
        async with self._pools.here().turn(write.scope.canonical):
            return await self._write(lambda session: writes.observe(session, write, meant), tenants)

    async def recall(self, read: Read) -> Recalled:
        text, tenants = read.text, self._of(read.scopes, "recall")
        if text is None:
            return await self._read(lambda session: reads.listing(session, read), tenants)
        nearby = await self._nearby(read, text)
        return await self.perform(
            lambda session: search(session, read, text, nearby), begin=READ, tenants=tenants
        )

    async def get(self, ids: Sequence[str], *, now: datetime) -> list[Record]:
        return await self._read(lambda session: reads.get(session, ids, now=now))

    async def update(self, id: str, patch: Patch, *, revision: str | None, now: datetime) -> Record:
        meant = await self._meant([] if isinstance(patch.content, Unset) else [patch.content])
        return await self._write(
            lambda session: writes.update(session, id, patch, meant, revision=revision, now=now)
        )

    async def invalidate(self, id: str, reason: str | None, *, revision: str | None, now: datetime) -> Record:
        return await self._write(
            lambda session: writes.invalidate(session, id, reason, revision=revision, now=now)
        )

    async def delete(self, id: str, *, revision: str | None, now: datetime) -> None:
        meant = await self._meant([])
        await self._write(lambda session: writes.delete(session, id, meant, revision=revision))

    async def scan(self, cursor: str | None, limit: int, *, now: datetime) -> Page:
        return await self._read(lambda session: reads.scan(session, cursor, limit))

    async def restore(self, records: Sequence[Record], *, now: datetime) -> Restored:
        self._of([record.scope for record in records], "restore")
        meant = await self._meant([record.content for record in records])
        return await self._write(lambda session: writes.restore(session, records, meant))

    async def stats(self, scope: Scope | None, *, by_scope: bool, now: datetime) -> Stats:
        tenants = None if scope is None else self._of([scope], "stats")
        return await self.perform(
            lambda session: reads.stats(session, scope, by_scope=by_scope, now=now),
            begin=READ,
            tenants=tenants,
        )

    async def purge(self, scope: Scope, *, exact: bool, now: datetime) -> int:
        tenants = self._of([scope], "purge")
        meant = await self._meant([])
        return await self._write(lambda session: writes.purge(session, scope, meant, exact=exact), tenants)

    async def ping(self) -> None:
        await self._read(lambda session: session.ask(("SELECT 1", ())))

    async def aclose(self) -> None:
        self._pools.close()

    async def reembed(self, progress: Progress | None = None) -> int:
        await self._ready()
        return await reembed(self.perform, self._vectors("reembed"), progress)

    def upkeep(self) -> PostgresUpkeep:
        return PostgresUpkeep(self)

    def translate(self, error: Exception) -> HubError | None:
        return translate(error, self._where)

    @property
    def meaning(self) -> Meaning | None:
        """Where the vectors are, once open; None where words alone are searched."""
        return self._meaning

    @property
    def missing(self) -> list[str]:
        """Why an embedder that is configured is of no use, once open; nothing where all is well."""
        unused = self._embedder is not None and self._mark is not None and self._meaning is None
        return [self.capabilities.why_not("semantic")] if unused else []

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
        mark = await self._ready()
        if self._tenants is None:
            return await perform(self._pools, work, Terms(begin=begin, mark=mark))
        return await perform(
            self._pools, work, Terms(begin=begin or READ, mark=mark, tenants=tenants or EVERY)
        )

    async def perform_bare(self, work: Callable[[Session], Awaitable[T]]) -> T:
        """Run statements that suffer no transaction around them, bound to nobody."""
        return await perform(self._pools, work, Terms(begin=None, mark=await self._ready()))

    async def _read(self, work: Callable[[Session], Awaitable[T]], tenants: Sequence[str] | None = None) -> T:
        """Run what is one statement, and so sees one snapshot."""
        return await self.perform(work, begin=None, tenants=tenants)

    async def _write(
        self, work: Callable[[Session], Awaitable[T]], tenants: Sequence[str] | None = None
    ) -> T:
        return await self.perform(work, begin=WRITE, tenants=tenants)

    def _of(self, scopes: Iterable[Scope], operation: str) -> Sequence[str] | None:
        """The tenants of scopes, where they are kept apart. Raises Unsupported for a scope without one."""
        return None if self._tenants is None else self._tenants.every(scopes, operation)

    async def _meant(self, texts: Sequence[str]) -> Meant | None:
        """The vectors of what is about to be stored, made before anything is locked."""
        await self._ready()
        if self._meaning is None:
            return None
        some = list(dict.fromkeys(texts))
        vectors = await self._meaning.embedder.embed(some) if some else []
        return Meant(self._meaning, dict(zip(some, vectors, strict=True)))

    async def _nearby(self, read: Read, text: str) -> Nearby | None:
        """The vector of a question, where meaning counts."""
        await self._ready()
        mode = read.mode or self.capabilities.default_mode
        if mode == "keyword":
            return None
        meaning = self._vectors("recall")
        [vector] = await meaning.embedder.embed([text])
        return Nearby(meaning, literal(vector), alone=mode == "semantic")

    def _vectors(self, operation: str) -> Meaning:
        """Where the vectors are. Raises Unsupported where, as it turned out on opening, there are none."""
        if self._meaning is not None:
            return self._meaning
        why = self.capabilities.why_not("semantic")
        raise Unsupported(f"postgres cannot do {operation}: {why}", provider="postgres", operation=operation)

    async def _ready(self) -> str:
        if self._mark is None:
            return await self._open()
        return self._mark

    async def _open(self, *, reembedding: bool = False) -> str:
        self._pools.here()
        found = await opened(
            self._pools, self._schema, self._embedder, self._tenants, reembedding=reembedding
        )
        if isinstance(found, str):
            self.capabilities = _by_words(found)
        self._meaning = found if isinstance(found, Meaning) else None
        self._mark = mark(None if self._meaning is None else self._meaning.identity)
        return self._mark
