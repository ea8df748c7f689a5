"""Vectors beside the records: what an embedder made of each content, searched by pgvector.

There are two ways. The exact one looks at every vector that is reached, by the index of scopes. The
approximate one, by the HNSW index, meets vectors of all scopes in the order of their nearness, and so
looks at `limit * all / reached` of them before it has enough. Whichever looks at fewer is taken; where
the approximate one gives up too early, the exact one follows, so that no scope ever comes back short.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from memhub.adapter import Read
from memhub.embedding import Embedder
from memhub.errors import InvalidConfig
from memhub_adapters.postgres.conditions import conditions
from memhub_adapters.postgres.rows import CANDIDATE
from memhub_adapters.postgres.session import Row, Session, Statement
from memhub_adapters.postgres.tenants import protected

__all__ = ["Meaning", "Meant", "Nearby", "found", "identity_of", "literal", "made", "near"]

OLDEST: Final = (0, 8)
"""The oldest pgvector: earlier ones do not scan on when a filter leaves too few."""

_PLAIN: Final = 2_000
_HALVED: Final = 4_000
"""Most dimensions that pgvector indexes, as 32-bit and as 16-bit floats."""


_LEAST: Final = 20_000
"""Vectors that the approximate index looks at in any case before it gives up."""

_ROW: Final = 64
"""Bytes of a stored vector beside its numbers."""

_EXTENSION: Final = """
SELECT e.extversion, n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
WHERE e.extname = 'vector'
"""
_SCAN_ON: Final[list[Statement]] = [
    ("SET LOCAL hnsw.iterative_scan = 'strict_order'", ()),
    ("SET LOCAL hnsw.ef_search = 200", ()),
    ("SET LOCAL enable_sort = off", ()),
]
"""The HNSW index scans on for what filters take away; without sorting it is the only way to an order."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """An embedder, and where its vectors are: the namespace of pgvector's types."""

    embedder: Embedder
    namespace: str

    @property
    def identity(self) -> str:
        """What the schema remembers of who made its vectors."""
        return identity_of(self.embedder)

    @property
    def type(self) -> str:
        """The type of a vector: 16-bit floats where 32-bit ones have no index."""
        name = "vector" if self.embedder.dimensions <= _PLAIN else "halfvec"
        return f'"{self.namespace}".{name}'

    @property
    def bytes(self) -> int:
        """About what a stored vector takes."""
        return self.embedder.dimensions * (4 if self.type.endswith(".vector") else 2) + _ROW

    def table(self, name: str) -> Statement:
        """Makes a table of vectors without its index."""
        size = self.embedder.dimensions
        columns = (
            f"key bigint PRIMARY KEY, scope integer NOT NULL, embedding {self.type}({size}), revision text"
        )
        return f"CREATE TABLE {name}({columns})", ()

    def indexes(self, name: str) -> list[Statement]:
        """Makes the indexes of a table of vectors."""
        kind = "vector" if self.type.endswith(".vector") else "halfvec"
        operators = f'"{self.namespace}".{kind}_cosine_ops'
        return [
            (f"CREATE INDEX {name}_scope ON {name}(scope)", ()),
            (f"CREATE INDEX {name}_near ON {name} USING hnsw(embedding {operators})", ()),
        ]

    def stored(self, vectors: Mapping[int, Sequence[float]], table: str = "meaning") -> Statement:
        """Stores vectors by the keys of their records."""
        sql = (
            f"INSERT INTO {table}(key, scope, embedding) "
            f"SELECT key, key >> 32, embedding::{self.type} FROM unnest(%s::bigint[], %s::text[]) "
            "AS given(key, embedding) ON CONFLICT (key) DO UPDATE SET embedding = excluded.embedding"
        )
        return sql, (list(vectors), list(map(literal, vectors.values())))


@dataclass(frozen=True, slots=True)
class Meant:
    """What a write stores beside its records: vectors by the content that they were made of."""

    meaning: Meaning
    vectors: Mapping[str, Sequence[float]]


@dataclass(frozen=True, slots=True)
class Nearby:
    """A question's vector, None where it has no direction. `alone`: words do not count."""

    meaning: Meaning
    vector: str | None
    alone: bool


def identity_of(embedder: Embedder) -> str:
    """The name of an embedder with its size: vectors of two such names never compare."""
    return f"{embedder.identity} ({embedder.dimensions} dimensions)"


def literal(vector: Sequence[float]) -> str | None:
    """A vector as pgvector reads it, with the digits of a 32-bit float; None for one without a direction."""
    if not any(vector):
        return None
    return f"[{','.join([format(value, '.8g') for value in vector])}]"


async def found(session: Session, embedder: Embedder) -> Meaning | str:
    """Where the embedder's vectors can be; the reason where the database has no place for them."""
    [rows] = await session.ask((_EXTENSION, ()))
    if not rows:
        return "the database has no pgvector; let an administrator run CREATE EXTENSION vector"
    [(version, namespace)] = rows
    if tuple(map(int, version.split(".")[:2])) < OLDEST:
        return f"the database has pgvector {version}; use {OLDEST[0]}.{OLDEST[1]} or newer"
    if embedder.dimensions > _HALVED:
        raise InvalidConfig(
            f"embedder: gives vectors of {embedder.dimensions} dimensions, and pgvector indexes "
            f"{_HALVED:,} at most; use a smaller model"
        )
    return Meaning(embedder, namespace)


async def made(session: Session, meaning: Meaning) -> None:
    """Make the place of the vectors in a schema that holds no records yet."""
    note = ("INSERT INTO meta VALUES('embedder', %s)", (meaning.identity,))
    guarded = protected("meaning") if session.terms.tenants is not None else []
    await session.ask(meaning.table("meaning"), *meaning.indexes("meaning"), *guarded, note, commit=True)


async def near(
    session: Session, read: Read, nearby: Nearby, reach: Statement, *, limit: int, held: int, size: int
) -> list[Row]:
    """The nearest records that the query admits: CANDIDATE and the cosine, as many as there are up to `limit`.

    `held` is how many records are reached; all vectors take `size` bytes.
    """
    if nearby.vector is None:
        return []
    looked_at = limit * (size // nearby.meaning.bytes) // max(held, 1)
    if looked_at < held:
        most = ("SELECT set_config('hnsw.max_scan_tuples', %s::text, true)", (str(2 * looked_at + _LEAST),))
        *_, rows = await session.ask(*_SCAN_ON, most, _nearest(read, nearby, reach, limit, exact=False))
        if len(rows) == limit:
            return rows
    [rows] = await session.ask(_nearest(read, nearby, reach, limit, exact=True))
    return rows


def _nearest(read: Read, nearby: Nearby, reach: Statement, limit: int, *, exact: bool) -> Statement:
    where, values = conditions(read)
    meaning = nearby.meaning
    distance = f'm.embedding OPERATOR("{meaning.namespace}".<=>) %s::{meaning.type}'
    if exact:
        record = f"record r ON r.key = m.key AND r.scope = ANY(reached.ids) AND {where}"
        scope, order = "m.scope", f"({distance}) + 0"
    else:
        # A record for each vector, as they come; its own statement, so that no plan reads them all.
        record = f"LATERAL (SELECT * FROM record r WHERE r.key = m.key AND {where} LIMIT 1) r ON true"
        scope, order = "m.scope + 0", distance
    # What is added keeps the other index out: the planner cannot know which of the two will do.
    sql = (
        f"SELECT {CANDIDATE}, 1 - ({distance}) "
        f"FROM (SELECT ARRAY(SELECT s.id FROM scope s WHERE {reach[0]})) AS reached(ids) "
        f"CROSS JOIN meaning m JOIN {record} "
        f"WHERE {scope} = ANY(reached.ids) AND m.embedding IS NOT NULL ORDER BY {order} LIMIT {limit}"
    )
    return sql, (nearby.vector, *reach[1], *values, nearby.vector)
