"""The Qdrant adapter: one collection, on a server or inside this process."""

from __future__ import annotations

from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Self, TypeVar

from memhub.adapter import Adapter, Read, Write
from memhub.capabilities import FULL, Capabilities
from memhub.embedding import NO_EMBEDDER, Embedder
from memhub.errors import HubError, InvalidConfig
from memhub.records import MODES, Observed, Page, Patch, Recalled, Record, Restored, Stats
from memhub.scope import Scope
from memhub.upkeep import Progress
from memhub_adapters.qdrant import changing, reads, writes
from memhub_adapters.qdrant.collection import Collection, tracked
from memhub_adapters.qdrant.engine import Engine
from memhub_adapters.qdrant.errors import translate
from memhub_adapters.qdrant.reembedding import reembed
from memhub_adapters.qdrant.searching import search
from memhub_adapters.translating import translated
from memhub_adapters.underway import Underway

__all__ = ["CAPABILITIES", "MEMORY", "QdrantAdapter"]

T = TypeVar("T")

MEMORY: Final = ":memory:"
"""The path of a collection that is gone when it is closed."""

OLDEST: Final = (1, 20)
"""The oldest server: earlier ones cannot weigh words by the records of a scope alone."""

_WITH_MEANING: Final = replace(
    FULL,
    provider="qdrant",
    modes=MODES,
    default_mode="hybrid",
    reasons={
        "operations": FULL.reasons["operations"],
        "complete_erasure": "Qdrant keeps the bytes of deleted points until its optimizer rewrites the segment",
    },
)
_BY_WORDS: Final = _WITH_MEANING.by_words(NO_EMBEDDER)
CAPABILITIES: Final[Mapping[str, Capabilities]] = {
    "with an embedder": _WITH_MEANING,
    "without": _BY_WORDS,
}


class QdrantAdapter(Adapter):
    """Memories in one Qdrant collection, made on demand. Make it by `remote` or `embedded`.

    `embedder` stays the caller's. Without one the store searches by words only. The collection
    remembers what made its vectors: `open` refuses another embedder, and `reembed` goes over to it.
    """

    def __init__(
        self, engine: Engine, *, collection: str, where: str, embedder: Embedder | None = None
    ) -> None:
        self.capabilities = _BY_WORDS if embedder is None else _WITH_MEANING
        self._engine = engine
        self._where = where
        self._collection = Collection(engine, embedder, collection, reembed)
        self._underway = Underway()

    @classmethod
    def remote(
        cls,
        url: str,
        *,
        collection: str,
        api_key: str | None = None,
        timeout: float = 10.0,
        embedder: Embedder | None = None,
    ) -> Self:
        """On the server at `url`. `timeout` is in seconds, of each step of a request."""
        from memhub_adapters.qdrant.remote import RemoteEngine

        engine = RemoteEngine(url, collection, api_key=api_key, timeout=timeout)
        return cls(engine, collection=collection, where="qdrant", embedder=embedder)

    @classmethod
    def embedded(cls, path: Path | str, *, collection: str, embedder: Embedder | None = None) -> Self:
        """In this process, in a folder of `path` named like the collection; `MEMORY` for nowhere lasting."""
        from memhub_adapters.qdrant.edge import EdgeEngine

        folder = None if str(path) == MEMORY else Path(path) / collection
        return cls(EdgeEngine(folder), collection=collection, where=str(folder or path), embedder=embedder)

    async def open(self, *, reembedding: bool = False) -> None:
        """Reach the collection now, and make it where there is none.

        Raises InvalidConfig for one that is not Memhub's, or whose vectors another embedder has
        made, unless `reembedding` is what it is opened for; and for a server that is too old.
        """
        await translated(self._opened(reembedding=reembedding), self.translate)

    async def observe(self, write: Write) -> Observed:
        return await self._whole(writes.observe(self._collection, write))

    async def recall(self, read: Read) -> Recalled:
        await self._collection.ready()
        if read.text is None:
            return await reads.listing(self._collection, read)
        mode = read.mode or self.capabilities.default_mode or "keyword"
        return await search(self._collection, read, read.text, mode)

    async def get(self, ids: Sequence[str], *, now: datetime) -> list[Record]:
        await self._collection.ready()
        return await reads.get(self._engine, ids, now=now)

    async def update(self, id: str, patch: Patch, *, revision: str | None, now: datetime) -> Record:
        return await self._whole(changing.update(self._collection, id, patch, revision=revision, now=now))

    async def invalidate(self, id: str, reason: str | None, *, revision: str | None, now: datetime) -> Record:
        return await self._whole(
            changing.invalidate(self._collection, id, reason, revision=revision, now=now)
        )

    async def delete(self, id: str, *, revision: str | None, now: datetime) -> None:
        await self._whole(changing.delete(self._collection, id, revision=revision, now=now))

    async def scan(self, cursor: str | None, limit: int, *, now: datetime) -> Page:
        await self._collection.ready()
        return await reads.scan(self._engine, cursor, limit)

    async def restore(self, records: Sequence[Record], *, now: datetime) -> Restored:
        return await self._whole(writes.restore(self._collection, records, now=now))

    async def stats(self, scope: Scope | None, *, by_scope: bool, now: datetime) -> Stats:
        await self._collection.ready()
        return await reads.stats(self._engine, scope, by_scope=by_scope, now=now)

    async def purge(self, scope: Scope, *, exact: bool, now: datetime) -> int:
        return await self._whole(changing.purge(self._collection, scope, exact=exact))

    async def reembed(self, progress: Progress | None = None) -> int:
        return await reembed(self._collection, progress)

    async def ping(self) -> None:
        await self._engine.ping()

    async def aclose(self) -> None:
        try:
            await self._underway.ended()
        finally:
            await self._engine.aclose()

    def translate(self, error: Exception) -> HubError | None:
        return translate(error, self._where)

    async def _opened(self, *, reembedding: bool) -> None:
        _check_version(await self._engine.version())
        await (self._collection.noted() if reembedding else self._collection.ready())

    async def _whole(self, work: Coroutine[Any, Any, T]) -> T:
        """A write of several requests, which goes on to its end when the caller is cancelled."""
        return await self._underway.whole(self._tracked(work))

    async def _tracked(self, work: Coroutine[Any, Any, T]) -> T:
        try:
            await self._collection.ready()
        except BaseException:
            work.close()
            raise
        with tracked():
            return await work


def _check_version(version: str | None) -> None:
    numbers = (version or "").split("-")[0].split(".")[:2]
    if all(part.isdecimal() for part in numbers) and tuple(map(int, numbers)) < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        raise InvalidConfig(f"url: the server is Qdrant {version}; Memhub needs {oldest} or newer")
