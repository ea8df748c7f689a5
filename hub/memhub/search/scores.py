"""The scores of one question, in two forms that agree to the last bit: plain, and on numpy arrays.

Both add the values of a record in the order of the question's terms, in double precision.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from memhub.search.parameters import SPEAKER

if TYPE_CHECKING:
    import numpy as np

__all__ = ["ArrayScores", "Parts", "PlainScores", "Rows", "Scores", "add_up", "parts_of", "raised"]

Parts = dict[str, dict[int, float]]
"""By term: what it gave to each record."""

Rows = Sequence[tuple[int, bytes]]
"""Of one term: (key of the block's first record, packed postings)."""


class Scores(Protocol):
    """The score of every record that holds a word of the question.

    `named` are the records whose author the question names: their scores are raised by SPEAKER.
    """

    named: frozenset[int]
    parts: Parts

    def __len__(self) -> int: ...
    def base(self, key: int) -> float:
        """The score by words alone."""

    def head(self, count: int) -> list[int]:
        """The `count` best, authors considered, in no order, and all that equal the last of them."""


def raised(scores: Scores, key: int, added: float = 0.0) -> float:
    """A record's score and what was added to it, its author considered."""
    found = scores.base(key) + added
    return found * (1 + SPEAKER) if key in scores.named else found


@dataclass(slots=True)
class PlainScores:
    """Scores in a dict."""

    values: dict[int, float]
    named: frozenset[int]
    parts: Parts = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.values)

    def base(self, key: int) -> float:
        return self.values[key]

    def head(self, count: int) -> list[int]:
        values = self.values
        if count >= len(values):
            return list(values)
        if self.named:
            values = {key: raised(self, key) for key in values}
        floor = heapq.nlargest(count, values.values())[-1]
        return [key for key, value in values.items() if value >= floor]


@dataclass(slots=True)
class ArrayScores:
    """Scores as sorted keys and their values."""

    keys: np.ndarray[tuple[int], np.dtype[np.int64]]
    values: np.ndarray[tuple[int], np.dtype[np.float64]]
    named: frozenset[int]
    parts: Parts = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.keys)

    def base(self, key: int) -> float:
        return float(self.values[self.keys.searchsorted(key)])

    def head(self, count: int) -> list[int]:
        import numpy as np

        if count >= len(self.keys):
            return [int(key) for key in self.keys]
        values = self.values
        if self.named:
            values = np.where(np.isin(self.keys, list(self.named)), values * (1 + SPEAKER), values)
        floor = np.partition(values, -count)[-count]
        return [int(key) for key in self.keys[values >= floor]]


def parts_of(rows: Rows, weight: float, norms: Sequence[float]) -> dict[int, float]:
    """What one term gives to each record that holds it."""
    return {
        first + place: weight * tf / (tf + norms[code])
        for first, blob in rows
        for place, tf, code in zip(blob[::3], blob[1::3], blob[2::3], strict=True)
    }


def add_up(
    terms: Sequence[tuple[Rows, float]], norms: Sequence[float], named: frozenset[int], parts: Parts
) -> Scores:
    """Sum what the terms give, each with its weight. Needs numpy."""
    import numpy as np

    table, keys, values = np.asarray(norms), [], []
    for rows, weight in terms:
        triples = np.frombuffer(b"".join([blob for _, blob in rows]), np.uint8).reshape(-1, 3)
        firsts = np.repeat([first for first, _ in rows], [len(blob) // 3 for _, blob in rows])
        tf = triples[:, 1].astype(np.float64)
        keys.append(firsts + triples[:, 0])
        values.append(weight * tf / (tf + table[triples[:, 2]]))
    whole, weights = np.concatenate(keys), np.concatenate(values)
    low = int(whole.min())
    if int(whole.max()) - low < _SPAN:
        # One scope, nearly always: its numbers are close together, and nothing needs sorting.
        # Every posting gives more than zero, so what is not zero is what was found.
        sums = np.bincount(whole - low, weights=weights).astype(np.float64, copy=False)
        found = np.flatnonzero(sums)
        return ArrayScores(found + low, sums[found], named, parts)
    found, places = np.unique(whole, return_inverse=True)
    sums = np.bincount(places, weights=weights).astype(np.float64, copy=False)
    return ArrayScores(found, sums, named, parts)


_SPAN = 2**24
"""Widest range of keys that is summed in one array, in numbers."""
