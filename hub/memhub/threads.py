"""For adapters over blocking code: each call on a thread, so that the event loop stays free."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, ParamSpec, TypeVar

__all__ = ["threaded"]

P = ParamSpec("P")
T = TypeVar("T")


def threaded(work: Callable[P, T]) -> Callable[P, Coroutine[Any, Any, T]]:
    """The async function of a blocking one.

    Cancelling the call does not stop the thread: what it writes is then wholly applied. Calls may
    run at once, so `work` locks what it shares.
    """

    @wraps(work)
    async def run(*given: P.args, **named: P.kwargs) -> T:
        import asyncio

        return await asyncio.to_thread(work, *given, **named)

    return run
