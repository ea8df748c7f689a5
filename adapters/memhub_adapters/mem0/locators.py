"""Ids that callers see: where a record or an operation is found, with a checksum.

A record's id holds the native id and a digest of the scope; an operation's all that it takes to ask
for it after a restart. Anything that was not made here is told by its shape and checksum, before
any I/O.
"""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from memhub import limits
from memhub_adapters.mem0.scopes import scope_of

__all__ = ["Locator", "OperationLocator", "place_of"]

_RECORD: Final = "m0"
_OPERATION: Final = "m0op"


@dataclass(frozen=True, slots=True)
class Locator:
    """A record: its native id, and the digest of the native user id that its scope is."""

    native: str
    place: str

    @classmethod
    def of(cls, native: str, user: str) -> Locator:
        """The locator of a row."""
        return cls(native, place_of(user))

    def text(self) -> str:
        """The id that callers see."""
        return _sealed(_RECORD, f"{self.native}_{self.place}")

    @classmethod
    def parse(cls, id: str) -> Locator | None:
        """The locator that `text` made; None for anything else."""
        inside = _opened(_RECORD, id)
        native, _, place = (inside or "").rpartition("_")
        return cls(native, place) if native else None

    def names(self, native: str, user: str) -> bool:
        """Whether a row is the one meant, in the scope meant."""
        return native == self.native and place_of(user) == self.place


@dataclass(frozen=True, slots=True)
class OperationLocator:
    """A pending extraction: the service's event, the scope, and the marker of its records.

    `user` is None where a scope is too long for an id; its digest still guards the records.
    """

    event: str
    place: str
    marker: str
    user: str | None

    @classmethod
    def of(cls, event: str, user: str, marker: str) -> OperationLocator:
        """The locator of an operation in a scope."""
        whole = cls(event, place_of(user), marker, user)
        return whole if len(whole.text()) <= limits.ID_CHARS else cls(event, place_of(user), marker, None)

    def text(self) -> str:
        """The operation id that callers see."""
        given = json.dumps(
            [self.event, self.place, self.marker, self.user], ensure_ascii=False, separators=(",", ":")
        )
        return _sealed(_OPERATION, base64.urlsafe_b64encode(given.encode()).decode().rstrip("="))

    @classmethod
    def parse(cls, id: str) -> OperationLocator | None:
        """The locator that `text` made; None for anything else."""
        inside = _opened(_OPERATION, id)
        if inside is None:
            return None
        try:
            event, place, marker, user = json.loads(
                base64.urlsafe_b64decode(inside + "=" * (-len(inside) % 4))
            )
        except (ValueError, TypeError, RecursionError):
            return None
        whole = cls(event, place, marker, user)
        texts = all(isinstance(part, str) for part in (event, place, marker))
        return whole if texts and isinstance(user, str | None) else None

    def covers(self, user: str | None) -> bool:
        """Whether a row of this native user is in the scope of the operation."""
        return user is not None and scope_of(user) is not None and place_of(user) == self.place


@lru_cache(4096)
def place_of(user: str) -> str:
    """The digest of a native user id: where its rows are, for ids and for locks."""
    return _digest(user)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _sealed(kind: str, inside: str) -> str:
    whole = f"{kind}_{inside}"
    return f"{whole}_{_digest(whole)[:8]}"


def _opened(kind: str, id: str) -> str | None:
    whole, _, check = id.rpartition("_")
    named, _, inside = whole.partition("_")
    return inside if named == kind and check == _digest(whole)[:8] else None
