"""What others do between two requests of one Qdrant call: no winner takes itself for a loser, nothing stays behind."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import pytest

from memhub import (
    Conflict,
    Fact,
    MemoryStore,
    NotFound,
    Observation,
    Patch,
    Provenance,
    Query,
    Record,
    Retry,
    Scope,
    Turn,
    Unavailable,
)
from memhub_adapters.embedders.hash import HashEmbedder
from memhub_adapters.qdrant import QdrantAdapter
from memhub_adapters.qdrant.engine import Op
from memhub_adapters.qdrant.failure import QdrantFailure
from qdrant_folders import quick_folder

T = TypeVar("T")
SCOPE = Scope("player:42")
CHAT = Provenance("chat")


class Shared:
    """A store, and a place between the requests of its calls where somebody else may come."""

    def __init__(self, folder: Path) -> None:
        self.adapter = QdrantAdapter.embedded(folder, collection="memories")
        self.store = MemoryStore(self.adapter, retry=Retry(attempts=1))

    def meanwhile(
        self, request: str, others: Callable[[], Awaitable[object]], *, before: bool = False
    ) -> None:
        """Let `others` work once, after (or before) the next request of this name."""
        engine = self.adapter._engine
        asked = getattr(engine, request)

        async def overtaken(*given: object, **named: object) -> object:
            delattr(engine, request)
            if before:
                await others()
            done = await asked(*given, **named)
            if not before:
                await others()
            return done

        setattr(engine, request, overtaken)

    def cut_off(self, *, after: int) -> None:
        """From the write after so many on, none comes through."""
        write, left = self.adapter._engine.write, [None] * after

        async def counted(*ops: Op) -> None:
            if not left:
                raise QdrantFailure("WriteError", "unknown")
            left.pop()
            await write(*ops)

        self.adapter._engine.write = counted

    def restart(self) -> None:
        """Every request comes through again."""
        del self.adapter._engine.write

    async def keep(self, text: str, **more: object) -> Record:
        return (await self.store.observe(Observation(SCOPE, facts=[Fact(text, **more)]))).records[0]

    async def say(self, text: str) -> Record:
        told = Observation(SCOPE, turns=[Turn("user", text)], provenance=CHAT)
        return (await self.store.observe(told)).records[0]

    async def texts(self, **asked: object) -> list[str]:
        return [hit.record.content for hit in (await self.store.recall(Query(SCOPE, **asked))).hits]


def run(work: Callable[[Shared], Awaitable[T]]) -> T:
    async def inside() -> T:
        with quick_folder() as folder:
            shared = Shared(folder)
            async with shared.store:
                return await work(shared)

    return asyncio.run(inside())


def test_an_update_that_was_applied_is_no_conflict_though_another_follows_at_once() -> None:
    async def work(shared: Shared) -> None:
        record = await shared.keep("tea")

        async def another() -> None:
            seen = await shared.store.get(record.id)
            assert seen.content == "coffee"
            await shared.store.update(record.id, Patch(content="cocoa"), revision=seen.revision)

        shared.meanwhile("write", another)
        done = await shared.store.update(record.id, Patch(content="coffee"), revision=record.revision)
        assert done.content == "coffee"
        assert (await shared.store.get(record.id)).content == "cocoa"

    run(work)


def test_a_correction_stands_though_the_corrected_record_is_touched_at_once() -> None:
    async def work(shared: Shared) -> None:
        first = await shared.keep("tea")
        second = await shared.keep("coffee", supersedes=first.id)
        shared.meanwhile("write", lambda: shared.store.delete(first.id))
        third = await shared.keep("cocoa", supersedes=second.id)
        assert await shared.texts() == ["cocoa"]
        assert (await shared.store.get(second.id)).superseded_by == third.id

    run(work)


def test_a_correction_of_what_was_deleted_meanwhile_leaves_nothing() -> None:
    async def work(shared: Shared) -> None:
        old = await shared.keep("tea")
        shared.meanwhile("write", lambda: shared.store.delete(old.id))
        with pytest.raises(NotFound):
            await shared.keep("coffee", supersedes=old.id)
        assert await shared.texts(include_invalidated=True) == []

    run(work)


def test_of_two_restores_that_differ_one_is_conflict() -> None:
    async def work(shared: Shared) -> None:
        record = await shared.keep("tea")
        await shared.store.purge(SCOPE)
        other = replace(record, content="coffee")
        shared.meanwhile("write", lambda: shared.store.restore([other]), before=True)
        more = replace(record, id="more", content="more")
        with pytest.raises(Conflict):
            await shared.store.restore([record, more])
        assert await shared.texts() == ["coffee"]

    run(work)


def test_of_two_restores_that_are_equal_neither_is_conflict() -> None:
    async def work(shared: Shared) -> None:
        record = await shared.keep("tea")
        await shared.store.purge(SCOPE)
        shared.meanwhile("write", lambda: shared.store.restore([record]), before=True)
        await shared.store.restore([record])
        assert await shared.texts() == ["tea"]

    run(work)


def test_a_record_is_not_restored_under_the_id_of_something_else() -> None:
    async def work(shared: Shared) -> None:
        record = await shared.keep("tea")
        (note,) = [row for row in await shared.adapter._engine.scroll({}, 9) if row.payload["type"] == "note"]
        with pytest.raises(Conflict):
            await shared.store.restore([replace(record, id=note.id)])

    run(work)


def test_a_key_is_new_where_its_records_were_restored_without_it() -> None:
    async def work(shared: Shared) -> None:
        def told(text: str) -> Observation:
            return Observation(SCOPE, facts=[Fact(text)], idempotency_key="k")

        (tea,) = (await shared.store.observe(told("tea"))).records
        await shared.store.purge(SCOPE)
        await shared.store.restore([tea])
        (coffee,) = (await shared.store.observe(told("coffee"))).records
        assert await shared.store.get([tea.id, coffee.id]) == [tea, coffee]
        assert (await shared.store.observe(told("coffee"))).records == (coffee,)

    run(work)


@pytest.mark.parametrize("gone", ["deleted", "purged", "invalidated", "changed"])
def test_a_turn_answers_to_no_word_that_left_while_it_came(gone: str) -> None:
    async def work(shared: Shared) -> None:
        first = await shared.say("the combination is 4711")

        async def others() -> None:
            if gone == "deleted":
                await shared.store.delete(first.id)
            elif gone == "purged":
                await shared.store.purge(SCOPE)
            elif gone == "invalidated":
                await shared.store.invalidate(first.id)
            else:
                await shared.store.update(first.id, Patch(content="never mind"))

        shared.meanwhile("write", others, before=True)
        await shared.say("thank you")
        assert await shared.texts(text="combination") == []
        assert await shared.texts(text="thank") == ["thank you"]

    run(work)


def test_a_listing_that_is_purged_while_it_is_read_ends() -> None:
    async def work(shared: Shared) -> None:
        for n in range(3):
            await shared.keep(f"memory {n}")
        shared.meanwhile("scroll", lambda: shared.store.purge(SCOPE))
        found = await shared.store.recall(Query(SCOPE, limit=1))
        assert [hit.record.content for hit in found.hits] == ["memory 2"]

    run(work)


def test_a_listing_shows_what_is_left_when_a_tie_goes_while_it_is_read() -> None:
    async def work(shared: Shared) -> None:
        await shared.keep("the oldest")
        tied = [Fact(f"tied {n}") for n in range(9)]
        records = (await shared.store.observe(Observation(SCOPE, facts=tied))).records

        async def others() -> None:
            for record in records:
                await shared.store.delete(record.id)

        shared.meanwhile("scroll", others)
        assert await shared.texts(limit=2) == ["the oldest"]

    run(work)


@pytest.mark.parametrize("written", [0, 1])
def test_a_correction_that_is_taken_back_and_cut_off_leaves_one_of_the_two(written: int) -> None:
    async def work(shared: Shared) -> None:
        tea, bread = await shared.keep("tea"), await shared.keep("bread")

        async def others() -> None:
            await shared.keep("cocoa", supersedes=tea.id)
            shared.cut_off(after=written)

        shared.meanwhile("write", others, before=True)
        both = [Fact("coffee", supersedes=tea.id), Fact("cake", supersedes=bread.id)]
        with pytest.raises(Unavailable):
            await shared.store.observe(Observation(SCOPE, facts=both))
        assert {"bread", "cake"} & set(await shared.texts())

    run(work)


def test_an_invalidation_that_is_repeated_takes_back_what_the_turn_had_lent() -> None:
    async def work(shared: Shared) -> None:
        first, _ = await shared.say("the combination is 4711"), await shared.say("thank you")
        shared.cut_off(after=1)
        with pytest.raises(Unavailable):
            await shared.store.invalidate(first.id)
        shared.restart()
        await shared.store.invalidate(first.id)
        assert await shared.texts(text="combination") == []

    run(work)


def test_a_correction_that_is_repeated_takes_back_what_the_turn_had_lent() -> None:
    async def work(shared: Shared) -> None:
        first, _ = await shared.say("the combination is 4711"), await shared.say("thank you")
        corrected = Observation(SCOPE, facts=[Fact("none", supersedes=first.id)], idempotency_key="k")
        shared.cut_off(after=1)
        with pytest.raises(Unavailable):
            await shared.store.observe(corrected)
        shared.restart()
        assert (await shared.store.observe(corrected)).replayed
        assert await shared.texts(text="combination") == []

    run(work)


def test_a_write_that_outlives_its_store_opens_no_folder_again() -> None:
    async def work(shared: Shared) -> None:
        await shared.keep("tea")
        await shared.store.aclose()
        with pytest.raises(QdrantFailure, match="AfterClosing"):
            await shared.adapter._engine.count({})

    run(work)


def test_what_is_written_while_embedding_anew_ends_is_embedded_too() -> None:
    async def run(folder: Path) -> None:
        one, other = (
            QdrantAdapter.embedded(folder, collection="memories", embedder=HashEmbedder(size))
            for size in (16, 24)
        )
        async with MemoryStore(one) as earlier, MemoryStore(other) as later:
            await earlier.observe(Observation(SCOPE, facts=[Fact("jasmine tea")]))
            drop = other._engine.drop_vector

            async def overtaken(name: str) -> None:
                await earlier.observe(Observation(SCOPE, facts=[Fact("black coffee")]))
                await drop(name)

            other._engine.drop_vector = overtaken
            assert await later.reembed() == 2
            found = await later.recall(Query(SCOPE, text="black coffee", mode="semantic"))
            assert [hit.record.content for hit in found.hits] == ["black coffee", "jasmine tea"]
            with pytest.raises(Unavailable):
                await earlier.observe(Observation(SCOPE, facts=[Fact("green tea")]))

    with quick_folder() as folder:
        asyncio.run(run(folder))
