"""The deadline, the retries and the one place that wraps errors."""

import asyncio
import logging
import sqlite3
import traceback
from collections.abc import Awaitable, Callable, Iterator

import pytest

from fakes import Faulty
from memhub import (
    AccessDenied,
    Conflict,
    Fact,
    HubError,
    MemoryStore,
    Observation,
    Query,
    RateLimited,
    Retry,
    Scope,
    TimedOut,
    Unavailable,
)
from memhub.adapter import Read
from memhub.errors import NativeError
from memhub.records import Recalled

ME = Scope("me")
TEA = Observation(ME, facts=[Fact("Prefers tea")])
KEYED = Observation(ME, facts=[Fact("Prefers tea")], idempotency_key="k1")
SECRET = "sk-planted-1234567890"


def busy(**more: object) -> Unavailable:
    return Unavailable("try again", retryable=True, **more)


def outcome(adapter: Faulty, call: Callable[[MemoryStore], Awaitable[object]], **options: object) -> object:
    """What a call returned, or the error that it raised."""

    async def run() -> object:
        memory = MemoryStore(adapter, name="notes", **options)
        memory._calls.sleep = adapter.sleep
        try:
            return await call(memory)
        except HubError as error:
            return error

    return asyncio.run(run())


def ping(memory: MemoryStore) -> Awaitable[object]:
    return memory.ping()


class TestRetries:
    def test_a_retryable_read_is_repeated_until_it_answers(self) -> None:
        adapter = Faulty(busy(), busy())
        assert outcome(adapter, ping) is None
        assert adapter.calls == 3
        assert len(adapter.slept) == 2

    def test_attempts_are_counted_from_the_first(self) -> None:
        adapter = Faulty(*[busy() for _ in range(9)])
        error = outcome(adapter, ping, retry=Retry(attempts=4))
        assert isinstance(error, Unavailable)
        assert adapter.calls == 4
        assert len(adapter.slept) == 3

    def test_one_attempt_repeats_nothing(self) -> None:
        adapter = Faulty(busy())
        assert isinstance(outcome(adapter, ping, retry=Retry(attempts=1)), Unavailable)
        assert (adapter.calls, adapter.slept) == (1, [])

    def test_delays_grow_and_stay_below_the_largest(self) -> None:
        adapter = Faulty(*[busy() for _ in range(9)])
        outcome(adapter, ping, retry=Retry(attempts=8, min_delay=0.5, max_delay=6))
        assert all(min(6, 0.5 * 2**n) <= delay <= 6 for n, delay in enumerate(adapter.slept))
        assert len(set(adapter.slept)) > 3

    def test_the_providers_own_delay_is_waited_out(self) -> None:
        adapter = Faulty(RateLimited("slow down", retryable=True, retry_after=3.5), busy())
        assert outcome(adapter, ping) is None
        assert adapter.slept[0] == 3.5
        assert adapter.slept[1] != 3.5

    def test_the_providers_delay_is_bounded(self) -> None:
        adapter = Faulty(RateLimited("slow down", retryable=True, retry_after=3_600))
        assert outcome(adapter, ping, retry=Retry(max_delay=5)) is None
        assert adapter.slept == [5]

    @pytest.mark.parametrize("error", [Conflict("no"), AccessDenied("no"), Unavailable("no")])
    def test_what_is_not_retryable_is_raised_at_once(self, error: HubError) -> None:
        adapter = Faulty(error)
        assert outcome(adapter, ping) is error
        assert (adapter.calls, adapter.slept) == (1, [])

    def test_another_error_ends_the_retries(self) -> None:
        refused = AccessDenied("no")
        adapter = Faulty(busy(), refused, busy())
        assert outcome(adapter, ping) is refused
        assert (adapter.calls, len(adapter.slept)) == (2, 1)

    def test_a_write_without_a_key_is_never_repeated(self) -> None:
        adapter = Faulty(busy())
        error = outcome(adapter, lambda memory: memory.observe(TEA))
        assert isinstance(error, Unavailable)
        assert not error.retryable
        assert (adapter.calls, adapter.slept) == (1, [])

    def test_a_write_that_changed_nothing_says_that_it_may_be_repeated(self) -> None:
        adapter = Faulty(busy(unapplied=True))
        error = outcome(adapter, lambda memory: memory.observe(TEA))
        assert isinstance(error, Unavailable)
        assert error.retryable
        assert (adapter.calls, adapter.slept) == (1, [])

    def test_a_write_with_a_key_is_repeated(self) -> None:
        adapter = Faulty(busy(), busy())
        done = outcome(adapter, lambda memory: memory.observe(KEYED))
        assert not isinstance(done, HubError)
        assert (adapter.calls, len(adapter.slept)) == (3, 2)


class TestDeadline:
    def test_a_hanging_adapter_is_cancelled(self) -> None:
        cancelled = []

        class Hanging(Faulty):
            async def recall(self, read: Read) -> Recalled:
                try:
                    await asyncio.Event().wait()
                except asyncio.CancelledError:
                    cancelled.append(True)
                    raise
                raise AssertionError(read)

        error = outcome(Hanging(), lambda memory: memory.recall(Query(ME)), timeout=0.01)
        assert isinstance(error, TimedOut)
        assert str(error) == "notes.recall: no answer within 0.01 s"
        assert (error.provider, error.store, error.operation) == ("in_memory", "notes", "recall")
        assert error.retryable
        assert error.__context__ is None
        assert cancelled == [True]

    def test_it_spans_all_attempts(self) -> None:
        adapter = Faulty(busy(), busy())
        adapter.sleep = lambda seconds: asyncio.Event().wait()
        error = outcome(adapter, ping, timeout=0.01)
        assert isinstance(error, TimedOut)
        assert adapter.calls == 1

    def test_a_write_that_ran_out_of_time_may_have_been_applied(self) -> None:
        class Hanging(Faulty):
            async def observe(self, write: object) -> object:
                await asyncio.Event().wait()

        error = outcome(Hanging(), lambda memory: memory.observe(TEA), timeout=0.01)
        assert isinstance(error, TimedOut)
        assert not error.retryable

    def test_a_timeout_of_the_adapters_own_is_no_deadline(self) -> None:
        error = outcome(Faulty(TimeoutError(SECRET)), ping, timeout=None)
        assert type(error) is Unavailable


class TestWrapping:
    def test_an_error_of_the_contract_is_placed_and_otherwise_as_it_was(self) -> None:
        raised = Conflict("revision: is stale")
        error = outcome(Faulty(raised), ping)
        assert error is raised
        assert (raised.provider, raised.store, raised.operation) == ("in_memory", "notes", "ping")

    def test_an_error_that_the_adapter_knows_is_translated_once(self) -> None:
        def known(error: Exception) -> HubError | None:
            found = Unavailable("the file is locked", retryable=False)
            found.__cause__ = error
            return found

        native = sqlite3.OperationalError("database is locked")
        error = outcome(Faulty(native, known=known), ping)
        assert str(error) == "notes.ping: the file is locked"
        assert error.__cause__ is native
        assert error.__context__ is None

    def test_an_error_that_nobody_knows_is_a_defect_without_its_text(self) -> None:
        error = outcome(Faulty(KeyError(SECRET)), ping)
        assert type(error) is Unavailable
        assert not error.retryable
        assert "KeyError" in str(error)
        assert "_fail" in "".join(traceback.format_exception(error))
        assert_free_of_secret(error)

    def test_a_translation_that_fails_is_a_defect_too(self) -> None:
        def known(error: Exception) -> HubError | None:
            raise RuntimeError(SECRET) from error

        error = outcome(Faulty(KeyError(SECRET), known=known), ping)
        assert type(error) is Unavailable
        assert_free_of_secret(error)

    def test_an_error_raised_while_handling_a_native_one_does_not_carry_it_on(self) -> None:
        class Careless(Faulty):
            async def ping(self) -> None:
                try:
                    {}[SECRET]
                except KeyError:
                    raise Unavailable("no answer")  # noqa: B904 - what a careless adapter does

        assert_free_of_secret(outcome(Careless(), ping))

    def test_a_chosen_cause_stays(self) -> None:
        class Careful(Faulty):
            async def ping(self) -> None:
                raise Unavailable("no answer") from NativeError("ConnectError", status=503)

        error = outcome(Careful(), ping)
        assert str(error.__cause__) == "ConnectError (status=503)"

    def test_retries_carry_no_native_error_on(self, caplog: pytest.LogCaptureFixture) -> None:
        def known(error: Exception) -> HubError | None:
            return Unavailable("no answer", retryable=True)

        adapter = Faulty(*[OSError(SECRET) for _ in range(5)], known=known)
        with caplog.at_level(logging.DEBUG):
            error = outcome(adapter, ping)
        assert isinstance(error, Unavailable)
        assert len(adapter.slept) == 2
        assert_free_of_secret(error)
        assert SECRET not in caplog.text

    @pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit, asyncio.CancelledError])
    def test_what_is_no_error_passes_untouched(self, stop: type[BaseException]) -> None:
        raised = stop()
        with pytest.raises(stop) as found:
            asyncio.run(MemoryStore(Faulty(raised)).ping())
        assert found.value is raised or stop is KeyboardInterrupt

    def test_cancellation_reaches_the_adapter_and_the_caller(self) -> None:
        class Hanging(Faulty):
            started: asyncio.Event

            async def ping(self) -> None:
                self.started.set()
                await asyncio.Event().wait()

        async def run() -> None:
            adapter = Hanging()
            adapter.started = asyncio.Event()
            task = asyncio.create_task(MemoryStore(adapter).ping())
            await adapter.started.wait()
            task.cancel("stop")
            with pytest.raises(asyncio.CancelledError, match="stop"):
                await task

        asyncio.run(run())


def chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        if error.__context__ is not None and error.__context__ is not error.__cause__:
            yield from chain(error.__context__)
        error = error.__cause__


def assert_free_of_secret(error: object) -> None:
    assert isinstance(error, HubError)
    assert SECRET not in "".join(traceback.format_exception(error))
    for one in chain(error):
        assert SECRET not in f"{one} {one!r} {one.args} {vars(one)}"
        assert SECRET not in "".join(getattr(one, "__notes__", ()))
