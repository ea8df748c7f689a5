"""Small pieces of SQL: lists, and a query's filters as conditions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from memhub.adapter import Read
from memhub.records import KINDS
from memhub_adapters.sqlite.rows import micros

__all__ = ["chunks", "conditions", "integers", "marks"]

CHUNK: Final = 500
"""Most keys in one statement: below every build's limit of bound values."""


def integers(values: Iterable[int]) -> str:
    """Integers as the inside of a list; for keys of our own, which are no input."""
    return ", ".join(map(str, values))


def marks(values: Sequence[object]) -> str:
    """As many question marks."""
    return ", ".join("?" * len(values))


def chunks(keys: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Keys in lists of 16 or of CHUNK, the last one padded with its own last key.

    Few lengths make few statements, which SQLite then has ready.
    """
    size = 16 if len(keys) <= 16 else CHUNK  # noqa: PLR2004
    for at in range(0, len(keys), size):
        part = tuple(keys[at : at + size])
        yield part + part[-1:] * (size - len(part))


def conditions(read: Read) -> tuple[str, list[object]]:
    """What SQL can decide of a query's filters: kinds, times, validity, expiry."""
    found: list[tuple[str, object]] = [("(expires_at IS NULL OR expires_at > ?)", micros(read.now))]
    if read.as_of is not None:
        moment = micros(read.as_of)
        found += [
            ("observed_at <= ?", moment),
            ("(invalid_at IS NULL OR invalid_at > ?)", moment),
            ("(expires_at IS NULL OR expires_at > ?)", moment),
        ]
    if read.since is not None:
        found.append(("observed_at >= ?", micros(read.since)))
    if read.until is not None:
        found.append(("observed_at < ?", micros(read.until)))
    texts = [text for text, _ in found]
    if read.as_of is None and not read.include_invalidated:
        texts.append("invalid_at IS NULL")
    if read.kinds:
        texts.append(f"kind IN ({integers(KINDS.index(kind) for kind in read.kinds)})")
    return " AND ".join(texts), [value for _, value in found]
