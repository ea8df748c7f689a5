"""A stand-in for a Qdrant server: its REST paths over the local engine of Qdrant's own client.

It refuses what a server refuses and the local engine lets pass: a wrong key, an unknown field, an
order or a facet by a field without an index; and a filter by one, as a server in strict mode does,
which is how Qdrant's cloud makes collections. Needs the extra `qdrant`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from pydantic import BaseModel, ValidationError
from qdrant_client import QdrantClient, models

from memhub_adapters.standins.messages import Request, Response
from memhub_adapters.standins.server import Server

__all__ = ["Qdrant", "qdrant_server"]

VERSION: Final = "1.20.0"
_PATH: Final = re.compile(r"/collections/([^/]+)(?:/(.*))?")
_ORDERED: Final = frozenset({"integer", "float", "datetime"})
_FILTERS: Final = frozenset({"filter", "update_filter", "corpus"})
_CLAUSES: Final = ("must", "should", "must_not")

Route = Callable[["Qdrant", str, Request], object]


class Refused(Exception):
    """A request that a server answers with an error."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Qdrant:
    """From request to response. `key`, where given, is asked for in the header `api-key`."""

    def __init__(self, key: str | None = None, version: str = VERSION) -> None:
        self.client = QdrantClient(":memory:")
        self.key = key
        self.version = version
        self.indexes: dict[str, dict[str, str]] = {}

    def __call__(self, request: Request) -> Response:
        """Answer as a server does: a result with its status, or an error."""
        try:
            return self._answered(request)
        except Refused as refused:
            status, message = refused.status, str(refused)
        except (ValidationError, ValueError, KeyError) as error:
            text = str(error)
            status = 404 if re.search(r"Collection \S+ not found", text) else 400
            message = f"Wrong input: {text}"
        return Response(status, {"status": {"error": message}, "time": 0.0})

    def _answered(self, request: Request) -> Response:
        if self.key is not None and request.headers.get("api-key") != self.key:
            raise Refused(401, "Must provide an API key or an Authorization bearer token")
        if request.path == "/":
            return Response(200, {"title": "qdrant - vector search engine", "version": self.version})
        found = _PATH.fullmatch(request.path)
        rest = (found[2] or "") if found else ""
        route = _ROUTES.get((request.method, "vectors" if rest.startswith("vectors/") else rest))
        if route is None or found is None:
            raise Refused(404, "no such path")
        for field in _filtered(request.json):
            self.indexed(found[1], field)
        result = route(self, found[1], request)
        return Response(200, {"result": _plain(result), "status": "ok", "time": 0.0})

    def indexed(self, collection: str, field: str, kinds: frozenset[str] | None = None) -> None:
        """Refuse to order, count or filter by a field that has no index of such a kind."""
        kind = self.indexes.get(collection, {}).get(field)
        if kind is None or (kinds is not None and kind not in kinds):
            raise Refused(400, f"no index of the needed kind for {field}")


def qdrant_server(key: str | None = None) -> Server:
    """A server over an empty stand-in; use it as a context manager."""
    return Server(Qdrant(key))


def _filtered(asked: Any) -> Iterator[str]:  # noqa: ANN401 - any JSON value
    """The fields that the filters of a request look at."""
    if isinstance(asked, list):
        for one in asked:
            yield from _filtered(one)
    elif isinstance(asked, dict):
        for name, value in asked.items():
            if name in _FILTERS:
                yield from _fields(value)
            elif name != "payload":
                yield from _filtered(value)


def _fields(condition: Any, inside: str = "") -> Iterator[str]:  # noqa: ANN401 - any JSON value
    """The fields that a filter, or one condition of it, looks at."""
    for clause in _CLAUSES:
        given = condition.get(clause) or ()
        for one in given if isinstance(given, list | tuple) else (given,):
            yield from _fields(one, inside)
    if "nested" in condition:
        nested = condition["nested"]
        yield from _fields(nested["filter"], f"{inside}{nested['key']}[].")
    for part in (condition, condition.get("is_empty") or {}):
        if "key" in part:
            yield f"{inside}{part['key']}"


def _plain(result: object) -> object:
    if isinstance(result, BaseModel):
        return result.model_dump(mode="json", exclude_none=True)
    if isinstance(result, list):
        return [_plain(one) for one in result]
    return result


def _create(self: Qdrant, collection: str, request: Request) -> object:
    if self.client.collection_exists(collection):
        raise Refused(409, f"Collection `{collection}` already exists!")
    asked = models.CreateCollection.model_validate(request.json)
    return self.client.create_collection(
        collection, vectors_config=asked.vectors or {}, sparse_vectors_config=asked.sparse_vectors
    )


def _index(self: Qdrant, collection: str, request: Request) -> object:
    asked = models.CreateFieldIndex.model_validate(request.json)
    schema = asked.field_schema
    kind = schema if isinstance(schema, str) else getattr(schema, "type", None)
    self.client.get_collection(collection)
    self.indexes.setdefault(collection, {})[asked.field_name] = str(kind)
    return models.UpdateResult(operation_id=0, status=models.UpdateStatus.COMPLETED)


def _vector(self: Qdrant, collection: str, request: Request) -> object:
    name = request.path.rpartition("/")[2]
    if request.method == "DELETE":
        return self.client.delete_vector_name(collection, name)
    config: models.VectorNameConfig = (
        models.DenseVectorNameConfig.model_validate(request.json)
        if "dense" in request.json
        else models.SparseVectorNameConfig.model_validate(request.json)
    )
    return self.client.create_vector_name(collection, name, config)


def _retrieve(self: Qdrant, collection: str, request: Request) -> object:
    asked = models.PointRequest.model_validate(request.json)
    return self.client.retrieve(
        collection,
        asked.ids,
        with_payload=True if asked.with_payload is None else asked.with_payload,
        with_vectors=asked.with_vector or False,
    )


def _scroll(self: Qdrant, collection: str, request: Request) -> object:
    asked = models.ScrollRequest.model_validate(request.json)
    order = asked.order_by
    if order is not None:
        self.indexed(collection, order if isinstance(order, str) else order.key, _ORDERED)
    points, offset = self.client.scroll(
        collection,
        scroll_filter=asked.filter,
        limit=asked.limit or 10,
        order_by=models.OrderBy(key=order) if isinstance(order, str) else order,
        offset=asked.offset,
        with_payload=True if asked.with_payload is None else asked.with_payload,
        with_vectors=asked.with_vector or False,
    )
    return models.ScrollResult(points=points, next_page_offset=offset)


def _query(self: Qdrant, collection: str, request: Request) -> object:
    asked = models.QueryRequest.model_validate(request.json)
    return self.client.query_batch_points(collection, [asked])[0]


def _query_batch(self: Qdrant, collection: str, request: Request) -> object:
    asked = models.QueryRequestBatch.model_validate(request.json)
    return self.client.query_batch_points(collection, asked.searches)


def _count(self: Qdrant, collection: str, request: Request) -> object:
    asked = models.CountRequest.model_validate(request.json)
    return self.client.count(collection, asked.filter)


def _facet(self: Qdrant, collection: str, request: Request) -> object:
    asked = models.FacetRequest.model_validate(request.json)
    self.indexed(collection, asked.key)
    return self.client.facet(collection, asked.key, asked.filter, asked.limit or 10, exact=bool(asked.exact))


def _batch(self: Qdrant, collection: str, request: Request) -> object:
    asked = models.UpdateOperations.model_validate(request.json)
    return self.client.batch_update_points(collection, asked.operations)


def _upsert(self: Qdrant, collection: str, request: Request) -> object:
    asked = models.PointsList.model_validate(request.json)
    return self.client.upsert(
        collection, asked.points, update_filter=asked.update_filter, update_mode=asked.update_mode
    )


def _delete(self: Qdrant, collection: str, request: Request) -> object:
    chosen: models.PointsSelector = (
        models.FilterSelector.model_validate(request.json)
        if "filter" in request.json
        else models.PointIdsList.model_validate(request.json)
    )
    return self.client.delete(collection, chosen)


_ROUTES: Final[Mapping[tuple[str, str], Route]] = {
    ("GET", ""): lambda self, collection, _: self.client.get_collection(collection),
    ("GET", "exists"): lambda self, collection, _: {"exists": self.client.collection_exists(collection)},
    ("PUT", ""): _create,
    ("DELETE", ""): lambda self, collection, _: self.client.delete_collection(collection),
    ("PUT", "index"): _index,
    ("PUT", "vectors"): _vector,
    ("DELETE", "vectors"): _vector,
    ("POST", "points"): _retrieve,
    ("PUT", "points"): _upsert,
    ("POST", "points/delete"): _delete,
    ("POST", "points/batch"): _batch,
    ("POST", "points/scroll"): _scroll,
    ("POST", "points/query"): _query,
    ("POST", "points/query/batch"): _query_batch,
    ("POST", "points/count"): _count,
    ("POST", "facet"): _facet,
}
