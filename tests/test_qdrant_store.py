"""The collection of a Qdrant store: made on demand, refused, embedded anew, kept by one process, never half-written."""

import asyncio
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from qdrant_client import QdrantClient, models

from memhub import (
    Conflict,
    Fact,
    MemoryStore,
    NotFound,
    Observation,
    Patch,
    Provenance,
    Query,
    Scope,
    Turn,
    Unavailable,
)
from memhub_adapters.qdrant import MEMORY, QdrantAdapter
from memhub_adapters.qdrant.engine import Point, Put
from memhub_adapters.standins import Server
from memhub_adapters.standins.qdrant import Qdrant
from qdrant_folders import quick_folder
from qdrant_stores import SCOPE, adapter, facts, refused, store, texts


@pytest.fixture
def folder() -> Path:
    with quick_folder() as place:
        yield place


def test_a_store_in_memory_leaves_nothing() -> None:
    async def run() -> Path:
        one = QdrantAdapter.embedded(MEMORY, collection="memories")
        async with MemoryStore(one) as opened:
            await opened.observe(facts("jasmine tea"))
            assert await texts(opened) == ["jasmine tea"]
            return one._engine._folder

    assert not asyncio.run(run()).exists()


def test_a_collection_of_another_program_is_refused_and_left_alone() -> None:
    with Server(Qdrant()) as server:
        plain = QdrantClient(url=server.url, check_compatibility=False)
        plain.create_collection(
            "memories", vectors_config=models.VectorParams(size=4, distance=models.Distance.COSINE)
        )
        one = QdrantAdapter.remote(server.url, collection="memories")
        assert "not Memhub's" in asyncio.run(refused(one))
        assert plain.count("memories").count == 0
        plain.close()


def test_a_point_of_another_program_in_our_collection_is_no_record(folder: Path) -> None:
    async def run() -> None:
        one = adapter(folder)
        async with MemoryStore(one) as opened:
            await opened.observe(facts("jasmine tea"))
            theirs = "00000000-0000-0000-0000-000000000001"
            await one._engine.write(
                Put(points=[Point(theirs, {"text": "theirs", "labels": ['"player:42"']})])
            )
            assert await texts(opened) == ["jasmine tea"]
            assert (await opened.stats()).live == 1
            assert len((await opened.scan()).records) == 1
            with pytest.raises(NotFound):
                await opened.get(theirs)
            with pytest.raises(NotFound):
                await opened.delete(theirs)

    asyncio.run(run())


@pytest.mark.parametrize("version", ["1.19.3", "0.11.0"])
def test_a_server_that_is_too_old_is_refused(version: str) -> None:
    with Server(Qdrant(version=version)) as server:
        told = asyncio.run(refused(QdrantAdapter.remote(server.url, collection="memories")))
        assert f"Qdrant {version}" in told
        assert "1.20 or newer" in told


def test_one_process_keeps_an_embedded_collection(folder: Path) -> None:
    child = (
        "import asyncio, sys\n"
        "from memhub_adapters.qdrant import QdrantAdapter\n"
        "async def main():\n"
        "    await QdrantAdapter.embedded(sys.argv[1], collection='memories').open()\n"
        "    print('open', flush=True)\n"
        "    sys.stdin.read()\n"
        "asyncio.run(main())\n"
    )
    command = [sys.executable, "-c", child, folder]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout.readline() == "open\n"

        async def run() -> None:
            one = adapter(folder)
            with pytest.raises(Unavailable, match="another process") as caught:
                await one.open()
            assert not caught.value.retryable
            await one.aclose()

        asyncio.run(run())
        other.stdin.close()
    asyncio.run(ready(folder))


async def ready(folder: Path) -> None:
    async with store(folder) as opened:
        assert await texts(opened) == []


def test_what_was_told_survives_a_kill(folder: Path) -> None:
    child = (
        "import asyncio, os, signal, sys\n"
        "from memhub import Fact, MemoryStore, Observation, Scope\n"
        "from memhub_adapters.qdrant import QdrantAdapter\n"
        "async def main():\n"
        "    store = MemoryStore(QdrantAdapter.embedded(sys.argv[1], collection='memories'))\n"
        "    for n in range(20):\n"
        "        await store.observe(Observation(Scope('player:42'), facts=[Fact(f'memory {n}')]))\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "asyncio.run(main())\n"
    )
    assert subprocess.run([sys.executable, "-c", child, folder], check=False).returncode == -9

    async def run() -> None:
        async with store(folder) as opened:
            assert sorted(await texts(opened)) == sorted(f"memory {n}" for n in range(20))

    asyncio.run(run())


def test_a_cancelled_change_is_carried_through(folder: Path) -> None:
    """However early a correction is cancelled: the old one is superseded and the new one there, or neither."""

    async def run() -> None:
        async with store(folder) as opened:
            for moment in range(12):
                scope = Scope(f"moment {moment}")
                old = (await opened.observe(Observation(scope, facts=[Fact("tea")]))).records[0]
                fact = Fact("coffee", supersedes=old.id)
                task = asyncio.create_task(opened.observe(Observation(scope, facts=[fact])))
                for _ in range(moment):
                    await asyncio.sleep(0)
                task.cancel()
                await asyncio.wait([task])
                await asyncio.wait(
                    opened._adapter._underway._tasks or {asyncio.ensure_future(asyncio.sleep(0))}
                )
                found = [hit.record.content for hit in (await opened.recall(Query(scope))).hits]
                assert found in (["tea"], ["coffee"]), moment

    asyncio.run(run())


def test_a_write_that_lost_its_race_is_taken_back(folder: Path) -> None:
    """Two adapters correct one record, the second between the first one's reading and writing."""

    async def run() -> None:
        one, two = adapter(folder), adapter(folder)
        async with MemoryStore(one) as first, MemoryStore(two) as second:
            old = (await first.observe(facts("tea"))).records[0]
            write, raced = one._collection.write, []

            async def overtaken(*ops: object) -> None:
                if not raced:
                    raced.append(True)
                    await second.observe(Observation(SCOPE, facts=[Fact("coffee", supersedes=old.id)]))
                await write(*ops)

            one._collection.write = overtaken
            with pytest.raises(Conflict, match="already superseded"):
                await first.observe(Observation(SCOPE, facts=[Fact("cocoa", supersedes=old.id)]))
            assert await texts(first, include_invalidated=True) == ["coffee", "tea"]

    asyncio.run(run())


def test_an_update_overtaken_by_another_is_made_on_top_of_it(folder: Path) -> None:
    async def run() -> None:
        one, two = adapter(folder), adapter(folder)
        async with MemoryStore(one) as first, MemoryStore(two) as second:
            record = (await first.observe(facts("tea"))).records[0]
            write, raced = one._collection.write, []

            async def overtaken(*ops: object) -> None:
                if not raced:
                    raced.append(True)
                    await second.update(record.id, Patch(set_attributes={"n": 1}))
                await write(*ops)

            one._collection.write = overtaken
            changed = await first.update(record.id, Patch(content="coffee"))
            assert (changed.content, changed.attributes) == ("coffee", {"n": 1})
            assert await first.get(record.id) == changed

    asyncio.run(run())


def test_turns_stay_linked_however_they_are_deleted(folder: Path) -> None:
    async def run() -> None:
        async with store(folder) as opened:
            said = [Turn("user", text) for text in ("zebra", "one", "two", "three")]
            records = (
                await opened.observe(Observation(SCOPE, turns=said, provenance=Provenance("chat")))
            ).records
            for gone, found in ((1, ["zebra", "two"]), (2, ["zebra", "three"]), (3, ["zebra"]), (0, [])):
                await opened.delete(records[gone].id)
                assert await texts(opened, text="zebra") == found
            await opened.observe(
                Observation(SCOPE, turns=[Turn("user", "okapi")], provenance=Provenance("chat"))
            )
            assert await texts(opened, text="okapi") == ["okapi"]

    asyncio.run(run())


def test_two_stores_share_one_embedder_and_one_folder(folder: Path) -> None:
    from memhub_config import open_hub

    section = {"qdrant": {"path": str(folder), "embedder": "h"}}
    config = {"embedders": {"h": {"hash": {"dimensions": 32}}}, "stores": {"a": section, "b": section}}

    async def run() -> None:
        async with open_hub(config) as hub:
            await hub["a"].observe(facts("jasmine tea"))
            assert await texts(hub["b"], text="tea") == ["jasmine tea"]
            assert hub["a"]._adapter._collection.embedder is hub["b"]._adapter._collection.embedder

    asyncio.run(run())


def test_stats_tell_what_the_folder_takes(folder: Path) -> None:
    async def run() -> None:
        async with store(folder) as opened:
            await opened.observe(facts("jasmine tea"))
            assert (await opened.stats()).bytes > 0
            assert (await opened.stats(SCOPE)).bytes is None
            assert (await opened.stats(by_scope=True)).scopes[0].scope == SCOPE

    asyncio.run(run())


def test_an_embedded_store_needs_no_client(folder: Path) -> None:
    code = (
        "import asyncio, sys\n"
        "from memhub_adapters.qdrant import QdrantAdapter\n"
        "async def main():\n"
        "    one = QdrantAdapter.embedded(sys.argv[1], collection='m')\n"
        "    await one.open()\n"
        "    await one.aclose()\n"
        "asyncio.run(main())\n"
        "assert not {'qdrant_client', 'grpc', 'numpy', 'pydantic', 'httpx'} & set(sys.modules)\n"
    )
    assert subprocess.run([sys.executable, "-c", code, folder], check=False).returncode == 0


def test_times_far_away_are_kept_and_filtered(folder: Path) -> None:
    far = [datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)]

    async def run() -> None:
        async with store(folder) as opened:
            for n, moment in enumerate(far):
                await opened.observe(facts(f"memory {n}", observed_at=moment))
            assert await texts(opened) == ["memory 1", "memory 0"]
            assert await texts(opened, until=far[1]) == ["memory 0"]
            assert await texts(opened, since=far[1]) == ["memory 1"]

    asyncio.run(run())
