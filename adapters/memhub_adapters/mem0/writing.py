"""Observing facts: stored as they are, merged by the service into a twin, or correcting another."""

from __future__ import annotations

from typing import Final

from memhub.adapter import Write
from memhub.changes import expired, new_records, superseded
from memhub.errors import Conflict, NotFound, Unavailable
from memhub.records import Observed, Record
from memhub_adapters.failure import Failure
from memhub_adapters.mem0.fields import Held
from memhub_adapters.mem0.memories import Memories

__all__ = ["correction", "fact"]

_FIELDS: Final = ("kind", "tags", "attributes", "provenance", "expires_at", "target", "payload", "supports")


async def fact(memories: Memories, write: Write, mark: str | None = None) -> Observed:
    """Store the one fact of a write; `mark` is kept beside it."""
    [record] = new_records(write)
    stored = await memories.add(record, origin=mark)
    return Observed(records=(stored.record,)) if stored else await _twin(memories, write, record)


async def correction(memories: Memories, write: Write, mark: str | None = None) -> Observed:
    """Store the one fact of a write, then retire what it corrects. The caller holds the scope's lock.

    Raises NotFound and Conflict before anything is stored, and Conflict when another process has
    corrected the same record meanwhile: then the fact is taken back.
    """
    [record] = new_records(write)
    old = await memories.find(record.supersedes or "")
    superseded([record], {old.record.id: old.record} if old else {}, now=write.now)
    stored = await memories.add(record, origin=mark)
    if stored is None or old is None:
        raise Conflict(
            "supersedes: the scope holds this very text already, and the service merges equal texts"
        )
    await _retire(memories, old, stored, write)
    again = await memories.find(old.record.id)
    if again is not None and again.record.superseded_by not in (None, stored.record.id):
        await _taken_back(memories, stored)
        raise Conflict(
            f"supersedes: record {old.record.id!r} was superseded meanwhile; correct its successor"
        )
    return Observed(records=(stored.record,))


async def _retire(memories: Memories, old: Held, new: Held, write: Write) -> None:
    """Hide the corrected record. Where that certainly failed, the correction is taken back.

    Where nobody knows, both stay: the old one may yet be hidden, and one of the two must be there.
    """
    [retired] = superseded([new.record], {old.record.id: old.record}, now=write.now)
    try:
        await memories.change(old, retired)
    except (Failure, NotFound) as error:
        if isinstance(error, NotFound) or error.effect == "none":
            await _taken_back(memories, new)
        raise


async def _taken_back(memories: Memories, new: Held) -> None:
    """Remove a correction that cannot stand. A failure says that it may be there, whatever refused to remove it."""
    try:
        await memories.remove(new)
    except Failure as failure:
        failure.effect, failure.lost = "unknown", True
        raise


async def _twin(memories: Memories, write: Write, record: Record) -> Observed:
    """The live record with the same text and fields, which the service kept instead. Conflict for another."""
    same = [one.record for one in await memories.within(record.scope) if one.record.content == record.content]
    if not same:
        raise Unavailable(
            "the service says that it holds this text, and does not show it yet",
            retryable=True,
            unapplied=True,
        )
    for twin in same:
        alive = twin.invalid_at is None and not expired(twin, write.now)
        if alive and _given(twin, write) == _given(record, write):
            return Observed(records=(twin,), replayed=True)
    raise Conflict(
        f"facts[0]: the scope holds this very text already, as record {same[0].id!r} with other fields or "
        "invalidated, and the service merges equal texts; update or delete that record"
    )


def _given(record: Record, write: Write) -> tuple[object, ...]:
    """What a caller gave of a record: neither defaults nor history."""
    observed = record.observed_at if write.observed_at != write.now else None
    return (observed, *(getattr(record, name) for name in _FIELDS))
