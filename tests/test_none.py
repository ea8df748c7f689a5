"""No memory, on purpose: every call is answered, and nothing stays."""

import asyncio
from datetime import UTC, datetime

import pytest

from memhub import (
    Fact,
    InvalidConfig,
    MemoryStore,
    NotFound,
    Observation,
    Patch,
    Query,
    Scope,
    Turn,
    Unsupported,
)
from memhub.interchange import record_from_json
from memhub_adapters.none import NoneAdapter
from memhub_config import open_hub

SCOPE = Scope("player:42")
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def on_none(work):
    async def run():
        async with MemoryStore(NoneAdapter()) as store:
            return await work(store)

    return asyncio.run(run())


@pytest.mark.parametrize(
    "said",
    [
        Observation(SCOPE, facts=[Fact("tea", kind="preference", tags=["a"], expires_at=NOON)]),
        Observation(SCOPE, facts=[Fact("tea")] * 1_000, observed_at=NOON, idempotency_key="k"),
        Observation(Scope(tenant="acme"), turns=[Turn("user", "tea", speaker="ann", at=NOON)]),
    ],
)
def test_every_observation_is_taken_and_none_is_kept(said):
    async def work(store):
        done = [await store.observe(said) for _ in range(2)]
        return done, await store.recall(Query(said.scope)), await store.recall(Query(said.scope, text="tea"))

    done, listed, found = on_none(work)
    assert [(one.persisted, one.records, one.operation, one.replayed) for one in done] == [
        (False, (), None, False)
    ] * 2
    assert listed.hits == found.hits == ()


@pytest.mark.parametrize(
    "call",
    [
        lambda store: store.get("a"),
        lambda store: store.update("a", Patch(content="b"), revision="r"),
        lambda store: store.invalidate("a", "why"),
        lambda store: store.delete("a"),
        lambda store: store.observe(Observation(SCOPE, facts=[Fact("b", supersedes="a")])),
    ],
)
def test_there_is_never_a_record(call):
    with pytest.raises(NotFound, match="'a'"):
        on_none(call)


def test_a_host_finds_it_empty():
    async def work(store):
        stats = await store.stats(by_scope=True)
        return (
            stats.live,
            stats.scopes,
            (await store.scan()).records,
            await store.purge(SCOPE),
            await store.sweep(),
        )

    assert on_none(work) == (0, (), (), 0, 0)


def test_complete_records_are_refused_rather_than_lost():
    times = dict.fromkeys(("created_at", "updated_at", "observed_at"), "2026-03-01T12:00:00Z")
    record = record_from_json(
        {"id": "a", "scope": "s", "kind": "fact", "content": "tea", "revision": "r", **times}
    )
    with pytest.raises(Unsupported, match="it keeps nothing, so nothing can be restored"):
        on_none(lambda store: store.restore([record]))


def test_a_configuration_names_it_and_can_rule_it_out():
    async def kept(section):
        async with open_hub({"stores": {"a": section}}, environ={}) as hub:
            return (await hub["a"].observe(Observation(SCOPE, facts=[Fact("tea")]))).persisted

    assert asyncio.run(kept({"none": {}})) is False
    with pytest.raises(InvalidConfig, match="none has no persistent: it keeps nothing, as configured"):
        asyncio.run(kept({"none": {}, "requires": ["persistent"]}))
