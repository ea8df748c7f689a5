"""How the hub calls an adapter: one deadline, one place that retries, one place that wraps errors."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeVar

from memhub.errors import HubError, NativeError, TimedOut, Unavailable
from memhub.observers import Observers
from memhub.records import UNSET, Unset

if TYPE_CHECKING:
    from tenacity import RetryCallState

    from memhub.adapter import Adapter

__all__ = ["Calls", "Clock", "Retry", "utc_now"]

T = TypeVar("T")
Clock = Callable[[], datetime]
Sleep = Callable[[float], Awaitable[None]]


def utc_now() -> datetime:
    """The present, aware, in UTC."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """How failed calls are repeated: exponential delays with jitter, in seconds.

    Only retryable errors of calls that cannot apply twice are repeated. A provider's own
    `retry_after` is waited out instead, up to `max_delay`. `attempts=1` repeats nothing.
    """

    attempts: int = 3
    min_delay: float = 0.1
    max_delay: float = 8.0

    def delay(self, state: RetryCallState) -> float:
        """Seconds until tenacity makes its next attempt, after one that raised."""
        from tenacity import wait_exponential, wait_random

        error = state.outcome.exception() if state.outcome else None
        asked = error.retry_after if isinstance(error, HubError) else None
        if asked is not None:
            return min(asked, self.max_delay)
        grown = wait_exponential(multiplier=self.min_delay, max=self.max_delay)(state)
        return min(self.max_delay, grown + wait_random(0, self.min_delay)(state))


class Calls:
    """Runs the calls of one store. `timeout` is in seconds and spans all attempts; None waits forever."""

    def __init__(
        self, adapter: Adapter, *, store: str, timeout: float | None, retry: Retry, observers: Observers
    ) -> None:
        self._adapter = adapter
        self._provider = adapter.capabilities.provider
        self._store = store
        self._timeout = timeout
        self._retry = retry
        self._observers = observers
        self.sleep: Sleep | None = None

    async def run(
        self,
        operation: str,
        attempt: Callable[[], Awaitable[T]],
        *,
        repeatable: bool,
        timeout: float | Unset | None = UNSET,
    ) -> T:
        """The result of `attempt`, or a HubError. Cancellation passes through untouched."""
        import asyncio

        deadline = self._timeout if isinstance(timeout, Unset) else timeout
        try:
            async with asyncio.timeout(deadline) as scope:
                try:
                    return await self._once(operation, attempt, repeatable=repeatable)
                except HubError as error:
                    if not (repeatable and error.retryable and self._retry.attempts > 1):
                        raise
                    first = error
                return await self._again(operation, attempt, first)
        except TimeoutError:
            if not scope.expired():
                raise
        raise TimedOut(
            f"no answer within {deadline:g} s",
            provider=self._provider,
            store=self._store,
            operation=operation,
            retryable=repeatable,
        )

    async def _once(self, operation: str, attempt: Callable[[], Awaitable[T]], *, repeatable: bool) -> T:
        try:
            return await attempt()
        except HubError as found:
            error = found
        except Exception as found:  # noqa: BLE001 - the one place that wraps what adapters raise
            error = self._translated(found)
        # Raised out here, so that no native error hangs on as __context__.
        raise self._placed(error, operation, repeatable=repeatable)

    async def _again(self, operation: str, attempt: Callable[[], Awaitable[T]], failed: HubError) -> T:
        import asyncio

        from tenacity import AsyncRetrying, retry_if_exception, stop_after_attempt

        pending: HubError | None = failed

        async def next_attempt() -> T:
            nonlocal pending
            if pending is not None:
                error, pending = pending, None
                raise error
            return await self._once(operation, attempt, repeatable=True)

        return await AsyncRetrying(
            sleep=self.sleep or asyncio.sleep,
            stop=stop_after_attempt(self._retry.attempts),
            wait=self._retry.delay,
            retry=retry_if_exception(lambda error: isinstance(error, HubError) and error.retryable),
            before_sleep=lambda state: self._scheduled(operation, state),
            reraise=True,
        )(next_attempt)

    def _scheduled(self, operation: str, state: RetryCallState) -> None:
        from memhub.events import RetryScheduled

        error = state.outcome.exception() if state.outcome else None
        self._observers.emit(
            RetryScheduled(
                store=self._store,
                provider=self._provider,
                operation=operation,
                at=utc_now(),
                attempt=state.attempt_number,
                delay=state.next_action.sleep if state.next_action else 0.0,
                code=error.code if isinstance(error, HubError) else "error",
            )
        )

    def _placed(self, error: HubError, operation: str, *, repeatable: bool) -> HubError:
        error.provider = error.provider or self._provider
        error.store = error.store or self._store
        error.operation = error.operation or operation
        error.retryable = error.retryable and (repeatable or error.unapplied)
        if error.__context__ is not error.__cause__:
            # Raised while a native error was handled, which nobody has chosen to show.
            error.__context__ = None
        return error

    def _translated(self, found: Exception) -> HubError:
        try:
            known = self._adapter.translate(found)
        except Exception as failed:  # noqa: BLE001 - a translation that fails is a defect as well
            known, found = None, failed
        return known or self._defect(found)

    def _defect(self, found: Exception) -> HubError:
        """An error that the adapter does not know as its provider's: its text stays out of sight."""
        kind = type(found).__name__
        error = Unavailable(f"the adapter failed with {kind}; this is a defect of the adapter")
        error.__cause__ = NativeError(kind).with_traceback(found.__traceback__)
        return error
