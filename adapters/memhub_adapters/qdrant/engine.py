"""What the adapter asks of Qdrant, in this process or on a server: one small interface over both.

Filters are written as Qdrant's REST API writes them, so that its documentation is theirs too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Protocol

__all__ = [
    "ALL",
    "VALUES",
    "Drop",
    "Engine",
    "Filter",
    "Order",
    "Point",
    "Put",
    "Row",
    "Search",
    "Shape",
    "Sparse",
    "Vector",
    "Vectors",
]

Filter = Mapping[str, Any]
Index = Literal["tenant", "keyword", "integer", "float", "datetime"]

ALL: Final = 1_000
"""Limit of a scroll that wants everything: it goes on, page by page of so many, to the end."""

VALUES: Final = 100_000_000
"""More different values of a keyword than any collection has."""


@dataclass(frozen=True, slots=True)
class Sparse:
    """A sparse vector: dimensions, each once, and their values."""

    indices: list[int]
    values: list[float]


Vector = Sparse | list[float]


@dataclass(frozen=True, slots=True)
class Point:
    """A point to store, whole: what it held before is gone."""

    id: str
    payload: Mapping[str, Any]
    vectors: Mapping[str, Vector] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Row:
    """A stored point: its payload, the vectors asked for, its score where it was searched for."""

    id: str
    payload: Mapping[str, Any]
    vectors: Mapping[str, list[float]] = field(default_factory=dict)
    score: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Put:
    """Store points that are new, or replace points that are held where `where` matches them.

    Each point by itself: what is not stored is passed over in silence.
    """

    points: Sequence[Point]
    new: bool = True
    where: Filter | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Vectors:
    """Set these vectors of held points that `where` matches; payload and other vectors stay."""

    points: Sequence[Point]
    where: Filter


@dataclass(frozen=True, slots=True)
class Drop:
    """Delete what `where` matches."""

    where: Filter


@dataclass(frozen=True, slots=True)
class Order:
    """By an indexed number or time."""

    key: str
    descending: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """The nearest points that `where` matches. Words weigh by how rare they are in `corpus`."""

    using: str
    vector: Vector
    where: Filter
    limit: int
    corpus: Filter | None = None
    payload: bool = True


@dataclass(frozen=True, slots=True)
class Shape:
    """The vectors of a collection: dense ones with their sizes, sparse ones that weigh by rarity."""

    dense: Mapping[str, int]
    sparse: frozenset[str]


Op = Put | Vectors | Drop


class Engine(Protocol):
    """One collection. A write has been applied, and is seen by every later read, when it returns."""

    async def version(self) -> str | None:
        """The server's version; None where there is no server."""

    async def shape(self) -> Shape | None:
        """The shape of the collection; None where there is none."""

    async def create(self, shape: Shape, indexes: Mapping[str, Index]) -> None:
        """Make the collection and its indexes, as far as they are not there yet."""

    async def add_vector(self, name: str, size: int | None) -> None:
        """Give the collection another vector: a dense one of that size, or a sparse one."""

    async def drop_vector(self, name: str) -> None:
        """Take a vector away from all points."""

    async def write(self, *ops: Op) -> None:
        """Apply these in order, in one request."""

    async def read(
        self, ids: Sequence[str], *, vectors: Sequence[str] = (), fields: Sequence[str] | None = None
    ) -> list[Row]:
        """The held points among these, in any order, with their whole payload or these fields of it."""

    async def scroll(
        self, where: Filter, limit: int, *, order: Order | None = None, vectors: Sequence[str] = ()
    ) -> list[Row]:
        """Some of the points that match, the first ones where an order is given; ALL without one: each."""

    async def search(self, *searches: Search) -> list[list[Row]]:
        """For each search its points, best first."""

    async def count(self, where: Filter) -> int:
        """How many points match, exactly."""

    async def facet(self, key: str, where: Filter) -> dict[str, int]:
        """How many matching points hold each value of a keyword."""

    async def size(self) -> int | None:
        """Bytes on this machine; None where they are elsewhere."""

    async def ping(self) -> None:
        """Return when Qdrant answers."""

    async def aclose(self) -> None:
        """Release what was opened."""
