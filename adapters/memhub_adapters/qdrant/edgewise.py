"""Our requests in the words of qdrant_edge, and its answers in ours."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import qdrant_edge as edge

from memhub_adapters.qdrant.engine import (
    Drop,
    Filter,
    Index,
    Order,
    Point,
    Put,
    Row,
    Search,
    Shape,
    Sparse,
    Vector,
    Vectors,
)

__all__ = [
    "batch",
    "count",
    "created",
    "drop",
    "facet",
    "index",
    "new_vector",
    "new_vectors",
    "put",
    "row",
    "scored",
    "scroll",
    "shape",
]

_SCHEMAS: Final[Mapping[Index, Any]] = {
    "tenant": edge.KeywordIndexParams(is_tenant=True),
    "keyword": edge.PayloadSchemaType.Keyword,
    "integer": edge.PayloadSchemaType.Integer,
    "float": edge.PayloadSchemaType.Float,
    "datetime": edge.PayloadSchemaType.Datetime,
}


def created(folder: Path, shape: Shape) -> edge.EdgeShard:
    """A new collection in an empty folder."""
    config = edge.EdgeConfig(
        vectors={
            name: edge.EdgeVectorParams(size=size, distance=edge.Distance.Cosine)
            for name, size in shape.dense.items()
        },
        sparse_vectors={
            name: edge.EdgeSparseVectorParams(modifier=edge.Modifier.Idf) for name in shape.sparse
        },
        payload_memory=edge.Memory.Cached,
    )
    return edge.EdgeShard.create(str(folder), config)


def shape(folder: Path) -> Shape:
    """The vectors that a collection has, from the file in which the engine keeps that."""
    config = json.loads((folder / "edge_config.json").read_text("utf-8"))
    dense = {name: int(params["size"]) for name, params in config.get("vectors", {}).items()}
    return Shape(dense, frozenset(config.get("sparse_vectors", ())))


def index(field: str, kind: Index) -> edge.UpdateOperation:
    return edge.UpdateOperation.create_field_index(field, _SCHEMAS[kind])


def new_vector(name: str, size: int | None) -> edge.UpdateOperation:
    if size is None:
        return edge.UpdateOperation.create_sparse_vector(name, edge.Modifier.Idf)
    return edge.UpdateOperation.create_dense_vector(name, size, edge.Distance.Cosine)


def put(op: Put) -> edge.UpdateOperation:
    mode = edge.UpdateMode.InsertOnly if op.new else edge.UpdateMode.UpdateOnly
    condition = None if op.where is None else _filter(op.where)
    return edge.UpdateOperation.upsert_points(list(map(_point, op.points)), condition, mode)


def new_vectors(op: Vectors) -> edge.UpdateOperation:
    points = [edge.PointVectors(point.id, _vectors(point.vectors)) for point in op.points]
    return edge.UpdateOperation.update_vectors(points, _filter(op.where))


def drop(op: Drop) -> edge.UpdateOperation:
    return edge.UpdateOperation.delete_points_by_filter(_filter(op.where))


def scroll(
    where: Filter,
    limit: int,
    order: Order | None,
    vectors: Sequence[str],
    offset: Any,  # noqa: ANN401 - an id as the engine gives it
) -> edge.ScrollRequest:
    return edge.ScrollRequest(
        offset=offset,
        limit=limit,
        filter=_filter(where),
        with_payload=True,
        with_vector=list(vectors) or False,
        order_by=None
        if order is None
        else edge.OrderBy(order.key, edge.Direction.Desc if order.descending else edge.Direction.Asc),
    )


def batch(searches: Sequence[Search]) -> edge.QueryBatchRequest:
    return edge.QueryBatchRequest(list(map(_query, searches)))


def count(where: Filter) -> edge.CountRequest:
    return edge.CountRequest(exact=True, filter=_filter(where))


def facet(key: str, where: Filter, limit: int) -> edge.FacetRequest:
    return edge.FacetRequest(key, limit=limit, exact=True, filter=_filter(where))


def row(found: edge.Record) -> Row:
    return Row(str(found.id), found.payload or {}, _dense(found.vector))


def scored(found: edge.ScoredPoint) -> Row:
    return Row(str(found.id), found.payload or {}, score=found.score)


def _query(search: Search) -> edge.QueryRequest:
    idf = None if search.corpus is None else edge.IdfParams(_filter(search.corpus))
    return edge.QueryRequest(
        limit=search.limit,
        query=edge.Query.Nearest(_vector(search.vector), using=search.using),
        filter=_filter(search.where),
        params=edge.SearchParams(idf=idf),
        with_payload=search.payload,
    )


def _point(point: Point) -> edge.Point:
    return edge.Point(point.id, _vectors(point.vectors), dict(point.payload))


def _vectors(vectors: Mapping[str, Vector]) -> Any:  # noqa: ANN401 - the stubs' union is invariant
    return {name: _vector(vector) for name, vector in vectors.items()}


def _vector(vector: Vector) -> Any:  # noqa: ANN401 - the stubs' union is invariant
    return edge.SparseVector(vector.indices, vector.values) if isinstance(vector, Sparse) else vector


def _dense(vectors: object) -> dict[str, list[float]]:
    if not isinstance(vectors, dict):
        return {}
    return {name: vector for name, vector in vectors.items() if isinstance(vector, list)}


def _filter(where: Filter) -> edge.Filter:
    found: dict[str, Any] = {name: list(map(_condition, given)) for name, given in where.items()}
    return edge.Filter(**found)


def _condition(condition: Mapping[str, Any]) -> Any:  # noqa: ANN401 - the stubs' union is invariant
    if "key" in condition:
        return _field(condition)
    for name, made in _CONDITIONS.items():
        if name in condition:
            return made(condition[name])
    return _filter(condition)


def _field(condition: Mapping[str, Any]) -> edge.FieldCondition:
    key = condition["key"]
    if match := condition.get("match"):
        found = edge.MatchAny(match["any"]) if "any" in match else edge.MatchValue(match["value"])
        return edge.FieldCondition(key, match=found)
    bounds = condition["range"]
    times = any(isinstance(bound, str) for bound in bounds.values())
    return edge.FieldCondition(key, range=(edge.RangeDateTime if times else edge.RangeFloat)(**bounds))


_CONDITIONS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "is_empty": lambda given: edge.IsEmptyCondition(given["key"]),
    "nested": lambda given: edge.NestedCondition(given["key"], _filter(given["filter"])),
    "has_id": lambda given: edge.HasIdCondition(set(given)),
    "has_vector": edge.HasVectorCondition,
}
