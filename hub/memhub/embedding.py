"""Embedder: text to vectors, for adapters that search by meaning."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol, runtime_checkable

__all__ = ["NO_EMBEDDER", "Embedder"]

NO_EMBEDDER: Final = "no embedder is configured, so it searches by words only; name one under `embedder`"
"""Why a store that could search by meaning does not."""


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into vectors whose cosine says how alike they mean.

    `identity` names the model: vectors of two identities, or of two sizes, never compare, and a
    store remembers which it was filled with. `dimensions` is the length of every vector. An
    embedder may be used from several threads and event loops, and is closed by whoever made it.
    """

    @property
    def identity(self) -> str: ...
    @property
    def dimensions(self) -> int: ...
    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector a text, in order; the texts are taken exactly as they are.

        Raises Unavailable and its kinds; nothing else has happened then.
        """
        ...
