"""An observation under an idempotency key, in a flavor that has a ledger: stored once, then replayed."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable

from memhub.adapter import Write
from memhub.changes import expired
from memhub.errors import Conflict
from memhub.records import Observed
from memhub_adapters.failure import Failure
from memhub_adapters.mem0.fields import Held
from memhub_adapters.mem0.ledger import Entry, Ledger
from memhub_adapters.mem0.memories import Memories, each
from memhub_adapters.mem0.scopes import user_of

__all__ = ["observed_once"]


async def observed_once(
    ledger: Ledger, memories: Memories, write: Write, store: Callable[[str], Awaitable[Observed]]
) -> Observed:
    """What `store` comes to the first time, and what has become of that since.

    `store` is given a mark for what it stores; by it an observation is recognised whose process
    ended before it was noted. The caller holds a lock for the key.
    """
    user, key = user_of(write.scope), write.idempotency_key or ""
    mark = f"key:{hashlib.sha256(f'{user} {key}'.encode()).hexdigest()[:32]}"
    entry = await ledger.find(user, key)
    if entry is not None and entry.digest != write.digest:
        raise Conflict("idempotency_key: was used in this scope with another payload; use a new key")
    if entry is not None:
        ids = entry.ids if entry.ids is not None else await _marked(memories, write, mark)
        if ids is not None:
            await ledger.note(user, key, Entry(write.digest, ids))
            return await _replayed(memories, write, ids)
    await ledger.note(user, key, Entry(write.digest, None))
    try:
        done = await store(mark)
    except Exception as error:
        if not isinstance(error, Failure) or error.effect == "none":
            await ledger.forget(user, key)
        raise
    await ledger.note(user, key, Entry(write.digest, tuple(record.id for record in done.records)))
    return done


async def _marked(memories: Memories, write: Write, mark: str) -> tuple[str, ...] | None:
    """The records of an observation whose process ended; a correction that was only half done is taken back."""
    made = [one for one in await memories.within(write.scope) if one.origin == mark]
    half = [one for one in made if await _half_done(memories, one)]
    for one in half:
        await memories.remove(one)
    return tuple(one.record.id for one in made if one not in half) or None


async def _half_done(memories: Memories, one: Held) -> bool:
    """Whether a correction stands beside what it was to correct."""
    old = await memories.find(one.record.supersedes or "")
    return old is not None and old.record.superseded_by != one.record.id


async def _replayed(memories: Memories, write: Write, ids: tuple[str, ...]) -> Observed:
    found = await each(ids, memories.find)
    alive = [one.record for one in found if one is not None and not expired(one.record, write.now)]
    return Observed(records=tuple(alive), replayed=True)
