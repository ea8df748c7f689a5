"""Making every vector anew, after the embedder or the analyzer has changed. Stopped, it goes on later."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from memhub.search import document, lent_terms
from memhub.upkeep import Progress
from memhub_adapters.qdrant.collection import Collection
from memhub_adapters.qdrant.conditions import RECORDS, any_of, both
from memhub_adapters.qdrant.engine import Point, Vector, Vectors
from memhub_adapters.qdrant.points import Stored, stored_of, word_vector
from memhub_adapters.qdrant.turns import predecessors

__all__ = ["reembed"]

BATCH: Final = 64
"""Records whose vectors are made and stored together."""


async def reembed(collection: Collection, progress: Progress | None = None) -> int:
    """Give every record the vectors of today's makers, then drop those of earlier ones; how many records.

    A vector that is there already is kept, so a run that was stopped goes on where it was. Meanwhile
    the collection serves those who have it open as before; once this has ended, they must open it anew.
    """
    await collection.noted()
    await _make_room(collection)
    wanted = collection.makers.shape()
    made = [await _filled(collection, name, progress) for name in (*wanted.dense, *wanted.sparse)]
    await collection.keep_note(collection.makers)
    await _drop_others(collection)
    # What was written until then by those who had the collection open has the earlier vectors alone.
    late = [await _filled(collection, name, progress) for name in (*wanted.dense, *wanted.sparse)]
    return max(made) + max(late)


async def _make_room(collection: Collection) -> None:
    """The vectors that are wanted and not there."""
    wanted, there = collection.makers.shape(), await collection.engine.shape()
    for name, size in wanted.dense.items():
        if there is None or name not in there.dense:
            await collection.engine.add_vector(name, size)
    for name in wanted.sparse:
        if there is None or name not in there.sparse:
            await collection.engine.add_vector(name, None)


async def _filled(collection: Collection, name: str, progress: Progress | None) -> int:
    """Give every record that lacks it the vector of this name; how many."""
    missing = both(RECORDS, {"must_not": [{"has_vector": name}]})
    total, done = await collection.engine.count(missing), 0
    while rows := await collection.engine.scroll(missing, BATCH):
        found = [stored for row in rows if (stored := stored_of(row)) is not None]
        if not found:
            break
        made = await (
            _meanings(collection, found) if name == collection.makers.meaning else _words(collection, found)
        )
        points = [Point(stored.point, {}, {name: vector}) for stored, vector in zip(found, made, strict=True)]
        # Each only if its record is still as it was read.
        where = {"must": [any_of("token", [stored.token for stored in found])]}
        await collection.write(Vectors(points=points, where=where))
        done += len(found)
        if progress is not None:
            progress(done, max(done, total))
    return done


async def _meanings(collection: Collection, found: Sequence[Stored]) -> Sequence[Vector]:
    made = await collection.embed([stored.record.content for stored in found])
    return [vector or [] for vector in made]


async def _words(collection: Collection, found: Sequence[Stored]) -> Sequence[Vector]:
    before = await predecessors(collection, found)
    lent = [lent_terms(before.get(stored.previous or "")) for stored in found]
    return [word_vector(document(stored.record, terms)) for stored, terms in zip(found, lent, strict=True)]


async def _drop_others(collection: Collection) -> None:
    wanted, there = collection.makers.shape(), await collection.engine.shape()
    for name in (*there.dense, *there.sparse) if there else ():
        if name not in wanted.dense and name not in wanted.sparse:
            await collection.engine.drop_vector(name)
