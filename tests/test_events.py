"""Observers see counts, never content, and hinder nobody: not when slow, not when failing."""

import asyncio
import logging
import threading
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from dataclasses import asdict, replace
from datetime import datetime

import pytest

from fakes import Faulty, SetClock
from memhub import Fact, InvalidInput, MemoryStore, Observation, Patch, Query, Scope, Turn, Unavailable
from memhub.events import (
    CallFailed,
    Event,
    MemoryDeleted,
    MemoryInvalidated,
    MemorySearched,
    MemoryWritten,
    RetryScheduled,
)
from memhub.observers import Observers
from memhub.records import Record, Restored
from memhub_adapters.in_memory import InMemoryAdapter

ME = Scope("me")
AT = SetClock()()


def written(count: int) -> MemoryWritten:
    return MemoryWritten(store="s", provider="p", operation="observe", at=AT, count=count, characters=0)


@pytest.fixture
def observers() -> Iterator[Observers]:
    found = Observers()
    yield found
    found.close()


def test_events_arrive_in_order_on_a_thread_of_their_own(observers: Observers) -> None:
    seen: list[tuple[Event, str]] = []
    observers.subscribe(lambda event: seen.append((event, threading.current_thread().name)))
    for n in range(100):
        observers.emit(written(n))
    observers.close()
    assert seen == [(written(n), "memhub-events") for n in range(100)]


def test_a_failing_observer_fails_alone_and_without_its_text(
    observers: Observers, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(event: Event) -> None:
        raise ValueError("sk-planted")

    seen: list[Event] = []
    observers.subscribe(fail)
    observers.subscribe(seen.append)
    observers.emit(written(1))
    observers.emit(written(2))
    observers.close()
    assert seen == [written(1), written(2)]
    assert [record.getMessage() for record in caplog.records] == ["an observer failed with ValueError"] * 2
    assert {record.levelno for record in caplog.records} == {logging.WARNING}


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt, asyncio.CancelledError])
def test_one_that_exits_or_is_cancelled_silences_nobody(
    observers: Observers, error: type[BaseException], caplog: pytest.LogCaptureFixture
) -> None:
    def leave(event: Event) -> None:
        raise error

    seen: list[Event] = []
    observers.subscribe(leave)
    observers.subscribe(seen.append)
    for n in range(3):
        observers.emit(written(n))
    observers.close()
    assert seen == [written(n) for n in range(3)]
    assert caplog.messages == [f"an observer failed with {error.__name__}"] * 3


class Awaited:
    async def __call__(self, event: Event) -> None:
        """Never runs."""


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ("print", "must be callable with one event, not str"),
        (None, "must be callable with one event, not NoneType"),
        (Awaited().__call__, "is a coroutine function, which nobody awaits here; give a plain one"),
        (Awaited(), "is a coroutine function"),
    ],
)
def test_what_would_never_hear_of_anything_is_refused_at_once(observers: Observers, wrong, told: str) -> None:
    with pytest.raises(InvalidInput, match=f"observer: {told}"):
        observers.subscribe(wrong)
    with pytest.raises(InvalidInput, match=f"observer: {told}"):
        MemoryStore(Faulty(), observers=[wrong])


def test_a_slow_observer_does_not_hold_up_the_caller(observers: Observers) -> None:
    go_on, seen = threading.Event(), []
    observers.subscribe(lambda event: go_on.wait())
    observers.subscribe(seen.append)
    for n in range(3):
        observers.emit(written(n))
    assert seen == []
    go_on.set()
    observers.close()
    assert seen == [written(n) for n in range(3)]


def test_what_exceeds_the_backlog_is_dropped_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memhub.observers.BACKLOG", 2)
    observers = Observers()
    busy, go_on, seen = threading.Event(), threading.Event(), []

    def slow(event: Event) -> None:
        busy.set()
        go_on.wait()
        seen.append(event)

    observers.subscribe(slow)
    observers.emit(written(0))
    busy.wait()
    for n in range(1, 6):
        observers.emit(written(n))
    assert observers.dropped == 3
    go_on.set()
    observers.close()
    assert seen == [written(n) for n in range(3)]


def test_a_subscription_ends(observers: Observers) -> None:
    seen: list[Event] = []
    end = observers.subscribe(seen.append)
    assert observers
    end()
    end()
    assert not observers
    observers.emit(written(1))
    observers.close()
    assert seen == []


def test_without_observers_there_is_no_thread(observers: Observers) -> None:
    before = threading.active_count()
    observers.emit(written(1))
    assert threading.active_count() == before


def test_close_works_twice_and_nothing_is_delivered_after_it(observers: Observers) -> None:
    seen: list[Event] = []
    observers.subscribe(seen.append)
    observers.emit(written(1))
    observers.close()
    before = threading.active_count()
    observers.emit(written(2))
    observers.close()
    assert seen == [written(1)]
    assert threading.active_count() == before


def test_an_observer_may_close(observers: Observers) -> None:
    closed, seen = threading.Event(), []

    def close(event: Event) -> None:
        observers.close()
        seen.append(threading.current_thread())
        closed.set()

    observers.subscribe(close)
    observers.emit(written(1))
    assert closed.wait(10)
    seen[0].join(10)
    assert not seen[0].is_alive()


def test_an_observer_that_never_returns_does_not_keep_close_waiting(observers: Observers) -> None:
    go_on = threading.Event()
    observers.subscribe(lambda event: go_on.wait())
    observers.emit(written(1))
    observers.close(timeout=0.01)
    assert not go_on.is_set()
    go_on.set()


def test_a_store_that_closes_leaves_the_loop_free_for_its_observers() -> None:
    async def run() -> list[int]:
        loop, seen = asyncio.get_running_loop(), []

        async def note(event: MemoryWritten) -> None:
            seen.append(event.count)

        def observer(event: MemoryWritten) -> None:
            asyncio.run_coroutine_threadsafe(note(event), loop).result()

        async with MemoryStore(Faulty(), observers=[observer]) as memory:
            await memory.observe(Observation(ME, facts=[Fact("tea"), Fact("milk")]))
        return seen

    assert asyncio.run(run()) == [2]


async def everything(memory: MemoryStore, clock: SetClock) -> None:
    said = await memory.observe(Observation(ME, facts=[Fact("Prefers jasmine tea"), Fact("Has a cat")]))
    tea, cat = said.records
    await memory.observe(
        Observation(ME, facts=[Fact("Prefers oolong", supersedes=tea.id)], idempotency_key="k")
    )
    await memory.observe(
        Observation(ME, facts=[Fact("Prefers oolong", supersedes=tea.id)], idempotency_key="k")
    )
    await memory.recall(Query(ME, text="oolong"))
    await memory.recall(Query(ME))
    await memory.update(cat.id, Patch(content="Has two cats", expires_at=clock.now))
    await memory.sweep()
    turn = await memory.observe(Observation(ME, turns=[Turn("user", "hello")]))
    await memory.invalidate(turn.records[0].id)
    await memory.delete(turn.records[0].id)
    await memory.purge(ME)


def test_each_verb_tells_what_it_did_in_counts_and_characters() -> None:
    seen: list[Event] = []
    clock = SetClock()

    async def run() -> None:
        async with MemoryStore(Faulty(), name="notes", clock=clock, observers=[seen.append]) as memory:
            await everything(memory, clock)

    asyncio.run(run())
    told = [
        {
            name: value
            for name, value in asdict(event).items()
            if name not in ("store", "provider", "at", "seconds", "ids") and value is not None
        }
        | {"event": type(event)}
        for event in seen
    ]
    assert told == [
        {"event": MemoryWritten, "operation": "observe", "count": 2, "characters": 28, "replayed": False},
        {"event": MemoryWritten, "operation": "observe", "count": 1, "characters": 14, "replayed": False},
        {"event": MemoryInvalidated, "operation": "observe", "count": 1},
        {"event": MemoryWritten, "operation": "observe", "count": 1, "characters": 14, "replayed": True},
        {"event": MemorySearched, "operation": "recall", "count": 1, "characters": 14, "text": True},
        {"event": MemorySearched, "operation": "recall", "count": 2, "characters": 23, "text": False},
        {"event": MemoryWritten, "operation": "update", "count": 1, "characters": 12, "replayed": False},
        {"event": MemoryDeleted, "operation": "delete", "count": 1},
        {"event": MemoryWritten, "operation": "observe", "count": 1, "characters": 5, "replayed": False},
        {"event": MemoryInvalidated, "operation": "invalidate", "count": 1},
        {"event": MemoryDeleted, "operation": "delete", "count": 1},
        {"event": MemoryDeleted, "operation": "purge", "count": 2},
    ]
    assert {(event.store, event.provider, event.at) for event in seen} == {("notes", "in_memory", clock.now)}
    assert not any(word in repr(seen) for word in ("tea", "oolong", "cat", "hello"))


def test_ids_are_told_and_texts_only_to_who_asked() -> None:
    told: list[Event] = []
    shown: list[Event] = []
    clock = SetClock()

    async def run() -> None:
        async with MemoryStore(Faulty(), clock=clock, observers=[told.append]) as memory:
            memory.subscribe(shown.append, content=True)
            await everything(memory, clock)

    asyncio.run(run())
    assert [event.without_content() for event in shown] == told
    written, corrected, searched = shown[0], shown[2], shown[4]
    assert isinstance(written, MemoryWritten)
    assert isinstance(searched, MemorySearched)
    assert written.records is not None
    assert [record.content for record in written.records] == ["Prefers jasmine tea", "Has a cat"]
    assert written.ids == tuple(record.id for record in written.records)
    assert corrected.ids == written.ids[:1]
    assert searched.query == "oolong"
    assert [record.content for record in searched.records or ()] == ["Prefers oolong"]
    assert all(event.seconds > 0 for event in shown if event != corrected)


class Renaming(InMemoryAdapter):
    """Keeps no id that is given to it, as some providers do."""

    async def restore(self, records: Sequence[Record], *, now: datetime) -> Restored:
        await super().restore([replace(one, id=f"here-{one.id}") for one in records], now=now)
        return Restored({one.id: f"here-{one.id}" for one in records})


def test_what_is_restored_is_told_by_the_ids_that_it_has_here() -> None:
    shown: list[Event] = []

    async def run() -> Sequence[Record]:
        async with MemoryStore(Faulty()) as old, MemoryStore(Renaming()) as new:
            new.subscribe(shown.append, content=True)
            said = await old.observe(Observation(ME, facts=[Fact("Tea"), Fact("Milk")]))
            done = await new.restore(said.records)
            return await new.get(list(done.ids.values()))

    held = asyncio.run(run())
    [told] = shown
    assert isinstance(told, MemoryWritten)
    assert told.ids == tuple(record.id for record in held)
    assert [(one.id, one.content) for one in told.records or ()] == [(one.id, one.content) for one in held]


def test_an_observer_runs_in_the_context_of_its_call() -> None:
    request: ContextVar[str] = ContextVar("request", default="none")
    seen: list[str] = []

    async def call(memory: MemoryStore, name: str) -> None:
        request.set(name)
        await memory.observe(Observation(ME, facts=[Fact("tea")]))

    async def run() -> None:
        async with MemoryStore(Faulty(), observers=[lambda event: seen.append(request.get())]) as memory:
            await asyncio.gather(*(call(memory, name) for name in "abc"))

    asyncio.run(run())
    assert sorted(seen) == ["a", "b", "c"]


def test_a_call_that_fails_in_the_end_is_told() -> None:
    seen: list[Event] = []

    async def run() -> None:
        async with MemoryStore(Faulty(Unavailable("sk-planted")), observers=[seen.append]) as memory:
            with pytest.raises(Unavailable):
                await memory.observe(Observation(ME, facts=[Fact("tea")]))
            with pytest.raises(InvalidInput):
                await memory.recall(Query(ME, limit=-1))

    asyncio.run(run())
    [event] = seen
    assert isinstance(event, CallFailed)
    assert (event.operation, event.code) == ("observe", "unavailable")
    assert "sk-planted" not in repr(event)


def test_a_retry_is_told() -> None:
    seen: list[Event] = []
    adapter = Faulty(Unavailable("busy", retryable=True, retry_after=2))

    async def run() -> None:
        async with MemoryStore(adapter, observers=[seen.append]) as memory:
            memory._calls.sleep = adapter.sleep
            await memory.ping()

    asyncio.run(run())
    [event] = seen
    assert isinstance(event, RetryScheduled)
    assert (event.operation, event.attempt, event.delay, event.code) == ("ping", 1, 2, "unavailable")
