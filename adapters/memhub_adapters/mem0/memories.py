"""Memories: records in and out of a gateway, each write told apart from one whose answer was lost."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeVar

from memhub.errors import NotFound
from memhub.records import Record
from memhub.scope import Scope
from memhub_adapters.failure import Failure
from memhub_adapters.mem0.fields import Held, as_stored, held, written
from memhub_adapters.mem0.gateway import Added, Gateway
from memhub_adapters.mem0.locators import Locator
from memhub_adapters.mem0.rows import Row
from memhub_adapters.mem0.scopes import scope_of, user_of

__all__ = ["AT_ONCE", "Memories", "as_sent", "each", "of_scope"]

AT_ONCE: Final = 8
"""Requests of one call that are under way together."""

_NEAREST: Final = 100
"""Rows nearest to a text among which the very text is looked for."""

T = TypeVar("T")
R = TypeVar("R")


class Memories:
    """What a gateway holds in our scopes.

    `settles`: what a write did is seen by the next read. `merges`: a text that its scope holds
    already is not stored again, so that storing it twice is harmless.
    """

    def __init__(self, gateway: Gateway, *, settles: bool, merges: bool) -> None:
        self.gateway = gateway
        self._settles = settles
        self._merges = merges

    async def find(self, id: str) -> Held | None:
        """The record of this id. None, without I/O, for an id that is none of ours."""
        locator = Locator.parse(id)
        if locator is None:
            return None
        row = await self.gateway.get(locator.native)
        found = held(row) if row is not None else None
        return found if found is not None and locator.names(found.row.id, found.user) else None

    async def known(self, id: str) -> Held:
        """The record of this id. Raises NotFound."""
        found = await self.find(id)
        if found is None:
            raise NotFound(f"no record {id!r}")
        return found

    async def within(self, scope: Scope) -> list[Held]:
        """Every record of exactly this scope."""
        return of_scope(await self.gateway.rows(user_of(scope)), scope)

    async def everywhere(self) -> list[Held]:
        """Every record of every scope of ours."""
        scopes = [scope for user in await self.gateway.users() if (scope := scope_of(user)) is not None]
        return [one for some in await each(scopes, self.within) for one in some]

    async def add(self, record: Record, *, origin: str | None = None) -> Held | None:
        """Store a new record, whose revision marks it; None where the service merged it into another.

        When the answer is lost, the record is looked for; it is sent again only where that is harmless.
        """
        user, metadata = user_of(record.scope), written(record, origin=origin)
        try:
            added = await self.gateway.add(user, record.content, metadata)
        except Failure as lost:
            found = await self._found(record, lost)
            if found is not None:
                return found
            if not self._merges:
                raise self._judged(lost) from None
            added = await self.gateway.add(user, record.content, metadata)
            if not added.rows:
                # The first may have come through after all, and this one been merged into it.
                return await self._found(record, lost)
        if not added.rows:
            return None
        if not added.new:
            return await self._ours(added, record)
        return as_stored(record, as_sent(added.rows[0], user, record.content, metadata), user, origin)

    async def change(self, old: Held, record: Record) -> Held:
        """Store what has become of a record. Raises NotFound when the row is gone.

        When the answer is lost and the change does not show, the same change is sent once more.
        """
        metadata = written(record, others=old.row.metadata, origin=old.origin)
        text = record.content if record.content != old.row.text else None
        put = partial(self.gateway.put, old.row.id, text, metadata)
        try:
            there = await put()
        except Failure as lost:
            seen = await self._looked(lost, lambda: self.find(old.record.id))
            there = seen is not None and (seen.token == record.revision or await _again(put, lost))
        if not there:
            raise NotFound(f"no record {old.record.id!r}")
        return as_stored(record, as_sent(old.row, old.user, record.content, metadata), old.user, old.origin)

    async def remove(self, old: Held) -> bool:
        """Delete a row; False where somebody else has. Sent once more when the answer is lost."""
        remove = partial(self.gateway.remove, old.row.id)
        try:
            return await remove()
        except Failure as lost:
            if await self._looked(lost, lambda: self.gateway.get(old.row.id)) is not None:
                await _again(remove, lost)
            return True

    async def marked(self, scope: Scope, marker: str, lost: Failure) -> list[Held]:
        """The records of a scope that a lost extraction has made. Raises `lost` where there are none."""
        some = await self._looked(lost, lambda: self.within(scope))
        made = [one for one in some if one.token == marker]
        if not made:
            raise self._judged(lost)
        return made

    async def _found(self, record: Record, lost: Failure) -> Held | None:
        """The record whose write had no usable answer, where it shows."""
        some = await self._looked(lost, lambda: self._likely(record))
        return next((one for one in some if one.token == record.revision), None)

    async def _likely(self, record: Record) -> list[Held]:
        """The rows among which a record is, if it is anywhere."""
        try:
            return await self.within(record.scope)
        except Failure:
            user = user_of(record.scope)
            return of_scope(await self.gateway.search(user, record.content, _NEAREST), record.scope)

    async def _ours(self, added: Added, record: Record) -> Held | None:
        """The row that an answer names, where the service stored it for us and not for someone before."""
        row = await self.gateway.get(added.rows[0].id)
        found = held(row) if row is not None else None
        return found if found is not None and found.token == record.revision else None

    async def _looked(self, lost: Failure, look: Callable[[], Awaitable[T]]) -> T:
        """What a look came to. Raises `lost` where it did nothing, or where nobody can tell what it did."""
        if lost.effect == "none":
            raise lost
        try:
            return await look()
        except Failure:
            lost.effect = "unknown"
        raise lost

    def _judged(self, lost: Failure) -> Failure:
        """A lost write that does not show: certain not to come only if the service is done with it."""
        lost.effect = "none" if lost.effect == "done" and self._settles else "unknown"
        lost.lost = lost.effect == "unknown"
        return lost


async def _again(send: Callable[[], Awaitable[T]], lost: Failure) -> T:
    """What sending once more comes to; the first time may still show where this one does nothing."""
    try:
        return await send()
    except Failure as second:
        if lost.effect == "unknown":
            second.effect = "unknown"
        raise


def of_scope(rows: Iterable[Row], scope: Scope) -> list[Held]:
    """The records among rows that are in exactly this scope, whatever else the service sent."""
    user = user_of(scope)
    found = (held(row) for row in rows if row.user == user)
    return [one for one in found if one is not None]


async def each(items: Sequence[T], work: Callable[[T], Awaitable[R]]) -> list[R]:
    """The results of `work` on each item, in order, AT_ONCE at a time.

    Once one fails, no other is begun; those under way are waited for, so that nothing happens unseen.
    """
    if len(items) == 1:
        return [await work(items[0])]
    turns, done, failed = asyncio.Semaphore(AT_ONCE), dict[int, R](), list[Exception]()

    async def one(number: int, item: T) -> None:
        async with turns:
            if failed:
                return
            try:
                done[number] = await work(item)
            except Exception as error:  # noqa: BLE001 - raised below, once the others are done
                failed.append(error)

    await asyncio.gather(*(one(number, item) for number, item in enumerate(items)))
    if failed:
        raise failed[0]
    return [done[number] for number in range(len(items))]


def as_sent(row: Row, user: str, text: str, metadata: Mapping[str, Any]) -> Row:
    """A row with what was sent for it, which answers need not repeat."""
    return Row(row.id, text, user, metadata, row.created, row.expires, row.digest)
