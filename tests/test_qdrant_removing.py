"""A Qdrant delete takes several requests: what is left when it is cut off, and what others may do between."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from fakes import SetClock
from memhub import Fact, MemoryStore, NotFound, Observation, Query, Record, Retry, Scope, Turn, Unavailable
from memhub_adapters.qdrant import MEMORY, QdrantAdapter
from memhub_adapters.qdrant.removing import LINGER
from memhub_adapters.standins import Server
from memhub_adapters.standins.faults import DROPPED
from memhub_adapters.standins.qdrant import Qdrant

SCOPE = Scope("player:42")


class Cut:
    """A store on a server whose deletes can be cut off."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.clock = SetClock()
        self.adapter = QdrantAdapter.remote(server.url, collection="memories")
        self.store = MemoryStore(self.adapter, retry=Retry(attempts=1), clock=self.clock)

    async def off(self, id: str) -> None:
        """A delete whose process dies right after it has emptied the point and read it back."""
        asked: list[str] = []

        def later(request: object) -> bool:
            asked.append(request.path)
            return any(path.endswith("/points/batch") for path in asked[:-2])

        self.server.faults.order(DROPPED, when=later, times=None)
        with pytest.raises(Unavailable):
            await self.store.delete(id)
        self.server.faults.clear()

    async def payloads(self) -> list[dict[str, object]]:
        return [dict(row.payload) for row in await self.adapter._engine.scroll({}, 10)]

    async def emptied(self) -> int:
        return [held["type"] for held in await self.payloads()].count("emptied")

    async def told(self, observation: Observation) -> tuple[Record, ...]:
        return (await self.store.observe(observation)).records

    async def found(self, text: str) -> list[Record]:
        return [hit.record for hit in (await self.store.recall(Query(SCOPE, text=text))).hits]


@asynccontextmanager
async def cut() -> AsyncIterator[Cut]:
    with Server(Qdrant()) as server:
        one = Cut(server)
        async with one.store:
            yield one


def facts(*texts: str, supersedes: str | None = None) -> Observation:
    return Observation(SCOPE, facts=[Fact(text, supersedes=supersedes) for text in texts])


async def finished_by_the_next(one: Cut, id: str) -> None:
    """Its words, and what it was linked with, at once; the empty point when no delete can be at it any more."""
    await one.off(id)
    assert not re.search("forget|mat", repr(await one.payloads()))
    with pytest.raises(NotFound):
        await one.store.delete(id)
    assert await one.emptied() == 1
    one.clock.now += LINGER
    with pytest.raises(NotFound):
        await one.store.delete(id)
    assert await one.emptied() == 0


def test_a_delete_that_was_cut_off_leaves_no_link() -> None:
    async def run() -> None:
        async with cut() as one:
            (old,) = await one.told(facts("the key is under the mat"))
            (new,) = await one.told(facts("the key is with Ada", supersedes=old.id))
            await finished_by_the_next(one, old.id)
            assert (await one.store.get(new.id)).supersedes is None

    asyncio.run(run())


def test_a_delete_that_was_cut_off_leaves_no_word_lent_to_the_next_turn() -> None:
    async def run() -> None:
        async with cut() as one:
            turns = [Turn("user", "forget me"), Turn("user", "and remember this")]
            first, second = await one.told(Observation(SCOPE, turns=turns))
            assert second in await one.found("forget")
            await finished_by_the_next(one, first.id)
            assert await one.found("forget") == []
            assert await one.found("remember") == [second]

    asyncio.run(run())


def test_what_a_delete_that_was_cut_off_has_emptied_can_be_restored() -> None:
    async def run() -> None:
        async with cut() as one:
            (record,) = await one.told(facts("forget me"))
            await one.off(record.id)
            assert (await one.store.restore([record])).ids == {record.id: record.id}
            assert await one.store.get(record.id) == record
            assert await one.emptied() == 0

    asyncio.run(run())


def test_a_delete_learns_that_it_was_first_though_others_come_between(monkeypatch) -> None:
    """They ask between the request that empties the point and the one that reads it back."""

    async def run() -> None:
        adapter = QdrantAdapter.embedded(MEMORY, collection="memories")
        async with MemoryStore(adapter) as store:
            record = (await store.observe(facts("forget me"))).records[0]
            write = adapter._collection.write

            async def overtaken(*ops: object) -> None:
                await write(*ops)
                monkeypatch.undo()
                with pytest.raises(NotFound):
                    await store.delete(record.id)

            monkeypatch.setattr(adapter._collection, "write", overtaken)
            await store.delete(record.id)
            assert [row.payload["type"] for row in await adapter._engine.scroll({}, 10)] == ["note"]

    asyncio.run(run())
