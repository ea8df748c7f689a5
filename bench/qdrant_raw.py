"""What one would write by hand with Qdrant's own libraries, doing the same work as the store.

The same vectors, the same payload, filters and guarantees; no Memhub around it but the makers of
vectors. `RawServer` speaks to a server through AsyncQdrantClient with kept connections, `RawEdge` to
the embedded engine, `RawLocal` to the client's local mode.
"""

from __future__ import annotations

import secrets
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import httpx
import qdrant_edge as edge
from qdrant_client import AsyncQdrantClient, models

from memhub import Record, Scope
from memhub.search import document, question
from memhub_adapters.embedders.hash import HashEmbedder
from memhub_adapters.qdrant.points import asked_words, word_vector

COLLECTION = "raw"
FIELDS = {
    "labels": "keyword",
    "observed_at": "datetime",
    "created_at": "datetime",
    "invalid_at": "datetime",
    "expires_at": "datetime",
    "revision": "keyword",
}


class Makes:
    """Points and vectors, the same for all three."""

    def __init__(self, dimensions: int) -> None:
        self.dimensions = dimensions
        self._embedder = HashEmbedder(dimensions)

    def payload(self, scope: str, text: str) -> dict[str, Any]:
        now = datetime.now(UTC).isoformat()
        return {
            "labels": [scope],
            "kind": "fact",
            "content": text,
            "created_at": now,
            "updated_at": now,
            "observed_at": now,
            "revision": secrets.token_hex(8),
        }

    def words(self, text: str) -> tuple[list[int], list[float]]:
        now = datetime.now(UTC)
        record = Record(
            id="x",
            scope=Scope("x"),
            kind="fact",
            content=text,
            created_at=now,
            updated_at=now,
            observed_at=now,
            revision="r",
        )
        found = word_vector(document(record))
        return found.indices, found.values

    def asked(self, text: str) -> list[int]:
        return list(asked_words(question(text)))

    def meaning(self, text: str) -> list[float]:
        return [round(value, 7) for value in self._embedder._vector(text)]  # noqa: SLF001 - by hand, without await


class RawClient(Makes):
    """Over AsyncQdrantClient, whatever is behind it."""

    def __init__(self, client: AsyncQdrantClient, dimensions: int) -> None:
        super().__init__(dimensions)
        self.client = client

    async def make(self, *, indexes: bool) -> None:
        await self.client.create_collection(
            COLLECTION,
            vectors_config={"m": models.VectorParams(size=self.dimensions, distance=models.Distance.COSINE)},
            sparse_vectors_config={"w": models.SparseVectorParams(modifier=models.Modifier.IDF)},
        )
        for field, kind in FIELDS.items() if indexes else ():
            await self.client.create_payload_index(COLLECTION, field, models.PayloadSchemaType(kind))

    def point(self, scope: str, text: str, id: str | None = None) -> models.PointStruct:
        indices, values = self.words(text)
        vector = {"w": models.SparseVector(indices=indices, values=values), "m": self.meaning(text)}
        return models.PointStruct(
            id=id or str(uuid.uuid4()), vector=vector, payload=self.payload(scope, text)
        )

    async def write(self, scope: str, texts: Sequence[str]) -> list[str]:
        points = [self.point(scope, text) for text in texts]
        await self.client.upsert(COLLECTION, points)
        return [str(point.id) for point in points]

    def where(self, scope: str) -> models.Filter:
        gone = models.DatetimeRange(lte=datetime.now(UTC))
        return models.Filter(
            must=[
                models.FieldCondition(key="labels", match=models.MatchAny(any=[scope])),
                models.IsEmptyCondition(is_empty=models.PayloadField(key="invalid_at")),
            ],
            must_not=[models.FieldCondition(key="expires_at", range=gone)],
        )

    def corpus(self, scope: str) -> models.Filter:
        return models.Filter(must=[models.FieldCondition(key="labels", match=models.MatchAny(any=[scope]))])

    async def by_words(self, scope: str, text: str, limit: int, *, scoped: bool = True) -> list[Any]:
        asked = self.asked(text)
        corpus = self.corpus(scope)
        found = await self.client.query_points(
            COLLECTION,
            query=models.SparseVector(indices=asked, values=[1.0] * len(asked)),
            using="w",
            query_filter=self.where(scope),
            search_params=models.SearchParams(idf=models.IdfCorpusParams(corpus=corpus)) if scoped else None,
            limit=limit,
        )
        return found.points

    async def by_both(self, scope: str, text: str, size: int, shown: int) -> list[Any]:
        asked, where = self.asked(text), self.where(scope)
        words = models.SparseVector(indices=asked, values=[1.0] * len(asked))
        corpus = models.IdfCorpusParams(corpus=self.corpus(scope))
        lists = await self.client.query_batch_points(
            COLLECTION,
            [
                models.QueryRequest(
                    query=words,
                    using="w",
                    filter=where,
                    limit=size,
                    params=models.SearchParams(idf=corpus),
                ),
                models.QueryRequest(query=self.meaning(text), using="m", filter=where, limit=size),
            ],
        )
        best = list(dict.fromkeys(point.id for one in lists for point in one.points))[:shown]
        return await self.client.retrieve(COLLECTION, best)

    async def list(self, scope: str, limit: int) -> list[Any]:
        newest = models.OrderBy(key="observed_at", direction=models.Direction.DESC)
        found, _ = await self.client.scroll(
            COLLECTION, scroll_filter=self.where(scope), limit=limit, order_by=newest
        )
        return found

    async def list_steadily(self, scope: str, limit: int) -> list[Any]:
        """With what later pages need to keep out what is written meanwhile."""
        found = await self.list(scope, limit)
        last = models.OrderBy(key="created_at", direction=models.Direction.DESC)
        await self.client.scroll(COLLECTION, scroll_filter=self.where(scope), limit=1, order_by=last)
        return found

    async def get(self, id: str) -> Any:
        return (await self.client.retrieve(COLLECTION, [id]))[0]

    async def update(self, id: str, scope: str, text: str) -> None:
        """Only if nobody else has changed it meanwhile, and known to have been."""
        held = await self.get(id)
        point = self.point(scope, text, id)
        same = models.FieldCondition(key="revision", match=models.MatchValue(value=held.payload["revision"]))
        await self.client.upsert(
            COLLECTION,
            [point],
            update_filter=models.Filter(must=[same]),
            update_mode=models.UpdateMode.UPDATE_ONLY,
        )
        assert (await self.get(id)).payload["revision"] == point.payload["revision"]

    async def delete(self, id: str) -> None:
        await self.client.delete(COLLECTION, models.PointIdsList(points=[id]))

    async def delete_once(self, id: str) -> None:
        """Told whether it was we who deleted it; what another puts in its place meanwhile stays."""
        held = await self.get(id)
        token = secrets.token_hex(8)
        same = models.FieldCondition(key="revision", match=models.MatchValue(value=held.payload["revision"]))
        await self.client.upsert(
            COLLECTION,
            [models.PointStruct(id=id, vector={}, payload={"revision": token})],
            update_filter=models.Filter(must=[same]),
            update_mode=models.UpdateMode.UPDATE_ONLY,
        )
        assert (await self.get(id)).payload["revision"] == token
        ours = models.FieldCondition(key="revision", match=models.MatchValue(value=token))
        chosen = models.Filter(must=[ours, models.HasIdCondition(has_id=[id])])
        await self.client.delete(COLLECTION, models.FilterSelector(filter=chosen))


def server(url: str, dimensions: int) -> RawClient:
    """A client that keeps its connections, which it does not do for localhost unless told to."""
    limits = httpx.Limits(max_connections=100, max_keepalive_connections=20)
    return RawClient(AsyncQdrantClient(url=url, check_compatibility=False, limits=limits), dimensions)


class RawEdge(Makes):
    """Over the embedded engine, in the caller's thread."""

    def __init__(self, folder: str, dimensions: int) -> None:
        super().__init__(dimensions)
        self.shard = edge.EdgeShard.create(
            folder,
            edge.EdgeConfig(
                vectors={"m": edge.EdgeVectorParams(size=dimensions, distance=edge.Distance.Cosine)},
                sparse_vectors={"w": edge.EdgeSparseVectorParams(modifier=edge.Modifier.Idf)},
                payload_memory=edge.Memory.Cached,
            ),
        )
        kinds = {"keyword": edge.PayloadSchemaType.Keyword, "datetime": edge.PayloadSchemaType.Datetime}
        for field, kind in FIELDS.items():
            self.shard.update(edge.UpdateOperation.create_field_index(field, kinds[kind]))

    def write(self, scope: str, texts: Sequence[str]) -> list[str]:
        points = []
        for text in texts:
            vectors = {"w": edge.SparseVector(*self.words(text)), "m": self.meaning(text)}
            points.append(edge.Point(str(uuid.uuid4()), vectors, self.payload(scope, text)))
        self.shard.update(edge.UpdateOperation.upsert_points(points))
        return [str(point.id) for point in points]

    def where(self, scope: str) -> edge.Filter:
        gone = edge.RangeDateTime(lte=datetime.now(UTC).isoformat())
        return edge.Filter(
            must=[
                edge.FieldCondition("labels", match=edge.MatchAny([scope])),
                edge.IsEmptyCondition("invalid_at"),
            ],
            must_not=[edge.FieldCondition("expires_at", range=gone)],
        )

    def by_words(self, scope: str, text: str, limit: int, *, scoped: bool = True) -> list[Any]:
        corpus = edge.Filter(must=[edge.FieldCondition("labels", match=edge.MatchAny([scope]))])
        asked = self.asked(text)
        return self.shard.query(
            edge.QueryRequest(
                limit=limit,
                query=edge.Query.Nearest(edge.SparseVector(asked, [1.0] * len(asked)), using="w"),
                filter=self.where(scope),
                params=edge.SearchParams(idf=edge.IdfParams(corpus)) if scoped else None,
                with_payload=True,
            )
        )

    def get(self, id: str) -> Any:
        return self.shard.retrieve([id], True, False)[0]

    def list(self, scope: str, limit: int) -> list[Any]:
        newest = edge.OrderBy("observed_at", edge.Direction.Desc)
        return self.shard.scroll(
            edge.ScrollRequest(limit=limit, filter=self.where(scope), with_payload=True, order_by=newest)
        )[0]
