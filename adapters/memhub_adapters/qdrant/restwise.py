"""Our requests in the models of qdrant_client, and its answers in ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from qdrant_client import models

from memhub_adapters.qdrant.engine import (
    Filter,
    Index,
    Op,
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
    "SCHEMAS",
    "filter_of",
    "new_vector",
    "operation",
    "order_of",
    "query",
    "row",
    "scored",
    "shape_of",
    "vectors_of",
]

SCHEMAS: Final[Mapping[Index, Any]] = {
    "tenant": models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD, is_tenant=True),
    "keyword": models.PayloadSchemaType.KEYWORD,
    "integer": models.PayloadSchemaType.INTEGER,
    "float": models.PayloadSchemaType.FLOAT,
    "datetime": models.PayloadSchemaType.DATETIME,
}
_RARITY: Final = models.SparseVectorParams(modifier=models.Modifier.IDF)


def filter_of(where: Filter) -> models.Filter:
    return models.Filter.model_validate(where)


def order_of(order: Order) -> models.OrderBy:
    direction = models.Direction.DESC if order.descending else models.Direction.ASC
    return models.OrderBy(key=order.key, direction=direction)


def vectors_of(shape: Shape) -> dict[str, Any]:
    """What `create_collection` takes for a shape."""
    return {
        "vectors_config": {
            name: models.VectorParams(size=size, distance=models.Distance.COSINE)
            for name, size in shape.dense.items()
        },
        "sparse_vectors_config": dict.fromkeys(shape.sparse, _RARITY),
    }


def shape_of(params: models.CollectionParams) -> Shape:
    """The named vectors of a collection; sparse ones only where they weigh words by rarity."""
    dense = params.vectors if isinstance(params.vectors, dict) else {}
    sparse = params.sparse_vectors or {}
    weighing = (name for name, given in sparse.items() if given.modifier == models.Modifier.IDF)
    return Shape({name: given.size for name, given in dense.items()}, frozenset(weighing))


def new_vector(size: int | None) -> models.VectorNameConfig:
    if size is None:
        return models.SparseVectorNameConfig(sparse=models.SparseVectorConfig(modifier=models.Modifier.IDF))
    dense = models.DenseVectorConfig(size=size, distance=models.Distance.COSINE)
    return models.DenseVectorNameConfig(dense=dense)


def operation(op: Op) -> models.UpdateOperation:
    if isinstance(op, Put):
        mode = models.UpdateMode.INSERT_ONLY if op.new else models.UpdateMode.UPDATE_ONLY
        where = None if op.where is None else filter_of(op.where)
        points = [_point(point) for point in op.points]
        return models.UpsertOperation(
            upsert=models.PointsList(points=points, update_filter=where, update_mode=mode)
        )
    if isinstance(op, Vectors):
        held = [models.PointVectors(id=point.id, vector=_vectors(point.vectors)) for point in op.points]
        return models.UpdateVectorsOperation(
            update_vectors=models.UpdateVectors(points=held, update_filter=filter_of(op.where))
        )
    return models.DeleteOperation(delete=models.FilterSelector(filter=filter_of(op.where)))


def query(search: Search) -> models.QueryRequest:
    corpus = search.corpus
    idf = None if corpus is None else models.IdfCorpusParams(corpus=filter_of(corpus))
    return models.QueryRequest(
        query=_vector(search.vector),
        using=search.using,
        filter=filter_of(search.where),
        params=None if idf is None else models.SearchParams(idf=idf),
        limit=search.limit,
        with_payload=search.payload,
    )


def row(found: models.Record) -> Row:
    vectors = found.vector if isinstance(found.vector, dict) else {}
    dense: dict[str, Any] = {name: vector for name, vector in vectors.items() if isinstance(vector, list)}
    return Row(str(found.id), found.payload or {}, dense)


def scored(found: models.ScoredPoint) -> Row:
    return Row(str(found.id), found.payload or {}, score=found.score)


def _point(point: Point) -> models.PointStruct:
    return models.PointStruct(id=point.id, vector=_vectors(point.vectors), payload=dict(point.payload))


def _vectors(vectors: Mapping[str, Vector]) -> Any:  # noqa: ANN401 - the models' union is invariant
    return {name: _vector(vector) for name, vector in vectors.items()}


def _vector(vector: Vector) -> Any:  # noqa: ANN401 - the models' union is invariant
    if isinstance(vector, Sparse):
        return models.SparseVector(indices=vector.indices, values=vector.values)
    return vector
