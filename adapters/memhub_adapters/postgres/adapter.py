"""The PostgreSQL adapter: one schema on a server, shared by many processes on many machines."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Any, Final, TypeVar

from psycopg.conninfo import conninfo_to_dict

from memhub import limits
from memhub.adapter import Adapter, Read, Write
from memhub.capabilities import FACT_FIELDS, FILTERS_ALL, PATCH_FIELDS, TURN_FIELDS, Capabilities
from memhub.errors import HubError
from memhub.records import Observed, Page, Patch, Recalled, Record, Restored, Stats
from memhub.scope import Scope
from memhub_adapters.postgres import reads, schema, writes
from memhub_adapters.postgres.errors import translate
from memhub_adapters.postgres.pool import Pools, where
from memhub_adapters.postgres.search import search
from memhub_adapters.postgres.session import READ, WRITE, Session, perform
from memhub_adapters.postgres.upkeep import PostgresUpkeep

__all__ = ["CAPABILITIES", "PostgresAdapter"]

T = TypeVar("T")

CAPABILITIES: Final = Capabilities(
    provider="postgres",
    modes=("keyword",),
    default_mode="keyword",
    scopes="subset",
    union=True,
    facts="verbatim",
    turns="verbatim",
    fact_fields=FACT_FIELDS,
    turn_fields=TURN_FIELDS,
    atomic_facts=limits.ITEMS,
    filters=FILTERS_ALL,
    patch=PATCH_FIELDS,
    delete=True,
    revisions=True,
    invalidation=True,
    supersede=True,
    as_of=True,
    expiry=True,
    idempotency=True,
    listing=limits.LIMIT,
    scan=True,
    restore=True,
    stats=True,
    purge=True,
    neighbours=True,
    reasons={
        "operations": "every write is done when it returns",
        "complete_erasure": "PostgreSQL keeps deleted rows until a vacuum, and in its log and its backups",
        "semantic": "it searches by words only",
        "hybrid": "it searches by words only",
    },
)


class PostgresAdapter(Adapter):
    """Memories in one schema of a PostgreSQL database, made where it is missing.

    `dsn` is a connection string of libpq, which may hold a password; no message shows it. At most
    `pool_size` connections for each event loop; a call waits `pool_timeout` seconds for one. The
    server ends a statement after `statement_timeout` seconds. Connects on first use, or by `open`.
    """

    capabilities = CAPABILITIES

    def __init__(
        self,
        dsn: str,
        *,
        schema: str = "memhub",
        pool_size: int = 10,
        pool_timeout: float = 10.0,
        connect_timeout: float = 5.0,
        statement_timeout: float = limits.TIMEOUT,
    ) -> None:
        self._schema = schema
        parameters = _parameters(dsn, schema, connect_timeout, statement_timeout)
        self._where = where(parameters)
        self._pools = Pools(parameters, pool_size, pool_timeout)
        self._prepared = False

    async def open(self) -> None:
        """Connect now; make the schema, or migrate an older one.

        Raises InvalidConfig for a foreign schema or one that a newer Memhub wrote, which stay
        untouched; AccessDenied where the role may not make or use it; Unavailable without a server.
        """
        try:
            return await self._prepare()
        except Exception as error:  # noqa: BLE001 - raised below, without the native error as context
            failed = error
        raise self.translate(failed) or failed

    async def observe(self, write: Write) -> Observed:
        return await self._write(lambda session: writes.observe(session, write))

    async def recall(self, read: Read) -> Recalled:
        text = read.text
        if text is None:
            return await self._read(lambda session: reads.listing(session, read))
        return await self.perform(lambda session: search(session, read, text), begin=READ)

    async def get(self, ids: Sequence[str], *, now: datetime) -> list[Record]:
        return await self._read(lambda session: reads.get(session, ids, now=now))

    async def update(self, id: str, patch: Patch, *, revision: str | None, now: datetime) -> Record:
        return await self._write(
            lambda session: writes.update(session, id, patch, revision=revision, now=now)
        )

    async def invalidate(self, id: str, reason: str | None, *, revision: str | None, now: datetime) -> Record:
        return await self._write(
            lambda session: writes.invalidate(session, id, reason, revision=revision, now=now)
        )

    async def delete(self, id: str, *, revision: str | None, now: datetime) -> None:
        await self._write(lambda session: writes.delete(session, id, revision=revision))

    async def scan(self, cursor: str | None, limit: int, *, now: datetime) -> Page:
        return await self._read(lambda session: reads.scan(session, cursor, limit))

    async def restore(self, records: Sequence[Record], *, now: datetime) -> Restored:
        return await self._write(lambda session: writes.restore(session, records))

    async def stats(self, scope: Scope | None, *, by_scope: bool, now: datetime) -> Stats:
        return await self.perform(
            lambda session: reads.stats(session, scope, by_scope=by_scope, now=now), begin=READ
        )

    async def purge(self, scope: Scope, *, exact: bool, now: datetime) -> int:
        return await self._write(lambda session: writes.purge(session, scope, exact=exact))

    async def ping(self) -> None:
        await self._read(lambda session: session.ask(("SELECT 1", ())))

    async def aclose(self) -> None:
        self._pools.close()

    def upkeep(self) -> PostgresUpkeep:
        return PostgresUpkeep(self)

    def translate(self, error: Exception) -> HubError | None:
        return translate(error, self._where)

    async def _read(self, work: Callable[[Session], Awaitable[T]]) -> T:
        """Run what is one statement, and so sees one snapshot."""
        return await self.perform(work, begin=None)

    async def _write(self, work: Callable[[Session], Awaitable[T]]) -> T:
        return await self.perform(work, begin=WRITE)

    async def perform(self, work: Callable[[Session], Awaitable[T]], *, begin: str | None) -> T:
        """Run a transaction in a schema that is there, up to date; None begins none."""
        if not self._prepared:
            await self._prepare()
        return await perform(self._pools, work, begin=begin)

    async def _prepare(self) -> None:
        await perform(self._pools, lambda session: schema.prepare(session, self._schema), begin=WRITE)
        self._prepared = True


def _parameters(dsn: str, schema: str, connect_timeout: float, statement_timeout: float) -> dict[str, Any]:
    given = conninfo_to_dict(dsn)
    settings = {
        "search_path": schema,
        "timezone": "UTC",
        "plan_cache_mode": "force_generic_plan",
        "enable_seqscan": "off",
        "jit": "off",
        "statement_timeout": f"{round(statement_timeout * 1000)}",
        "idle_in_transaction_session_timeout": f"{round(statement_timeout * 1000)}",
    }
    options = " ".join(f"-c {name}={value}" for name, value in settings.items())
    return {
        "application_name": "memhub",
        **given,
        "connect_timeout": max(2, round(connect_timeout)),
        "options": f"{given.get('options') or ''} {options}".strip(),
    }
