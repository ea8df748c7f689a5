"""The public API as a product and an adapter author see it: checked by mypy, never run."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import assert_type

from memhub import (
    FILTERS_ALL,
    Adapter,
    BoundMemory,
    Capabilities,
    Fact,
    Hit,
    Hub,
    HubError,
    InvalidInput,
    MemoryStore,
    NotFound,
    Observation,
    Observed,
    Operation,
    Page,
    Patch,
    Provenance,
    Query,
    Read,
    RecallBlock,
    Recalled,
    Record,
    Restored,
    Retry,
    Scope,
    Stats,
    TimedOut,
    Toolbox,
    Turn,
    Unavailable,
    Why,
    Write,
    migrate,
    plan_migration,
    recall_block,
)
from memhub.blocking import BlockingBoundMemory, BlockingHub, BlockingMemoryStore, BlockingToolbox
from memhub.events import Event, MemoryWritten
from memhub.export import export_lines
from memhub.filters import admits
from memhub.migration import Loss, Migrated, Plan, Progress
from memhub.search import question
from memhub.toolbox import Answer
from memhub_adapters.in_memory import InMemoryAdapter
from memhub_adapters.sqlite import SqliteAdapter
from memhub_config import open_blocking_hub, open_hub


async def product() -> None:
    async with open_hub("memhub.yaml") as hub:
        assert_type(hub, Hub)
        memory = hub["agent-memory"]
        assert_type(memory, MemoryStore)
        assert_type(hub.get("notes"), MemoryStore | None)
        await verbs(memory)


async def agent(hub: Hub, store: MemoryStore) -> None:
    memory = store.bind(Scope("player:42"), read=[Scope("team")], exact=False, readonly=True)
    assert_type(memory, BoundMemory)
    assert_type(hub.bind("player", player="42"), BoundMemory)
    assert_type(memory.scopes, tuple[Scope, ...])
    assert_type(await memory.get(["id"]), list[Record])
    block = await recall_block(memory, "tea", budget=2_000, limit=5, explain=True)
    assert_type(block, RecallBlock)
    assert_type(block.ids, tuple[str, ...])
    assert_type([entry.why for entry in block.entries], list[Why | None])
    toolbox = Toolbox(memory, provenance=Provenance(author="helper"), budget=8_000)
    answer = await toolbox.call("memory_save", {"content": "tea", "tags": ["a"]})
    assert_type(answer, Answer)
    assert_type((answer.text, answer.ok), tuple[str, bool])
    assert_type(await toolbox.call("memory_list", "{}"), Answer)


def blocking_agent(hub: BlockingHub, store: BlockingMemoryStore) -> None:
    memory = store.bind(Scope("player:42"))
    assert_type(memory, BlockingBoundMemory)
    assert_type(hub.bind("player", player="42"), BlockingBoundMemory)
    assert_type(memory.get("id"), Record)
    assert_type(BlockingToolbox(memory).call("memory_list"), Answer)
    assert_type(memory.run(lambda bound: recall_block(bound, "tea")), RecallBlock)


async def movement(source: MemoryStore, target: MemoryStore) -> None:
    def tell(progress: Progress) -> None:
        assert_type(progress.total, int | None)

    plan = await plan_migration(source, target, scope=[Scope("ann"), Scope("bob")])
    assert_type(plan, Plan)
    assert_type(plan.losses, tuple[Loss, ...])
    names: dict[str, str] = {}
    done = await migrate(source, target, progress=tell, on_moved=names.__setitem__, accept_loss=True)
    assert_type(done, Migrated)
    async for line in export_lines(target, scope=Scope("ann")):
        assert_type(line, str)


async def verbs(memory: MemoryStore) -> None:
    scope = Scope("player:42")
    fact = Fact("Prefers tea", kind="preference", tags=["drink"], attributes={"n": 1, "in": ["a", "b"]})
    said = await memory.observe(Observation(scope, facts=[fact], idempotency_key="k"))
    assert_type(said, Observed)
    assert_type(said.records, tuple[Record, ...])
    assert_type(said.operation, Operation | None)
    found = await memory.recall(Query([scope, Scope(tenant="acme")], text="tea", limit=5, explain=True))
    assert_type(found, Recalled)
    for hit in found.hits:
        assert_type(hit, Hit)
        assert_type(hit.record.observed_at, datetime)
        assert_type(hit.why, Why | None)
    record = await memory.get("id")
    assert_type(record, Record)
    assert_type(await memory.get(["id", "other"]), list[Record])
    assert_type(await memory.update("id", Patch(content="x"), revision=record.revision), Record)
    assert_type(await memory.invalidate("id", "moved"), Record)
    await memory.delete("id", revision=record.revision)
    assert_type(await memory.wait("operation", timeout=None), Observed)
    await hosts(memory, record)


async def hosts(memory: MemoryStore, record: Record) -> None:
    assert_type(await memory.scan(limit=100), Page)
    assert_type(await memory.restore([record]), Restored)
    assert_type(await memory.stats(by_scope=True), Stats)
    assert_type(await memory.purge(record.scope, exact=True), int)
    assert_type(await memory.sweep(), int)
    assert_type(memory.capabilities, Capabilities)
    assert_type(memory.capabilities.has("semantic"), bool)


def blocking() -> None:
    with open_blocking_hub({"stores": {"notes": {"in_memory": {}}}}) as hub:
        assert_type(hub, BlockingHub)
        memory = hub["notes"]
        assert_type(memory, BlockingMemoryStore)
        turns = [Turn("user", "hello", speaker="Ann", at=datetime.now(UTC))]
        assert_type(
            memory.observe(Observation(Scope("me"), turns=turns, provenance=Provenance("chat"))), Observed
        )
        assert_type(memory.recall(Query(Scope("me"))), Recalled)
        assert_type(memory.get("id"), Record)
        assert_type(memory.get(["id"]), list[Record])


def errors(error: HubError) -> None:
    assert_type(error.code, str)
    assert_type(error.retry_after, float | None)
    assert_type(error.retryable, bool)
    try:
        raise error
    except (InvalidInput, NotFound) as wrong:
        assert_type(wrong.message, str)
    except TimedOut as found:
        unavailable: Unavailable = found
        assert_type(unavailable.provider, str | None)


def watch(event: Event) -> None:
    if isinstance(event, MemoryWritten):
        assert_type(event.count, int)


class Mine(Adapter):
    """As little as an adapter may be."""

    capabilities = Capabilities(provider="mine", filters=FILTERS_ALL)

    async def observe(self, write: Write) -> Observed:
        assert_type(write.facts, tuple[Fact, ...])
        return Observed()

    async def recall(self, read: Read) -> Recalled:
        assert_type(question(read.text or "").terms, dict[str, str])
        return Recalled()

    async def get(self, ids: Sequence[str], *, now: datetime) -> list[Record]:
        return []

    async def ping(self) -> None:
        return

    async def aclose(self) -> None:
        return


async def by_hand(read: Read, record: Record) -> None:
    adapters: list[Adapter] = [Mine(), InMemoryAdapter()]
    stores = {
        str(n): MemoryStore(one, name=str(n), timeout=None, retry=Retry(attempts=1), observers=[watch])
        for n, one in enumerate(adapters)
    }
    async with Hub(stores) as hub:
        await hub["0"].ping()
    assert_type(admits(record, read), bool)
    assert issubclass(SqliteAdapter, Adapter)
