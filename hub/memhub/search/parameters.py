"""The numbers of the ranking, each with what it was measured to be worth.

Measured as evidence recall at 10 on LoCoMo's ten conversations (5,882 turns, 1,536 questions,
categories 1 to 4), each part taken away from the whole; both halves of the conversations gain
alike. `bench/locomo.py` prints the table anew.
"""

from __future__ import annotations

from typing import Final

K1: Final = 0.9
B: Final = 0.4
"""BM25's saturation and length norm: +0.5 over the common 1.2 and 0.75."""

PREVIOUS: Final = 2
"""Quarters that a word of the previous turn counts for (a word of one's own: 4).

With the share of the following turn +6 to +10, the largest gain of all; stand-alone facts have no
neighbour and pay nothing.
"""

OWN: Final = 4
"""Quarters that a word of the record itself counts for."""

FOLLOWING: Final = 0.2
"""Share of the following turn's score that a turn receives at query time."""

SPEAKER: Final = 0.3
"""Added share of the score where the question names the record's author: +1.8."""

SESSION: Final = 0.3
"""Share of a session's mean of SESSION_BEST best scores that each of its records receives: +0.7 to +2."""

SESSION_BEST: Final = 3
"""How many of a session's scores the mean is of."""

POOL: Final = 200
"""Most relevant records among which the boosts reorder; 400 gain nothing over it."""

LEXICAL: Final = 0.65
"""Weight of words against vectors in relative-score fusion; flat from 0.6 to 0.8."""
