"""The verbs of a store that products and agents use: validated, checked, timed, reported, once for every adapter."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from time import perf_counter
from typing import TYPE_CHECKING, TypeVar, overload

from memhub import limits, support, validation
from memhub.calls import Calls, Clock, Retry, utc_now
from memhub.cursors import seal, unseal
from memhub.errors import Closed, HubError
from memhub.intents import deletion_from, invalidation_from, update_from
from memhub.lookup import check_found, check_ids
from memhub.observers import Observer, Observers
from memhub.records import UNSET, Observation, Observed, Patch, Query, Recalled, Record, Unset
from memhub.reporting import Reporter
from memhub.requests import read_from, write_from

if TYPE_CHECKING:
    from memhub.adapter import Adapter
    from memhub.capabilities import Capabilities

__all__ = ["Verbs"]

T = TypeVar("T")


class Verbs:
    """What `MemoryStore` and what is bound of it have in common; `MemoryStore` is what to make.

    Every verb raises InvalidInput for a wrong call and Unsupported for what the provider cannot
    do, both before any I/O; Unavailable and its kinds when the provider cannot answer; Closed
    after `aclose`.
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
        checked, expected = update_from(self.capabilities, id, patch, revision)
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
        why, expected = invalidation_from(self.capabilities, id, reason, revision)
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
        expected = deletion_from(self.capabilities, id, revision)
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


def _has_words(text: str | None) -> bool:
    if text is None:
        return True
    from memhub.search import has_words

    return has_words(text)
