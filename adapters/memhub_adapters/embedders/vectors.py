"""What every embedder checks of the vectors that it was given, and how it takes texts in batches."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TypeVar

from memhub.errors import InvalidConfig, Unavailable

__all__ = ["batches", "checked"]

T = TypeVar("T")


def batches(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """The items, `size` at a time."""
    return (items[at : at + size] for at in range(0, len(items), size))


def checked(vectors: Sequence[object], *, count: int, dimensions: int, provider: str) -> list[list[float]]:
    """The vectors as lists of floats.

    InvalidConfig where they have another size than configured; Unavailable where they are not
    `count` lists of finite numbers.
    """
    if len(vectors) != count:
        raise Unavailable(f"{provider} gave {len(vectors)} vectors for {count} texts", provider=provider)
    return [_vector(one, dimensions, provider) for one in vectors]


def _vector(given: object, dimensions: int, provider: str) -> list[float]:
    if not isinstance(given, list) or not all(map(_finite, given)):
        raise Unavailable(f"{provider} gave a vector that is no list of finite numbers", provider=provider)
    if len(given) != dimensions:
        raise InvalidConfig(
            f"{provider} gives vectors of {len(given)} dimensions, but dimensions: {dimensions} is configured; "
            "set the one that the model has",
            provider=provider,
        )
    return [float(value) for value in given]


def _finite(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
