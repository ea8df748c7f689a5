"""MemoryStore: what a product calls. One concrete class over every adapter."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from types import TracebackType
from typing import TYPE_CHECKING, Self

from memhub import limits, validation
from memhub.changes import expired
from memhub.errors import Conflict, InvalidInput, NotFound, Unsupported
from memhub.records import Page, Record, Restored, Stats
from memhub.requests import check_limit, check_record, check_scope
from memhub.scope import Scope
from memhub.verbs import Verbs

if TYPE_CHECKING:
    from memhub.bound import BoundMemory
    from memhub.upkeep import Progress, Upkeep

__all__ = ["MemoryStore"]


class MemoryStore(Verbs):
    """One long-term memory, wherever it lives.

    Every verb raises InvalidInput for a wrong call and Unsupported for what the provider cannot
    do, both before any I/O; Unavailable and its kinds when the provider cannot answer; Closed
    after `aclose`. `timeout` is the deadline of one call in seconds, None for no deadline.
    `clock` gives the present; adapters never read one. An adapter that others use too stays
    open with `owns_adapter=False`.
    """

    def bind(
        self, scope: Scope, *, read: Sequence[Scope] = (), exact: bool = True, readonly: bool = False
    ) -> BoundMemory:
        """The store as one scope sees it, for an agent: writes go to `scope`, reads reach `read` too.

        Scopes of pairs stand for themselves alone; with `exact=False` reads reach all that they
        cover, as a query does. `readonly` makes every change Unsupported. Raises InvalidConfig for
        a `read` that names `scope` itself, InvalidInput for what is no scope.
        """
        from memhub.bound import BoundMemory, Grant

        grant = Grant.of(scope, read, exact=exact, readonly=readonly)
        if len(grant.scopes) > 1:
            self.capabilities.require("union", operation="bind", argument="read")
        return BoundMemory(self, grant, held=self._held, report=self._report)

    async def scan(self, cursor: str | None = None, limit: int = limits.LIMIT) -> Page:
        """For hosts: every record of every scope, invalidated and expired too.

        Those of one scope come in the order written; how scopes follow one another is the adapter's.
        """
        self.capabilities.require("scan", operation="scan")
        checked = check_limit(limit)
        position = None if cursor is None else validation.identifier("cursor", cursor)
        now = self._now()
        if not checked:
            raise InvalidInput("limit: a scan needs at least 1")
        return await self._run(
            "scan", lambda: self._adapter.scan(position, checked, now=now), repeatable=True
        )

    async def restore(self, records: Sequence[Record]) -> Restored:
        """For hosts: write complete records as they are, with their ids where the provider keeps them.

        All or nothing; one that is held already and equal is skipped; Conflict when it differs.
        """
        self.capabilities.require("restore", operation="restore")
        given = validation.items("records", records, limits.ITEMS)
        checked = [check_record(f"records[{n}]", record) for n, record in enumerate(given)]
        now, started = self._now(), perf_counter()
        if not checked:
            return Restored({})
        done = await self._run("restore", lambda: self._adapter.restore(checked, now=now), repeatable=True)
        self._report.restored(checked, done, perf_counter() - started)
        return done

    async def stats(self, scope: Scope | None = None, *, by_scope: bool = False) -> Stats:
        """For hosts: counts of what `scope` covers, or of the whole store; `by_scope` lists scopes."""
        self.capabilities.require("stats", operation="stats")
        checked = None if scope is None else check_scope(scope)
        now = self._now()
        return await self._run(
            "stats", lambda: self._adapter.stats(checked, by_scope=by_scope, now=now), repeatable=True
        )

    async def purge(self, scope: Scope, *, exact: bool = False) -> int:
        """For hosts: remove all that `scope` covers, history and ledger too; returns how many records."""
        checked = check_scope(scope)
        self.capabilities.require("purge", operation="purge")
        if self.capabilities.scopes == "exact" and checked.pairs and not exact:
            self.capabilities.refuse("subset_scopes", operation="purge", argument="scope without exact=True")
        now, started = self._now(), perf_counter()
        count = await self._run(
            "purge", lambda: self._adapter.purge(checked, exact=exact, now=now), repeatable=False
        )
        self._report.purged(count, perf_counter() - started)
        return count

    async def sweep(self) -> int:
        """For hosts: delete what has expired; returns how many records. Nothing sweeps on its own."""
        self.capabilities.require("scan", operation="sweep")
        self.capabilities.require("delete", operation="sweep")
        gone, cursor = 0, None
        while True:
            page = await self.scan(cursor)
            for record in page.records:
                if expired(record, self._now()):
                    gone += await self._forget(record)
            cursor = page.cursor
            if cursor is None:
                return gone

    async def reembed(self, *, progress: Progress | None = None) -> int:
        """For hosts: make every vector anew with the configured embedder; returns how many records.

        Goes on where another run stopped, has no deadline, and is needed after the embedder has
        changed. Unsupported where the store does not search by meaning.
        """
        self.capabilities.require("semantic", operation="reembed")
        return await self._run(
            "reembed", lambda: self._adapter.reembed(progress), repeatable=True, timeout=None
        )

    def upkeep(self) -> Upkeep:
        """For hosts: backup, check and reindex of the store's own files. Its errors are the contract's.

        Raises Unsupported where the provider has no files of its own.
        """
        self._open()
        found = self._adapter.upkeep()
        if found is None:
            raise Unsupported(
                f"{self.capabilities.provider} has no files of its own to look after",
                provider=self.capabilities.provider,
                store=self.name,
            )
        return found

    async def ping(self) -> None:
        """Return when the provider answers."""
        self._now()
        await self._run("ping", self._adapter.ping, repeatable=True)

    async def aclose(self) -> None:
        """Close the adapter, where it is owned; safe twice. Every later call raises Closed."""
        if self._closed:
            return
        self._closed = True
        try:
            if self._owns_adapter:
                await self._calls.run("aclose", self._adapter.aclose, repeatable=False)
        finally:
            await self._observers.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"<MemoryStore {self.name!r} on {self.capabilities.provider}>"

    async def _forget(self, record: Record) -> int:
        """Delete an expired record unless someone changed or removed it meanwhile."""
        try:
            await self.delete(record.id, revision=record.revision if self.capabilities.revisions else None)
        except (NotFound, Conflict):
            return 0
        return 1
