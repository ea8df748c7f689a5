"""The transitions of a record, as pure functions: every adapter that stores records applies these."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from memhub.adapter import Write
from memhub.errors import Conflict, NotFound
from memhub.records import Fact, Patch, Provenance, Record, Turn, Unset
from memhub.validation import check_merged_attributes

__all__ = [
    "check_revision",
    "expired",
    "invalidated",
    "live_at",
    "new_id",
    "new_records",
    "new_revision",
    "patched",
    "superseded",
    "unlinked",
]


def new_id(now: datetime) -> str:
    """A UUID of version 7 (RFC 9562, 5.7): ids made later sort later, to the millisecond."""
    stamp = int(now.timestamp() * 1000) & (2**48 - 1)
    tail = int.from_bytes(os.urandom(10), "big")
    value = stamp << 80 | 0x7 << 76 | (tail >> 68) << 64 | 0b10 << 62 | tail & (2**62 - 1)
    text = f"{value:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def new_revision() -> str:
    """A revision token: 64 random bits, so that none ever comes back."""
    return os.urandom(8).hex()


def new_records(write: Write) -> list[Record]:
    """The records that an adapter which keeps facts and turns verbatim stores for this write."""
    if write.turns:
        return [_from_turn(write, turn, n) for n, turn in enumerate(write.turns)]
    return [_from_fact(write, fact, n) for n, fact in enumerate(write.facts)]


def _from_fact(write: Write, fact: Fact, position: int) -> Record:
    return Record(
        id=new_id(write.now),
        scope=write.scope,
        kind=fact.kind,
        content=fact.content,
        tags=tuple(fact.tags),
        attributes=fact.attributes,
        provenance=write.provenance,
        created_at=write.now,
        updated_at=write.now,
        observed_at=write.observed_at,
        supersedes=fact.supersedes,
        expires_at=fact.expires_at,
        revision=new_revision(),
        position=position,
        target=fact.target,
        payload=fact.payload,
        supports=tuple(fact.supports),
    )


def _from_turn(write: Write, turn: Turn, position: int) -> Record:
    given = write.provenance
    author = turn.speaker if turn.speaker is not None else given.author
    return Record(
        id=new_id(write.now),
        scope=write.scope,
        kind="episode",
        content=turn.content,
        tags=tuple(turn.tags),
        attributes=turn.attributes,
        provenance=Provenance(given.conversation_id, given.run_id, author, turn.role),
        created_at=write.now,
        updated_at=write.now,
        observed_at=turn.at or write.observed_at,
        revision=new_revision(),
        position=position,
    )


def expired(record: Record, now: datetime) -> bool:
    """Whether the record has expired: at the very instant of `expires_at` it has."""
    return record.expires_at is not None and record.expires_at <= now


def live_at(record: Record, moment: datetime) -> bool:
    """What `as_of` asks: observed by then, and neither invalid nor expired then."""
    return (
        record.observed_at <= moment
        and (record.invalid_at is None or record.invalid_at > moment)
        and not expired(record, moment)
    )


def check_revision(record: Record, revision: str | None) -> None:
    """Raise Conflict when a revision was given and is not the record's."""
    if revision is not None and revision != record.revision:
        raise Conflict(f"revision: is stale for record {record.id!r}; get it again and repeat the change")


def patched(record: Record, patch: Patch, *, now: datetime) -> Record:
    """The record after an update. Raises Conflict when it is invalidated."""
    if record.invalid_at is not None:
        raise Conflict(f"record {record.id!r} is invalidated: it can be deleted, not updated")
    attributes = {k: v for k, v in record.attributes.items() if k not in set(patch.remove_attributes)}
    attributes |= patch.set_attributes
    check_merged_attributes(attributes)
    return replace(
        record,
        content=record.content if isinstance(patch.content, Unset) else patch.content,
        kind=record.kind if isinstance(patch.kind, Unset) else patch.kind,
        tags=record.tags if isinstance(patch.tags, Unset) else tuple(patch.tags),
        attributes=attributes,
        expires_at=record.expires_at if isinstance(patch.expires_at, Unset) else patch.expires_at,
        updated_at=now,
        revision=new_revision(),
    )


def invalidated(record: Record, reason: str | None, *, now: datetime) -> Record:
    """The record hidden and kept; the same record when it was already."""
    if record.invalid_at is not None:
        return record
    return replace(record, invalid_at=now, invalid_reason=reason, updated_at=now, revision=new_revision())


def superseded(new: Sequence[Record], old: Mapping[str, Record], *, now: datetime) -> list[Record]:
    """The corrected records of one observation, linked to the `new` ones.

    `old` holds, by id, the records of exactly the same scope that exist. NotFound when one is
    absent or expired; Conflict when one is already superseded, or corrected twice here.
    """
    changed: dict[str, Record] = {}
    for record in new:
        if record.supersedes is None:
            continue
        target = old.get(record.supersedes)
        if target is None or target.scope != record.scope or expired(target, now):
            raise NotFound(f"supersedes: no record {record.supersedes!r} in this scope")
        if target.superseded_by is not None or target.id in changed:
            raise Conflict(f"supersedes: record {target.id!r} is already superseded; correct its successor")
        changed[target.id] = replace(
            target,
            invalid_at=target.invalid_at or max(target.observed_at, record.observed_at),
            superseded_by=record.id,
            updated_at=now,
            revision=new_revision(),
        )
    return list(changed.values())


def unlinked(gone: Record, neighbours: Mapping[str, Record]) -> list[Record]:
    """The records that named a deleted one, without its name: no trace stays, nothing comes back."""
    changed = []
    before, after = neighbours.get(gone.supersedes or ""), neighbours.get(gone.superseded_by or "")
    if before is not None and before.superseded_by == gone.id:
        changed.append(replace(before, superseded_by=None, revision=new_revision()))
    if after is not None and after.supersedes == gone.id:
        changed.append(replace(after, supersedes=None, revision=new_revision()))
    return changed
