"""Cursors: an adapter's own position, bound to the query that it belongs to."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

from memhub import validation
from memhub.adapter import Read
from memhub.errors import InvalidInput

_NEVER: Final = datetime.min.replace(tzinfo=UTC)
_NUMBERS: Final = 1 << 63
"""Engines count in 64 bits; a cursor that was made up may not."""
_FOREIGN: Final = "cursor: is not one that recall gave; pass it back unchanged"

__all__ = ["Place", "seal", "unseal"]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a listing has got to, for adapters that number what they store in the order written.

    `newest` is the number of the newest record when the listing began: later ones stay out of it.
    `last` is the listing key of the last record shown.
    """

    newest: int
    last: tuple[datetime, datetime, int, str]

    def text(self) -> str:
        """The position as an adapter returns it; it holds across restarts."""
        observed, created, position, id = self.last
        return json.dumps([self.newest, observed.isoformat(), created.isoformat(), position, id])

    @classmethod
    def parse(cls, text: str) -> Place:
        """The place that `text` made. Raises InvalidInput for anything else."""
        try:
            newest, observed, created, position, id = json.loads(text)
            times = datetime.fromisoformat(observed), datetime.fromisoformat(created)
        except (ValueError, TypeError, RecursionError):
            raise InvalidInput(_FOREIGN) from None
        if not (type(newest) is type(position) is int and isinstance(id, str)):
            raise InvalidInput(_FOREIGN)
        if not (0 <= newest < _NUMBERS and 0 <= position < _NUMBERS):
            raise InvalidInput(_FOREIGN)
        validation.clean("cursor", id)
        if None in (times[0].tzinfo, times[1].tzinfo):
            raise InvalidInput(_FOREIGN)
        return cls(newest, (*times, position, id))


def seal(position: str | None, read: Read) -> str | None:
    """The cursor that a caller sees for an adapter's position; None stays None."""
    if position is None:
        return None
    text = json.dumps([_fingerprint(read), position], ensure_ascii=False, separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def unseal(cursor: str, read: Read) -> str:
    """The adapter's position. Raises InvalidInput for a cursor that is none, or of another query."""
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        mark, position = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
    except (ValueError, TypeError, RecursionError):
        raise InvalidInput(_FOREIGN) from None
    if mark != _fingerprint(read) or not isinstance(position, str):
        raise InvalidInput(
            "cursor: belongs to another query; repeat the query that gave it, changing only limit"
        )
    return position


def _fingerprint(read: Read) -> str:
    """What must not change between pages; the limit may."""
    import hashlib

    fixed = replace(read, limit=0, cursor=None, explain=False, now=_NEVER)
    return hashlib.sha256(repr(fixed).encode()).hexdigest()[:16]
