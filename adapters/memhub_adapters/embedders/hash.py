"""An embedder without a model: words hashed to directions. For tests and demonstrations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from hashlib import blake2b
from typing import Final

from memhub.search.analyzer import words

__all__ = ["HashEmbedder"]

_COMPONENTS: Final = 8
"""How many components each word moves."""


class HashEmbedder:
    """Deterministic on every machine: texts that share words are near, and nothing is understood."""

    def __init__(self, dimensions: int = 256) -> None:
        self.dimensions = dimensions
        self.identity = "hash"

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> list[float]:
        vector = [0.0] * self.dimensions
        for word in words(text, stored=True) or [text]:
            digest = blake2b(word.encode(), digest_size=4 * _COMPONENTS).digest()
            for at in range(0, len(digest), 4):
                number = int.from_bytes(digest[at : at + 4], "big")
                vector[(number >> 1) % self.dimensions] += 1.0 if number & 1 else -1.0
        length = math.sqrt(sum(value * value for value in vector)) or 1.0
        return [value / length for value in vector]

    def __repr__(self) -> str:
        return f"<HashEmbedder of {self.dimensions} dimensions>"
