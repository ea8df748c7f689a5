"""Qdrant inside this process: the edge engine, one folder a collection, each call on a thread."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

from memhub.threads import threaded
from memhub_adapters.qdrant import edgewise
from memhub_adapters.qdrant.engine import (
    ALL,
    VALUES,
    Drop,
    Filter,
    Index,
    Op,
    Order,
    Put,
    Row,
    Search,
    Shape,
)
from memhub_adapters.qdrant.failure import QdrantFailure
from memhub_adapters.qdrant.shards import Lease, Shard

if TYPE_CHECKING:
    import qdrant_edge

__all__ = ["EdgeEngine"]

T = TypeVar("T")


class EdgeEngine:
    """One embedded collection. `folder` None: a temporary one, removed when closed."""

    def __init__(self, folder: Path | None) -> None:
        self._temporary = folder is None
        self._opening = Lock()
        self._folder = folder
        self._lease: Lease | None = None
        self._closed = False

    async def version(self) -> str | None:
        return None

    async def shape(self) -> Shape | None:
        return await self._run(lambda shard: None if shard.engine is None else edgewise.shape(shard.folder))

    async def create(self, shape: Shape, indexes: Mapping[str, Index]) -> None:
        await self._run(lambda shard: _create(shard, shape, indexes))

    async def add_vector(self, name: str, size: int | None) -> None:
        await self._update(edgewise.new_vector(name, size))

    async def drop_vector(self, name: str) -> None:
        import qdrant_edge

        await self._update(qdrant_edge.UpdateOperation.delete_vector_name(name))

    async def write(self, *ops: Op) -> None:
        await self._update(*map(_operation, ops))

    async def read(
        self, ids: Sequence[str], *, vectors: Sequence[str] = (), fields: Sequence[str] | None = None
    ) -> list[Row]:
        wanted: list[Any] = list(ids)
        payload, names = True if fields is None else list(fields), list(vectors) or False
        return await self._run(
            lambda shard: list(map(edgewise.row, _held(shard).retrieve(wanted, payload, names)))
        )

    async def scroll(
        self, where: Filter, limit: int, *, order: Order | None = None, vectors: Sequence[str] = ()
    ) -> list[Row]:
        def work(shard: Shard) -> list[Row]:
            rows, offset, more = list[Row](), None, True
            while more:
                request = edgewise.scroll(where, limit, order, vectors, offset)
                found, offset = _held(shard).scroll(request)
                rows += map(edgewise.row, found)
                more = offset is not None and limit == ALL and order is None
            return rows

        return await self._run(work)

    async def search(self, *searches: Search) -> list[list[Row]]:
        request = edgewise.batch(searches)
        return await self._run(
            lambda shard: [list(map(edgewise.scored, found)) for found in _held(shard).query_batch(request)]
        )

    async def count(self, where: Filter) -> int:
        request = edgewise.count(where)
        return await self._run(lambda shard: _held(shard).count(request))

    async def facet(self, key: str, where: Filter) -> dict[str, int]:
        request = edgewise.facet(key, where, VALUES)
        return await self._run(
            lambda shard: {str(hit.value): hit.count for hit in _held(shard).facet(request).hits}
        )

    async def size(self) -> int | None:
        return await self._run(
            lambda shard: sum(
                512 * path.stat().st_blocks for path in shard.folder.rglob("*") if path.is_file()
            )
        )

    async def ping(self) -> None:
        await self._run(lambda shard: None if shard.engine is None else shard.engine.info())

    @threaded
    def aclose(self) -> None:
        with self._opening:
            self._closed = True
            lease, self._lease = self._lease, None
            if lease is not None:
                lease.close()
            if self._temporary and self._folder is not None:
                shutil.rmtree(self._folder, ignore_errors=True)
                self._folder = None

    async def _update(self, *operations: qdrant_edge.UpdateOperation) -> None:
        def work(shard: Shard) -> None:
            engine = _held(shard)
            with shard.writing:
                for operation in operations:
                    engine.update(operation)

        await self._run(work)

    @threaded
    def _run(self, work: Callable[[Shard], T]) -> T:
        try:
            return work(self._shard())
        except (QdrantFailure, OSError):
            raise
        except BaseException as error:
            kind = type(error).__name__
            if not isinstance(error, Exception) and kind != "PanicException":
                raise
        # Raised out here: the engine's own errors are untyped, and their text could quote a memory.
        raise QdrantFailure(kind, "unknown")

    def _shard(self) -> Shard:
        with self._opening:
            if self._closed:
                # Else a write that has outlived its store would open the folder again, and nobody close it.
                raise QdrantFailure("AfterClosing", "none")
            if self._folder is None:
                self._folder = Path(tempfile.mkdtemp(prefix="memhub-qdrant-"))
            if self._lease is None:
                self._lease = Lease(self._folder)
            return self._lease.shard()


def _held(shard: Shard) -> qdrant_edge.EdgeShard:
    if shard.engine is None:
        raise QdrantFailure("NoCollection", "none", status=404)
    return shard.engine


def _create(shard: Shard, shape: Shape, indexes: Mapping[str, Index]) -> None:
    with shard.writing:
        if shard.engine is None:
            shard.folder.mkdir(parents=True, exist_ok=True)
            shard.engine = edgewise.created(shard.folder, shape)
        for field, kind in indexes.items():
            shard.engine.update(edgewise.index(field, kind))


def _operation(op: Op) -> Any:  # noqa: ANN401 - the engine's own, whose stubs are partial
    if isinstance(op, Put):
        return edgewise.put(op)
    if isinstance(op, Drop):
        return edgewise.drop(op)
    return edgewise.new_vectors(op)
