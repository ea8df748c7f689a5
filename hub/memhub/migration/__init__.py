"""Moving memories from any store to any other, with their history, resumable, and verified.

The source is read, never changed. What is written to it meanwhile is brought over in further
passes, until one finds nothing new; what is written after that stays behind, so stop writing to the
source before the last run, or let `migrate` be the last thing that happens to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from memhub.calls import Clock, utc_now
from memhub.errors import InvalidInput
from memhub.migration.checkpoint import Checkpoint
from memhub.migration.copier import Copier
from memhub.migration.fitting import Fit
from memhub.migration.plan import Loss, Plan, Progress, Tell, planned
from memhub.migration.sources import Source, StoreSource, checked_scopes
from memhub.migration.verifying import Verifier
from memhub.scope import Scope
from memhub.store import MemoryStore

__all__ = ["Loss", "Migrated", "Plan", "Progress", "migrate", "move", "plan_migration"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Migrated:
    """What came of a migration: records held by the target now, left out, under a new id; passes it took."""

    plan: Plan
    moved: int
    left_out: int
    renamed: int
    passes: int


async def plan_migration(
    source: MemoryStore,
    target: MemoryStore,
    *,
    scope: Scope | Iterable[Scope] | None = None,
    progress: Tell = lambda _: None,
    clock: Clock = utc_now,
) -> Plan:
    """What `migrate` would do, and what the target could not hold. Reads the source, changes nothing.

    Raises InvalidInput when both are one store, and Unsupported where the source cannot be read
    through (`scan`), or the target takes no records or keeps nothing.
    """
    return await planned(_source(source, target, scope), target, now=clock(), tell=progress)


async def migrate(
    source: MemoryStore,
    target: MemoryStore,
    *,
    scope: Scope | Iterable[Scope] | None = None,
    accept_loss: bool = False,
    checkpoint: Path | None = None,
    progress: Tell = lambda _: None,
    on_moved: Callable[[str, str], object] | None = None,
    clock: Clock = utc_now,
) -> Migrated:
    """Copy what `scope` covers (one, several, or everything) and compare it at the end.

    `checkpoint` is a file that notes what is done: the same call goes on where a killed one was,
    without duplicates or gaps; it is removed at the end. `progress` hears of each page, `on_moved`
    at the end of each record with its old and its new id. Raises Unsupported for a loss that is
    not accepted, before anything is written; Conflict when the target holds another version of a
    record, when the source does not stop changing, or when the comparison fails; and what
    `plan_migration` raises.
    """
    scopes = checked_scopes(scope)
    return await move(
        _source(source, target, scopes),
        target,
        about=sorted(one.canonical for one in scopes),
        accept_loss=accept_loss,
        checkpoint=checkpoint,
        progress=progress,
        on_moved=on_moved,
        clock=clock,
    )


async def move(
    source: Source,
    target: MemoryStore,
    *,
    about: object = None,
    accept_loss: bool = False,
    checkpoint: Path | None = None,
    progress: Tell = lambda _: None,
    on_moved: Callable[[str, str], object] | None = None,
    clock: Clock = utc_now,
) -> Migrated:
    """`migrate` from any source of records, such as an export. `about` tells its checkpoints apart."""
    plan = await planned(source, target, now=clock(), tell=progress)
    plan.check(accept_loss=accept_loss)
    fit = Fit(target.capabilities)
    identity = [source.name, target.name, target.capabilities.provider, about]
    notes = Checkpoint(checkpoint, identity)
    done = False
    try:
        passes = await Copier(source, target, fit, notes, plan, clock, progress).run()
        await Verifier(source, target, fit, notes, clock, progress).run()
        for row in notes.moved() if on_moved else ():
            if on_moved and row.target is not None:
                on_moved(row.source, row.target)
        moved, left_out, renamed = notes.counts()
        done = True
    finally:
        notes.close(done=done)
    return Migrated(plan=plan, moved=moved, left_out=left_out, renamed=renamed, passes=passes)


def _source(source: MemoryStore, target: MemoryStore, scope: Scope | Iterable[Scope] | None) -> StoreSource:
    if source is target:
        raise InvalidInput("target: is the source itself; name another store")
    return StoreSource(source, checked_scopes(scope))
