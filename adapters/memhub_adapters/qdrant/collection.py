"""The collection: made on demand, with a note of what made its vectors, and refused when it is another's."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final
from uuid import uuid5

from memhub.embedding import Embedder
from memhub.errors import InvalidConfig
from memhub.records import Record
from memhub.search import document, lent_terms
from memhub.search.analyzer import fingerprint
from memhub_adapters.qdrant.engine import Engine, Index, Op, Point, Put, Shape, Sparse, Vector
from memhub_adapters.qdrant.failure import QdrantFailure
from memhub_adapters.qdrant.points import SPACE, Stored, payload_of, word_vector
from memhub_adapters.qdrant.sequence import Sequencer

__all__ = ["INDEXES", "Collection", "Makers", "tracked"]

INDEXES: Final[Mapping[str, Index]] = {
    "labels": "tenant",
    "scope": "keyword",
    "kind": "keyword",
    "tags": "keyword",
    "facets": "keyword",
    "numbers[].k": "keyword",
    "numbers[].v": "float",
    "observed_at": "datetime",
    "invalid_at": "datetime",
    "expires_at": "datetime",
    "created_at": "datetime",
    "position": "integer",
    "seq": "integer",
    "conversation": "keyword",
    "previous": "keyword",
    "session": "keyword",
    "token": "keyword",
}
"""Every field that a filter or an order looks at: in strict mode, as in Qdrant's cloud, no other is allowed."""

NOTE: Final = str(uuid5(SPACE, "note"))
"""The point that says what made the vectors."""

_LAYOUT: Final = 1


@dataclass(frozen=True, slots=True)
class Makers:
    """What vectors are made by: the analyzer of words, and the embedder where there is one."""

    analyzer: str
    embedder: str | None = None
    dimensions: int | None = None

    @classmethod
    def of(cls, embedder: Embedder | None) -> Makers:
        """Those at work now."""
        if embedder is None:
            return cls(fingerprint())
        return cls(fingerprint(), embedder.identity, embedder.dimensions)

    @property
    def words(self) -> str:
        """The name of the sparse vector."""
        return f"words-{self.analyzer}"

    @property
    def meaning(self) -> str | None:
        """The name of the dense vector: another embedder, another name, so that both can be there at once."""
        if self.embedder is None:
            return None
        mark = blake2b(f"{self.embedder}/{self.dimensions}".encode(), digest_size=4).hexdigest()
        return f"meaning-{mark}"

    def shape(self) -> Shape:
        """The vectors that a collection needs for them."""
        dense = {self.meaning: self.dimensions} if self.meaning and self.dimensions else {}
        return Shape(dense, frozenset((self.words,)))

    def told(self) -> str:
        """For messages: the embedder and its size."""
        return f"{self.embedder} ({self.dimensions} dimensions)" if self.embedder else "no embedder"

    def payload(self) -> dict[str, object]:
        """As noted in the collection."""
        return {
            "type": "note",
            "layout": _LAYOUT,
            "analyzer": self.analyzer,
            "embedder": self.embedder,
            "dimensions": self.dimensions,
        }


class Collection:
    """One collection behind an engine: what every verb needs of it.

    `rebuild` makes its vectors anew, which is done unasked where only the analyzer has changed.
    """

    def __init__(
        self,
        engine: Engine,
        embedder: Embedder | None,
        name: str,
        rebuild: Callable[[Collection], Awaitable[object]],
    ) -> None:
        self._rebuild = rebuild
        self.engine = engine
        self.embedder = embedder
        self.name = name
        self.makers = Makers.of(embedder)
        self.sequence = Sequencer()
        self._ready = False

    async def ready(self) -> None:
        """Make the collection where there is none. Raises InvalidConfig for one that is not this store's."""
        if self._ready:
            return
        noted = await self.noted()
        if (noted.embedder, noted.dimensions) != (self.makers.embedder, self.makers.dimensions):
            raise InvalidConfig(
                f"embedder: collection {self.name!r} holds vectors of {noted.told()}, and the configuration "
                f"has {self.makers.told()}; configure the former, or run `memhub reembed STORE`"
            )
        if noted != self.makers:
            await self._rebuild(self)
        self._ready = True

    async def noted(self) -> Makers:
        """What made the vectors that are there; the collection is made, by today's makers, if there is none."""
        shape = await self.engine.shape()
        note = None if shape is None else await self._note()
        if note is None:
            if shape is None or (shape == self.makers.shape() and not await self.engine.count({})):
                # Also where another process is making it at this moment, or was cut off.
                await self.engine.create(self.makers.shape(), INDEXES)
                await self.engine.write(Put(points=[Point(NOTE, self.makers.payload())]))
            note = await self._note()
        if note is None:
            raise InvalidConfig(
                f"collection {self.name!r}: is there already and not Memhub's; choose another name"
            )
        return note

    async def keep_note(self, makers: Makers) -> None:
        """Note that these have made the vectors."""
        await self.engine.write(Put(points=[Point(NOTE, makers.payload())], new=False))

    async def write(self, *ops: Op) -> None:
        """Apply these, and remember for `tracked` that something may have been changed."""
        touched = _TOUCHED.get([])
        try:
            await self.engine.write(*ops)
        except QdrantFailure as failure:
            if failure.effect != "none":
                touched.append(1)
            raise
        touched.append(1)

    async def embed(self, texts: Sequence[str]) -> list[list[float] | None]:
        """The vectors of texts; None for each where there is no embedder."""
        if self.embedder is None or not texts:
            return [None] * len(texts)
        # Seven digits are what a 32-bit float holds, and half of what JSON would send.
        return [[round(value, 7) for value in vector] for vector in await self.embedder.embed(texts)]

    def point(self, stored: Stored, previous: Record | None, meaning: list[float] | None) -> Point:
        """The point of a record that follows `previous` in its session."""
        words: Sparse = word_vector(document(stored.record, lent_terms(previous)))
        vectors: dict[str, Vector] = {self.makers.words: words}
        if meaning is not None and self.makers.meaning is not None:
            vectors[self.makers.meaning] = meaning
        return Point(stored.point, payload_of(stored), vectors)

    @property
    def dense(self) -> tuple[str, ...]:
        """The vectors to read along with a point that is going to be stored anew."""
        return (self.makers.meaning,) if self.makers.meaning else ()

    async def _note(self) -> Makers | None:
        rows = await self.engine.read([NOTE])
        if not rows or rows[0].payload.get("type") != "note":
            return None
        held = rows[0].payload
        if held["layout"] != _LAYOUT:
            raise InvalidConfig(
                f"collection {self.name!r}: was laid out by a newer Memhub ({held['layout']}); upgrade Memhub"
            )
        return Makers(held["analyzer"], held["embedder"], held["dimensions"])


_TOUCHED: ContextVar[list[int]] = ContextVar("touched")


@contextmanager
def tracked() -> Iterator[None]:
    """A verb of several requests: a failure after the first that wrote is not one that did nothing."""
    touched: list[int] = []
    token = _TOUCHED.set(touched)
    try:
        yield
    except QdrantFailure as failure:
        if touched and failure.effect == "none":
            failure.effect = "unknown"
        raise
    finally:
        _TOUCHED.reset(token)
