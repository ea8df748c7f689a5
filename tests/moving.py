"""What the tests of migration share: a lively source, and targets that behave in some way of their own."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from fakes import SetClock
from memhub import (
    Conflict,
    Fact,
    MemoryStore,
    Observation,
    Observed,
    Operation,
    Page,
    Provenance,
    Record,
    Restored,
    Scope,
    Turn,
    Write,
)
from memhub.changes import new_records
from memhub_adapters.in_memory import InMemoryAdapter

ANN, BOB = Scope(tenant="acme", user="ann"), Scope("bob")
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


class Renaming(InMemoryAdapter):
    """Gives every restored record an id of its own, and links those that come together."""

    async def restore(self, records: Sequence[Record], *, now: datetime) -> Restored:
        names = {record.id: f"here:{record.id}" for record in records}
        await super().restore([renamed(record, names) for record in records], now=now)
        return Restored(names)


def renamed(record: Record, names: dict[str, str]) -> Record:
    links = {
        name: names.get(getattr(record, name), getattr(record, name))
        for name in ("supersedes", "superseded_by")
    }
    return replace(record, id=names[record.id], **links)


def lacking(base: type[InMemoryAdapter] = InMemoryAdapter, **changes: object) -> type[InMemoryAdapter]:
    """An adapter that declares less than it could do."""
    return type(f"Lesser{base.__name__}", (base,), {"capabilities": replace(base.capabilities, **changes)})


class Slow(InMemoryAdapter):
    """Every observation is an operation that must be waited for."""

    capabilities = replace(InMemoryAdapter.capabilities, operations=True, restore=False, idempotency=False)

    def __init__(self) -> None:
        super().__init__()
        self.done: dict[str, Observed] = {}

    async def observe(self, write: Write) -> Observed:
        operation = Operation(id=f"operation-{len(self.done)}")
        self.done[operation.id] = await super().observe(write)
        return Observed(operation=operation)

    async def wait(self, operation_id: str, *, now: datetime) -> Observed:
        return self.done[operation_id]


class Merging(InMemoryAdapter):
    """Holds each text of a scope once: an equal record is the one that is there, any other Conflict."""

    capabilities = replace(
        InMemoryAdapter.capabilities, duplicates="merged", atomic_facts=1, idempotency=False, turns="no"
    )

    async def observe(self, write: Write) -> Observed:
        (new,) = new_records(write)
        twin = await self._twin(new, write.now)
        if twin is None:
            return await super().observe(write)
        if (twin.tags, twin.provenance) != (new.tags, new.provenance):
            raise Conflict("a record with this text is there, and differs")
        return Observed(records=(twin,), replayed=True)

    async def restore(self, records: Sequence[Record], *, now: datetime) -> Restored:
        texts = {(record.scope, record.content) for record in records}
        twins = [
            twin for record in records if (twin := await self._twin(record, now)) and twin.id != record.id
        ]
        if twins or len(texts) < len(records):
            raise Conflict("its scope holds this very text")
        return await super().restore(records, now=now)

    async def _twin(self, new: Record, now: datetime) -> Record | None:
        for record in (await self.scan(None, 1000, now=now)).records:
            if (record.scope, record.content) == (new.scope, new.content):
                return record
        return None


class Lagging(InMemoryAdapter):
    """Eventually consistent: the first looks after a write show nothing of the store."""

    capabilities = replace(InMemoryAdapter.capabilities, consistency="eventual")
    looks = 0

    async def restore(self, records: Sequence[Record], *, now: datetime) -> Restored:
        self.looks = 3
        return await super().restore(records, now=now)

    async def get(self, ids: Sequence[str], *, now: datetime) -> list[Record]:
        self.looks -= 1
        return [] if self.looks >= 0 else await super().get(ids, now=now)


class Watched(InMemoryAdapter):
    """Calls `meanwhile` with the number of each page of a scan, before it is read."""

    def __init__(self, meanwhile: Callable[[int], Awaitable[object]]) -> None:
        super().__init__()
        self.meanwhile = meanwhile
        self.scans = 0

    async def scan(self, cursor: str | None, limit: int, *, now: datetime) -> Page:
        self.scans += 1
        await self.meanwhile(self.scans)
        return await super().scan(cursor, limit, now=now)


async def fill(store: MemoryStore, clock: SetClock) -> None:
    """A store with something of everything: every field, a chain of three, history, expiry, turns."""
    fact = Fact(
        "Prefers tea", kind="preference", tags=["a", "b"], attributes={"n": 1, "of": ["x", True]},
        target="npc:1", payload={"deep": [1, None]}, supports=["s"], expires_at=NOON + timedelta(days=900),
    )  # fmt: skip
    await store.observe(
        Observation(ANN, facts=[fact], observed_at=NOON, provenance=Provenance("c", "r", "ann"))
    )
    chat = [Turn("user", "Which pistachio?", speaker="Bob", at=NOON), Turn("assistant", "The green one")]
    await store.observe(Observation(BOB, turns=chat))
    await store.observe(Observation(BOB, turns=chat, provenance=Provenance("chat")))
    head = None
    for n in range(3):
        clock.advance(hours=1)
        head = (
            (await store.observe(Observation(BOB, facts=[Fact(f"Lives at {n}", supersedes=head)])))
            .records[0]
            .id
        )
    (wrong,) = (await store.observe(Observation(BOB, facts=[Fact("Is tall")]))).records
    await store.invalidate(wrong.id, "is not")
    await store.observe(
        Observation(BOB, facts=[Fact("Is here now", expires_at=clock() + timedelta(minutes=1))])
    )
    clock.advance(hours=1)
    await store.observe(Observation(ANN, facts=[Fact("The last word"), Fact("The last word")]))


async def everything(store: MemoryStore) -> list[Record]:
    """All that a store holds, in the order written."""
    records, cursor = [], None
    while True:
        page = await store.scan(cursor)
        records += page.records
        cursor = page.cursor
        if cursor is None:
            return records


def on_two(work, source=None, target=None):
    """Run `work(source, target, clock)` on two stores, the first filled."""

    async def run():
        clock = SetClock()
        first = MemoryStore(source or InMemoryAdapter(), name="old", clock=clock)
        second = MemoryStore(target or InMemoryAdapter(), name="new", clock=clock)
        async with first, second:
            await fill(first, clock)
            return await work(first, second, clock)

    return asyncio.run(run())
