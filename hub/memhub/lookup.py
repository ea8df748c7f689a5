"""Looking records up by id: what may be asked, and one answer for all that is not there."""

from __future__ import annotations

from collections.abc import Container, Iterable

from memhub import limits, validation
from memhub.errors import NotFound

__all__ = ["check_found", "check_ids"]


def check_ids(given: object) -> list[str]:
    """The ids of one call of `get`: one, or a list of up to 1,000."""
    several = [given] if isinstance(given, str) else validation.items("id", given, limits.ITEMS)
    return [validation.identifier("id", one) for one in several]


def check_found(
    ids: Iterable[str], found: Container[str], *, provider: str, store: str, operation: str
) -> None:
    """Raise NotFound, naming the first of `ids` that is not in `found`, unless all are."""
    missing = [id for id in dict.fromkeys(ids) if id not in found]
    if missing:
        raise NotFound(
            f"no record {missing[0]!r}" + (f" nor {len(missing) - 1} more" if missing[1:] else ""),
            provider=provider,
            store=store,
            operation=operation,
        )
