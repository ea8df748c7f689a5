"""The gateway to `mem0ai` in this process: one thread of its own does everything, one thing at a time.

mem0ai over a local Qdrant loses writes made at once, and its files belong to the thread that opened
them; a single thread serves both.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock
from typing import Any, Final, TypeVar

from memhub.embedding import Embedder
from memhub.upkeep import Progress
from memhub_adapters.failure import Failure
from memhub_adapters.mem0.gateway import Added, Gateway, Message, Metadata
from memhub_adapters.mem0.ledger import Entry, Ledger
from memhub_adapters.mem0.model import Model
from memhub_adapters.mem0.rows import Row, row_of, rows_of
from memhub_adapters.mem0.sdk import opened, ours
from memhub_adapters.mem0.vectors import Maker, made_anew

__all__ = ["EmbeddedGateway"]

T = TypeVar("T")

_EVERYTHING: Final = 1_000_000
"""More rows than a local Qdrant, which reads all of them for each search, is any use with."""


class EmbeddedGateway(Gateway):
    """Opens nothing before its first use. `folder` holds all files; one process uses it at a time.

    `embedder` stays its owner's; another one than before is InvalidConfig, unless `reembedding`.
    Without a `model`, turns cannot be made into facts.
    """

    def __init__(
        self, folder: Path, embedder: Embedder, model: Model | None = None, *, reembedding: bool = False
    ) -> None:
        self._folder = folder
        self._embedder = embedder
        self._model = model
        self._reembedding = reembedding
        self._thread: ThreadPoolExecutor | None = None
        self._lock = Lock()
        self._memory: Any = None
        self._closed = False
        self.ledger = _Ledger(self._run)

    async def add(self, user: str, text: str, metadata: Metadata) -> Added:
        message = {"role": "user", "content": text}
        return await self._run(
            lambda mem0: _added(mem0.add([message], user_id=user, metadata=dict(metadata), infer=False))
        )

    async def extract(self, user: str, messages: Sequence[Message], metadata: Metadata) -> Added:
        given = [dict(message) for message in messages]
        return await self._run(lambda mem0: _added(mem0.add(given, user_id=user, metadata=dict(metadata))))

    async def get(self, id: str) -> Row | None:
        return await self._run(lambda mem0: _row(mem0.get(id)))

    async def rows(self, user: str) -> list[Row]:
        filters = {"user_id": user}
        return await self._run(
            lambda mem0: rows_of(mem0.get_all(filters=filters, top_k=_EVERYTHING, show_expired=True))
        )

    async def some(self, user: str) -> list[Row]:
        return await self.rows(user)

    async def search(self, user: str, text: str, most: int) -> list[Row]:
        asked = {"filters": {"user_id": user}, "top_k": most, "threshold": 0.0, "show_expired": True}
        return await self._run(lambda mem0: rows_of(mem0.search(text, **asked)))

    async def put(self, id: str, text: str | None, metadata: Metadata) -> bool:
        def change(mem0: Any) -> bool:  # noqa: ANN401 - mem0ai has no types
            if mem0.get(id) is None:
                return False
            mem0.update(id, text=text, metadata=dict(metadata))
            return True

        return await self._run(change)

    async def remove(self, id: str) -> bool:
        def change(mem0: Any) -> bool:  # noqa: ANN401 - mem0ai has no types
            if mem0.get(id) is None:
                return False
            mem0.delete(id)
            return True

        return await self._run(change)

    async def users(self) -> list[str]:
        return await self._run(lambda mem0: _users(mem0.vector_store.list(top_k=_EVERYTHING)))

    async def reembed(self, progress: Progress | None) -> int:
        maker = Maker.of(self._embedder)
        return await self._run(lambda mem0: made_anew(mem0, self._folder, maker, progress))

    async def ping(self) -> None:
        await self._run(lambda mem0: mem0.get_all(filters={"user_id": "memhub-ping"}, top_k=1))

    async def aclose(self) -> None:
        with self._lock:
            self._closed = True
            thread, self._thread = self._thread, None
        if thread is None:
            return
        await asyncio.get_running_loop().run_in_executor(thread, self._close)
        thread.shutdown()

    async def _run(self, work: Callable[[Any], T]) -> T:
        """What `work` makes of the opened memory, on the thread. Cancelled before it began, it never does."""
        with self._lock:
            if self._closed:
                # Else a write that has outlived its store would open the folder again, and nobody close it.
                raise Failure("AfterClosing", "none")
            if self._thread is None:
                self._thread = ThreadPoolExecutor(1, thread_name_prefix="memhub-mem0")
            thread = self._thread
        return await asyncio.get_running_loop().run_in_executor(thread, self._worked, work)

    def _worked(self, work: Callable[[Any], T]) -> T:
        try:
            if self._memory is None:
                self._memory = opened(
                    self._folder, self._embedder, self._model, reembedding=self._reembedding
                )
            return work(self._memory)
        except Exception as error:  # noqa: BLE001 - whatever mem0ai lets through; its text may quote a memory
            found = ours(error)
        # Raised out here, so that no error of mem0ai hangs on as __context__.
        raise found

    def _close(self) -> None:
        memory, self._memory = self._memory, None
        if memory is not None:
            memory.close()


class _Ledger(Ledger):
    """The ledger beside the memories, on their thread."""

    def __init__(self, run: Callable[[Callable[[Any], Any]], Awaitable[Any]]) -> None:
        self._run = run

    async def find(self, user: str, key: str) -> Entry | None:
        found: Entry | None = await self._run(lambda mem0: mem0.ledger.find(user, key))
        return found

    async def note(self, user: str, key: str, entry: Entry) -> None:
        await self._run(lambda mem0: mem0.ledger.note(user, key, entry))

    async def forget(self, user: str, key: str | None = None) -> None:
        await self._run(lambda mem0: mem0.ledger.forget(user, key))


def _added(answer: Any) -> Added:  # noqa: ANN401 - mem0ai has no types
    return Added(tuple(rows_of(answer)))


def _row(found: Any) -> Row | None:  # noqa: ANN401 - mem0ai has no types
    return None if found is None else row_of(found)


def _users(listed: Any) -> list[str]:  # noqa: ANN401 - mem0ai has no types
    points = listed[0] if listed and isinstance(listed[0], list) else listed
    users = (point.payload.get("user_id") for point in points)
    return list(dict.fromkeys(user for user in users if isinstance(user, str)))
