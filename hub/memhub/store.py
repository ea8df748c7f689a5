"""MemoryStore: what a product calls. One concrete class over every adapter."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from time import perf_counter
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar, overload

from memhub import limits, support, validation
from memhub.calls import Calls, Clock, Retry, utc_now
from memhub.changes import expired
from memhub.cursors import seal, unseal
from memhub.errors import Closed, Conflict, HubError, InvalidInput, NotFound, Unsupported
from memhub.lookup import check_found, check_ids
from memhub.observers import Observer, Observers
from memhub.records import (
    UNSET,
    Observation,
    Observed,
    Page,
    Patch,
    Query,
    Recalled,
    Record,
    Restored,
    Stats,
    Unset,
)
from memhub.reporting import Reporter
from memhub.requests import check_limit, check_record, check_scope, patch_from, read_from, write_from
from memhub.scope import Scope

if TYPE_CHECKING:
    from memhub.adapter import Adapter
    from memhub.bound import BoundMemory
    from memhub.capabilities import Capabilities
    from memhub.upkeep import Progress, Upkeep

__all__ = ["MemoryStore"]

T = TypeVar("T")


class MemoryStore:
    """One long-term memory, wherever it lives.

    Every verb raises InvalidInput for a wrong call and Unsupported for what the provider cannot
    do, both before any I/O; Unavailable and its kinds when the provider cannot answer; Closed
    after `aclose`. `timeout` is the deadline of one call in seconds, None for no deadline.
    `clock` gives the present; adapters never read one. An adapter that others use too stays
    open with `owns_adapter=False`.
    """

    def __init__(
        self,
        adapter: Adapter,
        *,
        name: str = "memory",
        clock: Clock = utc_now,
        timeout: float | None = limits.TIMEOUT,
        retry: Retry = Retry(),  # noqa: B008 - frozen
        observers: Sequence[Observer] = (),
        owns_adapter: bool = True,
    ) -> None:
        self.name = name
        self._adapter = adapter
        self._owns_adapter = owns_adapter
        self._clock = clock
        self._closed = False
        self._observers = Observers()
        for observer in observers:
            self._observers.subscribe(observer)
        self._report = Reporter(self._observers, adapter, store=name, clock=clock)
        self._calls = Calls(adapter, store=name, timeout=timeout, retry=retry, observers=self._observers)

    @property
    def capabilities(self) -> Capabilities:
        """What the opened adapter declares."""
        return self._adapter.capabilities

    def subscribe(self, observer: Observer, *, content: bool = False) -> Callable[[], None]:
        """Call `observer` with every event from now on; the result ends the subscription.

        With `content`, events also carry the texts: `query`, `records` and `block`.
        """
        return self._observers.subscribe(observer, content=content)

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

    async def observe(self, observation: Observation) -> Observed:
        """Remember facts or turns, all or nothing.

        NotFound and Conflict as `supersedes` and `idempotency_key` demand. A repeated key writes
        nothing and returns the records as they are now, `replayed`.
        """
        write = write_from(observation, self._now())
        support.check_write(self.capabilities, write)
        repeatable = write.idempotency_key is not None
        started = perf_counter()
        done = await self._run("observe", lambda: self._adapter.observe(write), repeatable=repeatable)
        self._report.observed(done, perf_counter() - started)
        return done

    async def recall(self, query: Query) -> Recalled:
        """The most relevant records for `text`; without it, the newest first, page by page.

        Text that holds no word finds nothing.
        """
        read = read_from(query, self._now())
        if query.cursor is not None:
            validation.text("cursor", query.cursor, limits.QUERY_CHARS)
            read = read_from(query, read.now, unseal(query.cursor, read))
        support.check_read(self.capabilities, read)
        if read.limit == 0 or not _has_words(read.text):
            self._open()
            return Recalled()
        started = perf_counter()
        found = await self._run("recall", lambda: self._adapter.recall(read), repeatable=True)
        self._report.recalled(read, found, perf_counter() - started)
        return found if found.cursor is None else Recalled(found.hits, seal(found.cursor, read))

    @overload
    async def get(self, id: str) -> Record: ...
    @overload
    async def get(self, id: list[str] | tuple[str, ...]) -> list[Record]: ...
    async def get(self, id: str | list[str] | tuple[str, ...]) -> Record | list[Record]:
        """One record by its id, or several in the order given. NotFound names what is not held."""
        ids = check_ids(id)
        held = await self._held(ids, "get")
        check_found(ids, held, provider=self.capabilities.provider, store=self.name, operation="get")
        return held[id] if isinstance(id, str) else [held[one] for one in ids]

    async def update(self, id: str, patch: Patch, *, revision: str | None = None) -> Record:
        """Change a record; what the patch does not give stays. Returns the new record.

        NotFound; Conflict for a stale `revision` or an invalidated record.
        """
        validation.identifier("id", id)
        checked, expected = patch_from(patch), _revision(revision)
        support.check_patch(self.capabilities, checked, expected)
        now, started = self._now(), perf_counter()
        record = await self._run(
            "update",
            lambda: self._adapter.update(id, checked, revision=expected, now=now),
            repeatable=False,
        )
        self._report.written("update", [record], perf_counter() - started)
        return record

    async def invalidate(self, id: str, reason: str | None = None, *, revision: str | None = None) -> Record:
        """Hide a record and keep it as history; a repeat changes nothing. Returns the record."""
        validation.identifier("id", id)
        why, expected = validation.short("reason", reason), _revision(revision)
        self.capabilities.require("invalidation", operation="invalidate")
        self._check_revision("invalidate", expected)
        now, started = self._now(), perf_counter()
        record = await self._run(
            "invalidate",
            lambda: self._adapter.invalidate(id, why, revision=expected, now=now),
            repeatable=expected is None,
        )
        self._report.invalidated(id, perf_counter() - started)
        return record

    async def delete(self, id: str, *, revision: str | None = None) -> None:
        """Forget a record: no call returns it, or a trace of it, again."""
        validation.identifier("id", id)
        expected = _revision(revision)
        self.capabilities.require("delete", operation="delete")
        self._check_revision("delete", expected)
        now, started = self._now(), perf_counter()
        await self._run(
            "delete", lambda: self._adapter.delete(id, revision=expected, now=now), repeatable=False
        )
        self._report.deleted(id, perf_counter() - started)

    async def wait(self, operation_id: str, *, timeout: float | Unset | None = UNSET) -> Observed:
        """What a pending operation came to. TimedOut leaves it alive; Unavailable when it failed.

        `timeout` is in seconds; left out, the store's own; None waits as long as it takes.
        """
        validation.identifier("operation_id", operation_id)
        self.capabilities.require("operations", operation="wait")
        now, started = self._now(), perf_counter()
        done = await self._run(
            "wait", lambda: self._adapter.wait(operation_id, now=now), repeatable=True, timeout=timeout
        )
        self._report.finished(operation_id, perf_counter() - started)
        return done

    async def scan(self, cursor: str | None = None, limit: int = limits.LIMIT) -> Page:
        """For hosts: every record of every scope in the order written, invalidated and expired too."""
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
        self._report.written("restore", checked, perf_counter() - started)
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

    async def _run(
        self,
        operation: str,
        attempt: Callable[[], Awaitable[T]],
        *,
        repeatable: bool,
        timeout: float | Unset | None = UNSET,
    ) -> T:
        self._open()
        started = perf_counter()
        try:
            return await self._calls.run(operation, attempt, repeatable=repeatable, timeout=timeout)
        except HubError as error:
            self._report.failed(operation, error.code, perf_counter() - started)
            raise

    async def _held(self, ids: Sequence[str], operation: str) -> dict[str, Record]:
        """The records among these ids that are there, by id."""
        now = self._now()
        unique = list(dict.fromkeys(ids))
        found = await self._run(operation, lambda: self._adapter.get(unique, now=now), repeatable=True)
        return {record.id: record for record in found}

    def _open(self) -> None:
        if self._closed:
            raise Closed("the store is closed", provider=self.capabilities.provider, store=self.name)

    def _now(self) -> datetime:
        self._open()
        return self._clock()

    def _check_revision(self, operation: str, revision: str | None) -> None:
        if revision is not None:
            self.capabilities.require("revisions", operation=operation, argument="revision")

    async def _forget(self, record: Record) -> int:
        """Delete an expired record unless someone changed or removed it meanwhile."""
        try:
            await self.delete(record.id, revision=record.revision if self.capabilities.revisions else None)
        except (NotFound, Conflict):
            return 0
        return 1


def _has_words(text: str | None) -> bool:
    if text is None:
        return True
    from memhub.search import has_words

    return has_words(text)


def _revision(value: str | None) -> str | None:
    return None if value is None else validation.identifier("revision", value)
