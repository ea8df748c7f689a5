"""Sound adapters that declare less than all, or keep their promises in another way: they must pass."""

import copy
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from memhub.adapter import Read, Write
from memhub.capabilities import FILTERS_NONE, Filters
from memhub.changes import new_records
from memhub.errors import Conflict, NotFound
from memhub.records import Fact, Observed, Operation, Patch, Recalled, Record, Restored
from memhub.scope import Scope
from memhub.upkeep import Progress
from memhub_adapters.in_memory import InMemoryAdapter
from memhub_adapters.in_memory.adapter import CAPABILITIES

STRINGS = Filters(tags=True, attributes={"eq": frozenset({"string"}), "in": frozenset({"string", "number"})})


def declaring(
    name: str, base: type[InMemoryAdapter] = InMemoryAdapter, **changes: object
) -> type[InMemoryAdapter]:
    """An in-memory adapter that declares something else; the hub keeps the rest from it."""
    return type(name, (base,), {"capabilities": replace(base.capabilities, **changes)})


Minimal = declaring(
    "Minimal", modes=(), default_mode=None, scopes="exact", union=False, turns="no", turn_fields=frozenset(),
    fact_fields=frozenset(), atomic_facts=1, filters=FILTERS_NONE, patch=frozenset(), delete=False,
    revisions=False, invalidation=False, supersede=False, as_of=False, expiry=False, idempotency=False,
    scan=False, restore=False, stats=False, purge=False, neighbours=False, erasure="logical",
)  # fmt: skip
"""Keeps facts, lists them, and nothing else: append-only."""

Scant = declaring(
    "Scant", listing=5, atomic_facts=2, scopes="exact", union=False, filters=STRINGS, idempotency=False, as_of=False,
    fact_fields=CAPABILITIES.fact_fields - {"tags", "provenance"}, patch=frozenset({"content", "tags"}),
    turn_fields=frozenset({"role"}), neighbours=False, revisions=False, stats=False,
)  # fmt: skip
"""Some of everything."""

SearchOnly = declaring("SearchOnly", listing=0, scan=False, stats=False)
TurnsOnly = declaring("TurnsOnly", facts="no", fact_fields=frozenset())
NoPurge = declaring("NoPurge", purge=False)


class Nothing(InMemoryAdapter):
    """Takes everything and keeps nothing."""

    capabilities = replace(CAPABILITIES, persistent=False)

    async def observe(self, write: Write) -> Observed:
        return Observed(persisted=False)


class Merging(InMemoryAdapter):
    """One record a text and scope: an equal twin is the record that is there, any other Conflict."""

    capabilities = replace(CAPABILITIES, duplicates="merged", atomic_facts=1, idempotency=False)

    async def observe(self, write: Write) -> Observed:
        (new,) = new_records(write)
        twins = [slot.record for slot in self._rooms.all() if _twins(slot.record, new, write.now)]
        if not twins:
            return await super().observe(write)
        same = replace(twins[0], id=new.id, revision=new.revision, created_at=new.created_at)
        if replace(same, updated_at=new.updated_at, observed_at=new.observed_at) != new:
            raise Conflict("a record with this text is there, and differs")
        return Observed(records=(twins[0],), replayed=True)


def _twins(held: Record, new: Record, now: datetime) -> bool:
    live = held.invalid_at is None and (held.expires_at is None or held.expires_at > now)
    return live and (held.scope, held.content) == (new.scope, new.content)


class Slow(InMemoryAdapter):
    """Every observation is an operation that must be waited for."""

    capabilities = replace(CAPABILITIES, operations=True, idempotency=False)

    def __init__(self) -> None:
        super().__init__()
        self.done: dict[str, Observed] = {}

    async def observe(self, write: Write) -> Observed:
        id = f"operation-{len(self.done)}"
        self.done[id] = await super().observe(write)
        return Observed(operation=Operation(id=id))

    async def wait(self, operation_id: str, *, now: datetime) -> Observed:
        if operation_id not in self.done:
            raise NotFound(f"no operation {operation_id!r}")
        operation = Operation(id=operation_id, status="succeeded")
        return replace(self.done[operation_id], operation=operation)


class Extracting(InMemoryAdapter):
    """Makes a fact of every user's turn."""

    capabilities = replace(CAPABILITIES, turns="extracted", neighbours=False, idempotency=False)

    async def observe(self, write: Write) -> Observed:
        facts = tuple(Fact(f"The user said: {turn.content}") for turn in write.turns if turn.role == "user")
        return await super().observe(replace(write, turns=(), facts=facts) if write.turns else write)


ExtractsOnly = declaring(
    "ExtractsOnly", Extracting, facts="no", fact_fields=frozenset(), supersede=False, expiry=False
)


class Semantic(InMemoryAdapter):
    """Searches by meaning, which it takes to be the words."""

    capabilities = replace(CAPABILITIES, modes=("keyword", "semantic"), default_mode="semantic")

    async def reembed(self, progress: Progress | None = None) -> int:
        return len(list(self._rooms.all()))


class Lagging(InMemoryAdapter):
    """Eventually consistent: after a write the next two looks at the store still miss it."""

    capabilities = replace(CAPABILITIES, consistency="eventual")

    def __init__(self) -> None:
        super().__init__()
        self.looks = 0
        self.earlier = InMemoryAdapter()

    def _write(self) -> None:
        with self._lock:
            self.earlier._rooms, self.looks = copy.deepcopy(self._rooms), 2

    def _look(self) -> InMemoryAdapter:
        self.looks -= 1
        return self.earlier if self.looks >= 0 else super()  # type: ignore[return-value]

    async def recall(self, read: Read) -> Recalled:
        return await self._look().recall(read)

    async def get(self, ids: Sequence[str], *, now: datetime) -> list[Record]:
        return await self._look().get(ids, now=now)

    async def observe(self, write: Write) -> Observed:
        self._write()
        return await super().observe(write)

    async def update(self, id: str, patch: Patch, *, revision: str | None, now: datetime) -> Record:
        self._write()
        return await super().update(id, patch, revision=revision, now=now)

    async def invalidate(self, id: str, reason: str | None, *, revision: str | None, now: datetime) -> Record:
        self._write()
        return await super().invalidate(id, reason, revision=revision, now=now)

    async def delete(self, id: str, *, revision: str | None, now: datetime) -> None:
        self._write()
        await super().delete(id, revision=revision, now=now)

    async def restore(self, records: Sequence[Record], *, now: datetime) -> Restored:
        self._write()
        return await super().restore(records, now=now)

    async def purge(self, scope: Scope, *, exact: bool, now: datetime) -> int:
        self._write()
        return await super().purge(scope, exact=exact, now=now)


VARIANTS: dict[str, type[InMemoryAdapter]] = {
    "minimal": Minimal,
    "scant": Scant,
    "search only": SearchOnly,
    "turns only": TurnsOnly,
    "no purge": NoPurge,
    "keeps nothing": Nothing,
    "merges equal texts": Merging,
    "operations": Slow,
    "extracts": Extracting,
    "extracts, keeps no facts": ExtractsOnly,
    "semantic": Semantic,
    "eventual": Lagging,
}
