"""Moving to Mem0 and back, and the kit on a store in use, from the command line."""

import asyncio
import json
from pathlib import Path

import pytest

from command import Command
from mem0_stores import KEY, ME, YOU, http, kept, listed
from memhub import Fact, MemoryStore, Observation, Query, migrate
from memhub_adapters.in_memory import InMemoryAdapter
from memhub_adapters.mem0 import self_hosted
from memhub_adapters.standins import Server
from memhub_adapters.standins.mem0_self_hosted import SelfHostedMem0


async def filled(store: MemoryStore) -> None:
    """A chain, an invalidated record, fields of every kind, two scopes."""
    [old, gone] = await kept(store, "Lives in Rome", "Was in a hurry")
    await store.observe(Observation(ME, facts=[Fact("Lives in Porto", supersedes=old.id, tags=["home"])]))
    await store.invalidate(gone.id, "over")
    fact = Fact("Is Ann", kind="profile", attributes={"n": 1, "l": ["a", 2.5]}, payload={"k": [None]})
    await store.observe(Observation(YOU, facts=[fact]))


async def shown(store: MemoryStore) -> list[object]:
    """Everything but ids, revisions and what they link."""
    found = []
    for scope in (ME, YOU):
        for hit in (await store.recall(Query(scope, include_invalidated=True, limit=100))).hits:
            one = hit.record
            linked = (one.supersedes is not None, one.superseded_by is not None)
            found.append((one.content, one.kind, one.tags, dict(one.attributes), one.payload, linked))
            found.append(
                (one.created_at, one.updated_at, one.observed_at, one.invalid_at, one.invalid_reason)
            )
    return found


def test_memories_move_to_mem0_and_back_with_their_history(tmp_path: Path) -> None:
    async def moved() -> None:
        async with (
            MemoryStore(InMemoryAdapter(), name="first") as first,
            MemoryStore(self_hosted(http(server), KEY), name="cloud") as cloud,
            MemoryStore(InMemoryAdapter(), name="last") as last,
        ):
            await filled(first)
            for source, target in ((first, cloud), (first, cloud), (cloud, last)):
                await migrate(source, target, checkpoint=tmp_path / f"{source.name}-{target.name}.db")
            assert await shown(first) == await shown(cloud) == await shown(last)
            chain = (await cloud.recall(Query(ME, text="Lives in Porto", limit=1))).hits[0].record
            assert (await cloud.get(chain.supersedes)).superseded_by == chain.id
            assert await listed(cloud) == ["Lives in Porto"]

    with Server(SelfHostedMem0(KEY)) as server:
        asyncio.run(moved())


def test_the_kit_runs_on_a_store_in_use_and_leaves_it_as_it_was(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    memhub = Command(tmp_path, capsys, monkeypatch)
    mem0 = SelfHostedMem0(KEY)
    with Server(mem0) as server:
        mem0.rows.add("of a stranger", {"user_id": "alice"}, {}, None)
        monkeypatch.setenv("MEM0_KEY", KEY)
        memhub.configure(
            "stores:\n  cloud:\n    mem0:\n      flavor: self_hosted\n"
            f"      endpoint: {server.url}\n      api_key: ${{MEM0_KEY}}\n"
        )
        assert memhub("check").code == 0
        ended = memhub("conformance", "cloud", "--json")
        report = json.loads(ended.out)
        assert (ended.code, report["ok"], report["failed"], report["left"]) == (0, True, [], [])
        assert len(report["passed"]) > 150
        assert KEY not in ended.out + ended.err
    assert [row.text for row in mem0.rows.all.values()] == ["of a stranger"]
