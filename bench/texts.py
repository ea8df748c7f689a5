"""Invented short memories with the word statistics of real ones, and questions about them.

Words are drawn from a Zipf-like vocabulary (rank r with weight 1 / (r + 20) ** 1.5); a memory has 22 of
them in the median, half of them stop words, and 6,000 memories have some 5,900 words in all: what
LoCoMo's turns have. Seeded: each run is equal.
"""

from __future__ import annotations

import random
from bisect import bisect
from itertools import accumulate

from memhub.search.analyzer import STOP_WORDS

VOCABULARY = 20_000
_ONSETS = (
    "b",
    "br",
    "c",
    "cl",
    "d",
    "f",
    "g",
    "gr",
    "h",
    "l",
    "m",
    "n",
    "p",
    "pl",
    "r",
    "s",
    "st",
    "t",
    "tr",
    "w",
)
_VOWELS = ("a", "e", "i", "o", "u", "ai", "ea", "oo")


class Texts:
    def __init__(self, seed: int = 7) -> None:
        self._random = random.Random(seed)
        self._words = self._vocabulary()
        self._weights = list(accumulate(1 / (rank + 20) ** 1.5 for rank in range(len(self._words))))

    def memory(self) -> str:
        size = min(80, max(4, round(self._random.lognormvariate(3.05, 0.55))))
        words = [self._word() if self._random.random() < 0.5 else self._stop() for _ in range(size)]
        return " ".join(words).capitalize() + "."

    def memories(self, count: int) -> list[str]:
        return [self.memory() for _ in range(count)]

    def question(self, memory: str) -> str:
        """Asks about a memory: four of its words among stop words, and one that is not in it."""
        known = [word for word in memory.rstrip(".").lower().split() if word not in STOP_WORDS]
        picked = self._random.sample(known, min(4, len(known)))
        return f"when did the {' '.join(picked)} have {self._word()}?"

    def _word(self) -> str:
        return self._words[bisect(self._weights, self._random.random() * self._weights[-1])]

    def _stop(self) -> str:
        return self._random.choice(STOP_WORDS)

    def _vocabulary(self) -> list[str]:
        found: dict[str, None] = {}
        while len(found) < VOCABULARY:
            parts = [
                self._random.choice(_ONSETS) + self._random.choice(_VOWELS)
                for _ in range(self._random.randint(1, 4))
            ]
            found["".join(parts) + self._random.choice(("", "n", "r", "s", "ng"))] = None
        return list(found)
