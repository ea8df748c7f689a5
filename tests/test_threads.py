"""Blocking work runs on a thread, and a cancelled call does not stop it half-way."""

import asyncio
import threading

import pytest

from memhub.threads import threaded


@threaded
def named(word: str, *, times: int) -> tuple[str, threading.Thread]:
    """Says so."""
    return word * times, threading.current_thread()


def test_it_runs_elsewhere_and_returns_here() -> None:
    said, thread = asyncio.run(named("ab", times=2))
    assert said == "abab"
    assert thread is not threading.current_thread()
    assert (named.__name__, named.__doc__) == ("named", "Says so.")


def test_an_error_comes_back_as_it_is() -> None:
    error = LookupError("gone")

    @threaded
    def fail() -> None:
        raise error

    with pytest.raises(LookupError) as found:
        asyncio.run(fail())
    assert found.value is error


def test_cancelled_work_is_finished() -> None:
    begun, go_on, done = threading.Event(), threading.Event(), threading.Event()

    @threaded
    def work() -> None:
        begun.set()
        go_on.wait()
        done.set()

    async def run() -> None:
        task = asyncio.create_task(work())
        await asyncio.to_thread(begun.wait)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        go_on.set()

    asyncio.run(run())
    assert done.is_set()
