"""Comparing the files with what the index knows: one stat a file, and reading only where in doubt."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from memhub.scope import Scope
from memhub_adapters.markdown.errors import Stale
from memhub_adapters.markdown.files import RACY, Seen, place_of_id, seen
from memhub_adapters.markdown.reach import EVERYTHING, Reach
from memhub_adapters.markdown.tree import Place, Stamp, Tree
from memhub_adapters.sqlite.scopes import matching, rooms

__all__ = ["MOST_BYTES", "Difference", "Look", "digest_of"]

MOST_BYTES = 2**20
"""Largest file that is read: several times what the longest content and all its fields take."""

Now = Callable[[], int]
"""The present as the file system counts it, in nanoseconds since 1970."""


class Difference(NamedTuple):
    """What is new, changed or gone in one scope, by file name. `number` is the scope's in the index."""

    scope: Scope
    number: int | None
    changed: list[str]
    gone: list[str]


@dataclass(frozen=True, slots=True)
class Look:
    """A look at a tree through one connection of its index. Paths in `pending` are about to change."""

    tree: Tree
    now: Now
    pending: Container[str] = ()

    def at(self, db: sqlite3.Connection, reach: Reach) -> None:
        """Raise Stale where files of these scopes differ from what the index knows."""
        if next(self.differences(db, reach), None) is not None:
            raise Stale(reach)

    def at_record(self, db: sqlite3.Connection, id: str) -> bool:
        """Whether there is such a record. Raises Stale where its file, or where it is, has changed."""
        found = place_of_id(db, id)
        if found is None:
            self.at(db, EVERYTHING)
            return False
        place, known = found
        path = str(place)
        if path not in self.pending:
            stamp = self.tree.stamp(path)
            if stamp is None:
                raise Stale(EVERYTHING)
            if self._differs(place, stamp, known, always=False):
                raise Stale(Reach((place.scope,)))
        return True

    def differences(self, db: sqlite3.Connection, reach: Reach) -> Iterator[Difference]:
        """Scope by scope, where there are any."""
        for scope, number in self.scopes(db, reach).items():
            known = seen(db, number) if number is not None else {}
            changed = [
                name for name, stamp in self.tree.files(scope) if self._changed(scope, name, stamp, known)
            ]
            gone = [name for name in known if not self._is_pending(scope, name)]
            if changed or gone:
                yield Difference(scope, number, changed, gone)

    def scopes(self, db: sqlite3.Connection, reach: Reach) -> dict[Scope, int | None]:
        """The scopes of a reach that the index or the disk knows, with their numbers in the index."""
        known = rooms(db) if reach.scopes is None else matching(db, reach.scopes, exact=reach.exact)
        numbers: dict[Scope, int | None] = {room.scope: room.number for room in known}
        return dict.fromkeys(self.tree.scopes(reach)) | numbers

    def _changed(self, scope: Scope, name: str, stamp: Stamp, known: dict[str, Seen]) -> bool:
        """Whether a file must be read again; takes it out of those known."""
        before = known.pop(name, None)
        if before is not None and before.stamp == stamp and before.digest is None:
            return False
        if self._is_pending(scope, name):
            return False
        return before is None or self._differs(Place(scope, name), stamp, before, always=True)

    def _differs(self, place: Place, stamp: Stamp, before: Seen, *, always: bool) -> bool:
        """Whether a file is not what was seen. One that had just changed then is read again.

        `always`: once it has aged, it counts as different, so that the index can note that it has.
        """
        if stamp != before.stamp:
            return True
        if before.digest is None:
            return False
        if always and self.now() >= stamp.mtime + RACY:
            return True
        try:
            data, again = self.tree.read(str(place), MOST_BYTES + 1)
        except OSError:
            return True
        return again != stamp or digest_of(data) != before.digest

    def _is_pending(self, scope: Scope, name: str) -> bool:
        return bool(self.pending) and str(Place(scope, name)) in self.pending


def digest_of(data: bytes) -> bytes:
    """What tells one text from another."""
    return hashlib.blake2b(data, digest_size=8).digest()
