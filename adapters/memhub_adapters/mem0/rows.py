"""Rows: memories as Mem0 answers them, in whichever dialect, checked before anything relies on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Any

from memhub_adapters.http import HttpFailure

__all__ = ["Row", "row_of", "rows_of"]


@dataclass(frozen=True, slots=True)
class Row:
    """One memory. `created` is the service's own time; `expires` its last day; `score` of a search."""

    id: str
    text: str
    user: str | None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    created: datetime | None = None
    expires: date | None = None
    digest: str | None = None
    score: float = 0.0


def row_of(given: object) -> Row:
    """The row of a JSON object. Raises HttpFailure for one without id or text."""
    if not isinstance(given, dict):
        raise _unreadable()
    data = given.get("data")
    text = data.get("memory") if isinstance(data, dict) else given.get("memory")
    id, user, metadata = given.get("id"), given.get("user_id"), given.get("metadata")
    if not isinstance(id, str) or not id or not isinstance(text, str):
        raise _unreadable()
    score = given.get("score")
    return Row(
        id,
        text,
        user if isinstance(user, str) else None,
        metadata if isinstance(metadata, dict) else {},
        _moment(given.get("created_at")),
        _day(given.get("expiration_date")),
        given["hash"] if isinstance(given.get("hash"), str) else None,
        float(score) if isinstance(score, int | float) else 0.0,
    )


def rows_of(given: object) -> list[Row]:
    """The rows of a JSON list, or of an object with `results`. Raises HttpFailure for anything else."""
    results = given.get("results") if isinstance(given, dict) else given
    if not isinstance(results, list):
        raise _unreadable()
    return [row_of(one) for one in results]


def _unreadable() -> HttpFailure:
    return HttpFailure("UnexpectedBody", "done")


def _moment(value: object) -> datetime | None:
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None
    if moment is None:
        return None
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)


def _day(value: object) -> date | None:
    try:
        return date.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None
