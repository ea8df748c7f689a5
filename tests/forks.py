"""A store that was in use when its process was forked."""

import asyncio
import os
from collections.abc import Awaitable, Callable

import pytest

from memhub import MemoryStore, Unavailable


def assert_refused_after_a_fork(store: MemoryStore, *calls: Callable[[], Awaitable[object]]) -> None:
    """Each of the calls is refused in the child, which can close the store."""

    async def in_the_child() -> None:
        for call in calls:
            with pytest.raises(Unavailable, match="was in use when this process was forked; open it anew"):
                await call()
        await store.aclose()

    process = os.fork()
    if not process:
        try:
            asyncio.run(in_the_child())
        except BaseException:  # noqa: BLE001 - the child must not go on with the parent's tests
            os._exit(1)
        os._exit(0)
    assert os.waitpid(process, 0)[1] == 0
