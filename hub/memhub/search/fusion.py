"""Words and meaning in one order: relative-score fusion.

Each list is brought to 0..1 by its own least and greatest score, and the two are added with fixed
weights. Ranks are not used: a weaker list would then vote as loudly as the better one (LoCoMo with
MiniLM, R@10: 75.2 this way, 68.4 by reciprocal ranks).
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TypeVar

from memhub.search.parameters import LEXICAL

__all__ = ["fused", "relative"]

K = TypeVar("K", bound=Hashable)


def relative(scores: Mapping[K, float]) -> dict[K, float]:
    """The scores between 0, the least, and 1, the greatest; all 1 where they are equal."""
    if not scores:
        return {}
    low, high = min(scores.values()), max(scores.values())
    if high == low:
        return dict.fromkeys(scores, 1.0)
    return {key: (score - low) / (high - low) for key, score in scores.items()}


def fused(
    words: Mapping[K, float], meaning: Mapping[K, float], *, lexical: float = LEXICAL
) -> dict[K, float]:
    """One score for everything that either list holds; what a list lacks counts as its least."""
    left, right = relative(words), relative(meaning)
    return {
        key: lexical * left.get(key, 0.0) + (1 - lexical) * right.get(key, 0.0)
        for key in dict.fromkeys((*words, *meaning))
    }
