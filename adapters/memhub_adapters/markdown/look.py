"""Comparing the files with what the index knows: one stat a file, and reading only where in doubt."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass
from typing import NamedTuple
from weakref import WeakKeyDictionary

from memhub.scope import Scope
from memhub_adapters.markdown.errors import Stale
from memhub_adapters.markdown.files import RACY, Known, Seen, place_of_id
from memhub_adapters.markdown.reach import EVERYTHING, Reach
from memhub_adapters.markdown.tree import Place, Stamp, Tree, decoded
from memhub_adapters.sqlite.scopes import matching, rooms

__all__ = ["MOST_BYTES", "Cache", "Difference", "Look", "digest_of"]

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


Cache = WeakKeyDictionary[sqlite3.Connection, dict[int, Known]]
"""What each reading connection knew when it last looked, by scope number."""


@dataclass(frozen=True, slots=True)
class Look:
    """Looks at a tree through connections of its index. Paths in `pending` are about to change.

    `cache` is for connections that only read: what they know grows by what is committed.
    """

    tree: Tree
    now: Now
    pending: Container[str] = ()
    cache: Cache | None = None

    def at(self, db: sqlite3.Connection, reach: Reach) -> None:
        """Raise Stale where files of these scopes differ from what the index knows."""
        if next(self.differences(db, reach), None) is not None:
            raise Stale(reach)

    def at_record(self, db: sqlite3.Connection, id: str) -> bool:
        """Whether the index knows such a record. Raises Stale where its file has changed, or has gone."""
        found = place_of_id(db, id)
        if found is None:
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
            known = Known() if number is None else self._known(db, number)
            found = self.tree.files(scope)
            if found == known.stamps and not known.racy:
                continue
            changed = [name for name, stamp in found.items() if self._changed(scope, name, stamp, known)]
            gone = [name for name in known.stamps if name not in found]
            names = [self._texts(scope, several) for several in (changed, gone)]
            if any(names):
                yield Difference(scope, number, *names)

    def scopes(self, db: sqlite3.Connection, reach: Reach) -> dict[Scope, int | None]:
        """The scopes of a reach that the index or the disk knows, with their numbers in the index."""
        known = rooms(db) if reach.scopes is None else matching(db, reach.scopes, exact=reach.exact)
        numbers: dict[Scope, int | None] = {room.scope: room.number for room in known}
        return dict.fromkeys(self.tree.scopes(reach)) | numbers

    def _known(self, db: sqlite3.Connection, number: int) -> Known:
        kept = {} if self.cache is None else self.cache.setdefault(db, {})
        known = kept.setdefault(number, Known())
        known.take(db, number)
        return known

    def _changed(self, scope: Scope, name: bytes, stamp: tuple[int, int, int], known: Known) -> bool:
        """Whether a file must be read again."""
        before, digest = known.stamps.get(name), known.racy.get(name)
        if before != stamp or digest is None:
            return before != stamp
        return self._differs(
            Place(scope, name.decode()), Stamp(*stamp), Seen(Stamp(*before), digest), always=True
        )

    def _texts(self, scope: Scope, names: list[bytes]) -> list[str]:
        """Names as text, less those that are about to change anyhow, or are not UTF-8."""
        texts = filter(None, map(decoded, names))
        return [text for text in texts if not (self.pending and str(Place(scope, text)) in self.pending)]

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
            # Without a digest it could not be read before either.
            return before.digest != b""
        return again != stamp or digest_of(data) != before.digest


def digest_of(data: bytes) -> bytes:
    """What tells one text from another."""
    return hashlib.blake2b(data, digest_size=8).digest()
