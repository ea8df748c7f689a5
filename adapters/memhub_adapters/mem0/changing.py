"""Changing and forgetting one record. The caller holds the lock of its scope."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from memhub.changes import check_revision, expired, unlinked
from memhub.errors import NotFound
from memhub.records import Record
from memhub_adapters.mem0.fields import Held
from memhub_adapters.mem0.memories import Memories

__all__ = ["changed", "forgotten"]


async def changed(
    memories: Memories, id: str, revision: str | None, now: datetime, step: Callable[[Record], Record]
) -> Record:
    """The record after `step`, stored unless it is the same."""
    old = await memories.known(id)
    if expired(old.record, now):
        raise NotFound(f"no record {id!r}")
    check_revision(old.record, revision)
    record = step(old.record)
    return record if record is old.record else (await memories.change(old, record)).record


async def forgotten(memories: Memories, id: str, revision: str | None) -> None:
    """Unlink a record from its chain, then delete it: a crash between leaves no trace of a deleted id."""
    old = await memories.known(id)
    check_revision(old.record, revision)
    near = await _neighbours(memories, old)
    links = {link: found.record for link, found in near.items()}
    for record in unlinked(old.record, links):
        await memories.change(near[record.id], record)
    if not await memories.remove(old):
        raise NotFound(f"no record {id!r}")


async def _neighbours(memories: Memories, one: Held) -> dict[str, Held]:
    links = [link for link in (one.record.supersedes, one.record.superseded_by) if link is not None]
    found = [await memories.find(link) for link in links]
    return {near.record.id: near for near in found if near is not None}
