"""Qdrant on a server, through its own client: one client an event loop, made on first use."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Final, TypeVar

import httpx
from qdrant_client import AsyncQdrantClient
from qdrant_client.common.client_exceptions import QdrantException, ResourceExhaustedResponse
from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

from memhub_adapters.failure import NEVER_SENT, Effect
from memhub_adapters.loops import PerLoop
from memhub_adapters.qdrant import restwise
from memhub_adapters.qdrant.bounded import BoundedTransport
from memhub_adapters.qdrant.engine import ALL, VALUES, Filter, Index, Op, Order, Row, Search, Shape
from memhub_adapters.qdrant.failure import QdrantFailure

__all__ = ["LARGEST", "RemoteEngine"]

T = TypeVar("T")

LARGEST: Final = 256 * 2**20
"""Bytes of an answer that are read: a page of 1,000 of the longest contents is shorter."""

_TAKEN: Final = (400, 409)


class RemoteEngine:
    """One collection of the server at `url`. `timeout` is in seconds, of each step of a request.

    The key goes into a header and nowhere else. Proxies of the environment are not used.
    """

    def __init__(
        self, url: str, collection: str, *, api_key: str | None, timeout: float, largest: int = LARGEST
    ) -> None:
        self._url = url
        self._collection = collection
        self._headers = {"api-key": api_key} if api_key else {}
        self._timeout = timeout
        self._largest = largest
        self._clients = PerLoop(self._client, AsyncQdrantClient.close)

    async def version(self) -> str | None:
        return (await self._send(lambda client: client.info())).version

    async def shape(self) -> Shape | None:
        try:
            found = await self._send(lambda client: client.get_collection(self._collection))
        except QdrantFailure as failure:
            if failure.status == 404:  # noqa: PLR2004 - HTTP's own number
                return None
            raise
        return restwise.shape_of(found.config.params)

    async def create(self, shape: Shape, indexes: Mapping[str, Index]) -> None:
        vectors = restwise.vectors_of(shape)
        try:
            await self._send(lambda client: client.create_collection(self._collection, **vectors))
        except QdrantFailure as failure:
            if failure.status not in _TAKEN or await self.shape() is None:
                raise
        for field, kind in indexes.items():
            await self._index(field, kind)

    async def _index(self, field: str, kind: Index) -> None:
        schema = restwise.SCHEMAS[kind]
        await self._send(
            lambda client: client.create_payload_index(self._collection, field, field_schema=schema)
        )

    async def add_vector(self, name: str, size: int | None) -> None:
        config = restwise.new_vector(size)
        await self._send(lambda client: client.create_vector_name(self._collection, name, config))

    async def drop_vector(self, name: str) -> None:
        await self._send(lambda client: client.delete_vector_name(self._collection, name))

    async def write(self, *ops: Op) -> None:
        operations = list(map(restwise.operation, ops))
        try:
            done = await self._send(lambda client: client.batch_update_points(self._collection, operations))
        except QdrantFailure as failure:
            if failure.status is not None and len(ops) > 1:
                # The server applies one after the other, and may have refused the last one only.
                failure.effect = "unknown"
            raise
        if any(result.status != "completed" for result in done):
            raise QdrantFailure("WaitTimeout", "unknown")

    async def read(
        self, ids: Sequence[str], *, vectors: Sequence[str] = (), fields: Sequence[str] | None = None
    ) -> list[Row]:
        payload, names = True if fields is None else list(fields), list(vectors) or False
        found = await self._send(
            lambda client: client.retrieve(
                self._collection, list(ids), with_payload=payload, with_vectors=names
            )
        )
        return list(map(restwise.row, found))

    async def scroll(
        self, where: Filter, limit: int, *, order: Order | None = None, vectors: Sequence[str] = ()
    ) -> list[Row]:
        chosen = restwise.filter_of(where)
        asked = partial(
            AsyncQdrantClient.scroll,
            collection_name=self._collection,
            scroll_filter=chosen,
            limit=limit,
            order_by=None if order is None else restwise.order_of(order),
            with_vectors=list(vectors) or False,
        )
        rows, offset, more = list[Row](), None, True
        while more:
            found, offset = await self._send(partial(asked, offset=offset))
            rows += map(restwise.row, found)
            more = offset is not None and limit == ALL and order is None
        return rows

    async def search(self, *searches: Search) -> list[list[Row]]:
        queries = list(map(restwise.query, searches))
        found = await self._send(lambda client: client.query_batch_points(self._collection, queries))
        return [list(map(restwise.scored, one.points)) for one in found]

    async def count(self, where: Filter) -> int:
        chosen = restwise.filter_of(where)
        return (await self._send(lambda client: client.count(self._collection, chosen))).count

    async def facet(self, key: str, where: Filter) -> dict[str, int]:
        chosen = restwise.filter_of(where)
        found = await self._send(
            lambda client: client.facet(self._collection, key, facet_filter=chosen, limit=VALUES, exact=True)
        )
        return {str(hit.value): hit.count for hit in found.hits}

    async def size(self) -> int | None:
        return None

    async def ping(self) -> None:
        await self._send(lambda client: client.collection_exists(self._collection))

    async def aclose(self) -> None:
        await self._clients.aclose()

    def _client(self) -> AsyncQdrantClient:
        # Certificates take longer to load than many a request; without TLS there is nothing to verify.
        inner = httpx.AsyncHTTPTransport(verify=not self._url.lower().startswith("http://"), trust_env=False)
        return AsyncQdrantClient(
            url=self._url,
            headers=dict(self._headers),
            check_compatibility=False,
            transport=BoundedTransport(inner, most=self._largest, seconds=self._timeout),
            trust_env=False,
        )

    async def _send(self, request: Callable[[AsyncQdrantClient], Awaitable[T]]) -> T:
        try:
            return await request(await self._clients.get())
        except Exception as error:  # noqa: BLE001 - the client parses what came, and fails as it may
            failure = _failure(error)
        # Raised out here: the client's errors hold bodies and headers.
        raise failure


def _failure(error: Exception) -> QdrantFailure:
    if isinstance(error, UnexpectedResponse):
        status = error.status_code or 0
        return QdrantFailure("Status", _effect_of(status), status=status)
    if isinstance(error, ResponseHandlingException):
        kind = "UnexpectedAnswer" if isinstance(error.source, ValueError) else type(error.source).__name__
        effect: Effect = "none" if kind in NEVER_SENT else "unknown"
        return QdrantFailure(kind, effect)
    if isinstance(error, QdrantException):
        asked = float(error.retry_after_s) if isinstance(error, ResourceExhaustedResponse) else None
        return QdrantFailure("Status", "none", status=429, retry_after=asked)
    if isinstance(error, UnicodeEncodeError):
        return QdrantFailure(
            "LocalProtocolError", "none"
        )  # of a header, which httpx finds unfit later otherwise
    return QdrantFailure("UnexpectedAnswer", "unknown")


def _effect_of(status: int) -> Effect:
    return "none" if status < 500 and status != 408 else "unknown"  # noqa: PLR2004 - HTTP's own numbers
