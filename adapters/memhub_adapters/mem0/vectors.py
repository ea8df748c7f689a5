"""Which embedder an embedded Mem0 was filled with, and going over to another.

Each embedder has a collection of its own, and a note beside the files says which one is in use; so
another embedder is refused, and vectors are made anew beside the old ones, which serve until the end.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from memhub.embedding import Embedder
from memhub.errors import InvalidConfig
from memhub.upkeep import Progress

__all__ = ["Maker", "checked", "kept", "made_anew", "note"]

_NOTE: Final = "embedder.json"
_BATCH: Final = 64


@dataclass(frozen=True, slots=True)
class Maker:
    """What vectors are made by."""

    identity: str
    dimensions: int

    @classmethod
    def of(cls, embedder: Embedder) -> Maker:
        """The maker that an embedder is."""
        return cls(embedder.identity, embedder.dimensions)

    @property
    def collection(self) -> str:
        """The name of its collection."""
        return f"memhub_{hashlib.sha256(str(self).encode()).hexdigest()[:12]}"

    def __str__(self) -> str:
        return f"{self.identity!r} of {self.dimensions} dimensions"


def kept(folder: Path) -> Maker | None:
    """What made the vectors in a folder; None where there are none."""
    try:
        noted = json.loads((folder / _NOTE).read_text("utf-8"))
        return Maker(str(noted["identity"]), int(noted["dimensions"]))
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError):
        pass
    raise InvalidConfig(
        f"{folder / _NOTE}: is damaged, so nobody knows what embedder the store was filled with"
    )


def checked(folder: Path, maker: Maker) -> None:
    """Raise InvalidConfig, naming both, where another embedder made what is there."""
    before = kept(folder)
    if before is not None and before != maker:
        raise InvalidConfig(
            f"embedder: is {maker}, but the store was filled with {before}; "
            "configure the former one, or run `memhub reembed STORE`"
        )


def note(folder: Path, maker: Maker) -> None:
    """Note what makes the vectors from now on."""
    beside = folder / f"{_NOTE}.new"
    beside.write_text(json.dumps(asdict(maker)), "utf-8")
    beside.replace(folder / _NOTE)


def made_anew(memory: Any, folder: Path, maker: Maker, progress: Progress | None) -> int:  # noqa: ANN401 - mem0ai has no types
    """Embed every text into the collection of `maker`, note it, and drop the old one.

    A run that was interrupted is gone on with: what has its vector already is passed over.
    """
    store, before = memory.vector_store, kept(folder) or maker
    client, same = store.client, before == maker
    total, done = client.count(before.collection).count, 0
    for points in _pages(client, before.collection):
        there = (
            set()
            if same
            else {str(one.id) for one in client.retrieve(maker.collection, [p.id for p in points])}
        )
        fresh = [one for one in points if str(one.id) not in there]
        vectors = memory.embedding_model.embed_batch([one.payload["data"] for one in fresh]) if fresh else []
        if fresh:
            store.insert(vectors, [one.payload for one in fresh], [one.id for one in fresh])
        done += len(points)
        if progress is not None:
            progress(done, total)
    note(folder, maker)
    if not same:
        client.delete_collection(before.collection)
    return done


def _pages(client: Any, collection: str) -> Iterator[list[Any]]:  # noqa: ANN401 - mem0ai has no types
    """The points of a collection, `_BATCH` at a time, in the order of their ids."""
    offset = None
    while True:
        points, offset = client.scroll(collection, limit=_BATCH, offset=offset, with_payload=True)
        if points:
            yield points
        if offset is None:
            return
