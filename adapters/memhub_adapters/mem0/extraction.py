"""Turns: given to the service, which makes facts of them, at once or as an operation to wait for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from datetime import datetime

from memhub.adapter import Write
from memhub.changes import expired, new_revision
from memhub.errors import NotFound, Unavailable
from memhub.records import Observed, Operation, Record
from memhub_adapters.failure import Failure
from memhub_adapters.mem0.fields import Held, held, written
from memhub_adapters.mem0.gateway import Event
from memhub_adapters.mem0.locators import OperationLocator
from memhub_adapters.mem0.memories import Memories, as_sent, each
from memhub_adapters.mem0.scopes import user_of

__all__ = ["awaited", "extraction"]

Sleep = Callable[[float], Awaitable[None]]


async def extraction(memories: Memories, write: Write, mark: str | None = None) -> Observed:
    """Hand over the turns of a write. What is made of them at once is returned, else the operation.

    `mark` is kept beside each fact that comes of them.
    """
    user, record = user_of(write.scope), _template(write)
    messages = [{"role": turn.role, "content": turn.content} for turn in write.turns]
    metadata = written(record, origin=mark)
    try:
        added = await memories.gateway.extract(user, messages, metadata)
    except Failure as failure:
        return _observed(await memories.marked(write.scope, record.revision, failure))
    if added.event is not None:
        locator = OperationLocator.of(added.event, user, record.revision)
        return Observed(operation=Operation(id=locator.text()))
    return _observed(held(as_sent(row, user, row.text, metadata)) for row in added.rows)


async def awaited(memories: Memories, id: str, *, now: datetime, pause: float, sleep: Sleep) -> Observed:
    """What a pending extraction has come to, asked for every `pause` seconds.

    Raises NotFound for an id that is none of ours or that the service has forgotten; Unavailable
    when the extraction failed.
    """
    locator = OperationLocator.parse(id)
    event = await memories.gateway.event(locator.event) if locator else None
    while event is not None and event.status == "pending" and locator is not None:
        await sleep(pause)
        event = await memories.gateway.event(locator.event)
    if event is None or locator is None:
        raise NotFound(f"no operation {id!r}")
    if event.status == "failed":
        raise Unavailable("the service could make no memories of these turns; observe them again")
    made = [one for one in await _made(memories, locator, event) if not expired(one.record, now)]
    return Observed(records=tuple(one.record for one in made), operation=Operation(id=id, status="succeeded"))


async def _made(memories: Memories, locator: OperationLocator, event: Event) -> list[Held]:
    """The records of an operation that are still there: those it names, else those with its marker."""
    if event.ids:
        rows = [row for row in await each(event.ids, memories.gateway.get) if row is not None]
    else:
        rows = await memories.gateway.rows(locator.user) if locator.user is not None else []
    found = [one for row in rows if locator.covers(row.user) and (one := held(row)) is not None]
    return found if event.ids else [one for one in found if one.token == locator.marker]


def _template(write: Write) -> Record:
    """What every fact that comes of these turns has in common."""
    return Record(
        id="",
        scope=write.scope,
        kind="fact",
        content="",
        provenance=write.provenance,
        created_at=write.now,
        updated_at=write.now,
        observed_at=write.observed_at,
        revision=new_revision(),
    )


def _observed(made: Iterable[Held | None]) -> Observed:
    return Observed(records=tuple(one.record for one in made if one is not None))
