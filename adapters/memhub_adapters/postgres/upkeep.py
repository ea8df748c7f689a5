"""Looking after the schema: checks, the index made anew, unused space given back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

from memhub.errors import AccessDenied, Unsupported
from memhub.search.analyzer import fingerprint
from memhub.upkeep import Progress
from memhub_adapters.postgres.access import Access
from memhub_adapters.postgres.indexcheck import index_faults, reindex
from memhub_adapters.postgres.schema import INDEXES, TABLES, VERSION
from memhub_adapters.postgres.session import READ, WRITE, Session
from memhub_adapters.postgres.tenants import unprotected
from memhub_adapters.translating import translated

__all__ = ["PostgresUpkeep"]

T = TypeVar("T")

_COPY: Final = "use the server's own tools, such as pg_dump --schema, or `memhub export` and `memhub import`"
_PRESENT: Final = """
SELECT c.relname, coalesce(i.indisvalid, true) FROM pg_class c LEFT JOIN pg_index i ON i.indexrelid = c.oid
WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p', 'i', 'I')
"""
_VACUUMED: Final = """
SELECT relname, pg_has_role(relowner, 'USAGE')
    OR pg_has_role((SELECT datdba FROM pg_database WHERE datname = current_database()), 'USAGE')
    OR CASE WHEN current_setting('server_version_num')::int >= 170000
        THEN has_table_privilege(oid, 'MAINTAIN') ELSE false END
FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'
"""


class PostgresUpkeep:
    """Implements `memhub.upkeep.Upkeep` for one schema."""

    def __init__(self, access: Access) -> None:
        self._access = access

    async def backup(self, target: Path, *, progress: Progress | None = None) -> None:
        """Raises Unsupported."""
        raise Unsupported(f"postgres makes no backup: {_COPY}", provider="postgres", operation="backup")

    async def restore_backup(self, source: Path, *, progress: Progress | None = None) -> None:
        """Raises Unsupported."""
        raise Unsupported(f"postgres restores no backup: {_COPY}", provider="postgres", operation="restore")

    async def check(self, *, deep: bool = False) -> list[str]:
        """Missing tables, indexes and extension, another version; `deep`: the index against every record."""
        await translated(self._access.ready(), self._access.translate)
        meaning = self._access.meaning is not None
        faults = self._access.missing
        faults += await self._run(partial(_schema_faults, meaning=meaning), begin=READ)
        faults += await self._run(unprotected, begin=READ)
        if deep and not faults:
            faults += await self._run(index_faults, begin=READ)
            faults += await self._run(_without_vectors, begin=READ) if meaning else []
        return faults

    async def reindex(self) -> int:
        """Rebuild the index from the records in one transaction; writers wait. Returns how many."""
        return await self._run(reindex, begin=WRITE)

    async def compact(self) -> None:
        """Rewrite every table: calls on it wait until it is done."""
        await translated(self._access.perform_bare(_compact), self._access.translate)

    async def _run(self, work: Callable[[Session], Awaitable[T]], *, begin: str) -> T:
        return await translated(self._access.perform(work, begin=begin), self._access.translate)


async def _schema_faults(session: Session, *, meaning: bool) -> list[str]:
    rows, meta = await session.ask((_PRESENT, ()), ("SELECT name, value FROM meta", ()))
    present: dict[str, bool] = dict(rows)
    said: dict[str, str] = dict(meta)
    tables = (*TABLES, "meaning") if meaning else TABLES
    indexes = (*INDEXES, "meaning_pkey", "meaning_scope", "meaning_near") if meaning else INDEXES
    faults = [f"table {name} is missing" for name in tables if name not in present]
    faults += [f"index {name} is missing" for name in indexes if name not in present]
    faults += [f"index {name} is not valid; rebuild it with REINDEX" for name, valid in rows if not valid]
    if said.get("version") != str(VERSION):
        faults.append(f"the schema has version {said.get('version')}, not {VERSION}")
    if said.get("analyzer") != fingerprint():
        faults.append(
            f"the index was made by analyzer {said.get('analyzer')}, not {fingerprint()}; run `memhub reindex`"
        )
    return faults


async def _without_vectors(session: Session) -> list[str]:
    [[(count,)]] = await session.ask(
        ("SELECT count(*) FROM record r WHERE NOT EXISTS (SELECT FROM meaning m WHERE m.key = r.key)", ())
    )
    return [f"{count} records have no vector; run `memhub reembed`"] if count else []


async def _compact(session: Session) -> None:
    [tables] = await session.ask((_VACUUMED, ()))
    refused = [table for table, may in tables if not may]
    if refused:
        # The server itself would only warn, and pass the table over.
        raise AccessDenied(f"the role may not vacuum table {refused[0]}; compact as the schema's owner")
    await session.ask(("SET statement_timeout = 0", ()))
    try:
        for table, _ in tables:
            await session.ask((f"VACUUM (FULL, ANALYZE) {table}", ()))
    finally:
        await session.ask(("RESET statement_timeout", ()))
