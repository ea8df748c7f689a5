"""A migration that is killed goes on where it was: nothing twice, nothing missing."""

import asyncio
import random
import sqlite3
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from children import Child
from fakes import SetClock
from memhub import (
    Conflict,
    Fact,
    InvalidInput,
    MemoryStore,
    Observation,
    Patch,
    Query,
    Unavailable,
    Unsupported,
)
from memhub.migration import checkpoint, migrate, sources
from memhub_adapters.in_memory import InMemoryAdapter
from memhub_adapters.sqlite import SqliteAdapter
from moving import ANN, BOB, everything, fill, lacking, on_two

CHILD = Path(__file__).with_name("moving_child.py")


def stored(path):
    async def read():
        async with MemoryStore(SqliteAdapter(path)) as store:
            return await everything(store)

    return asyncio.run(read())


@pytest.fixture
def source(tmp_path):
    """A file with some of everything, and many equal texts."""

    async def write():
        clock = SetClock()
        async with MemoryStore(SqliteAdapter(tmp_path / "old.db"), clock=clock) as store:
            await fill(store, clock)
            for n in range(12):
                await store.observe(Observation(BOB, facts=[Fact(f"Number {n % 5}")] * 2))
                clock.advance(seconds=1)
            await store.observe(Observation(ANN, facts=[Fact("Later", expires_at=clock() + timedelta(9999))]))

    asyncio.run(write())
    return tmp_path / "old.db"


def killed_until_done(tmp_path, kind, seed):
    """Start the migration, kill it after a few steps, and again, until one comes to its end; the kills."""
    steps = random.Random(seed)
    files = [tmp_path / name for name in ("new.db", "notes.db")]
    kills = Counter()
    while True:
        with Child(kind, tmp_path / "old.db", *files, program=CHILD) as child:
            place = child.hear()
            for _ in range(steps.randint(3, 15)):
                if "done" not in place:
                    child.go()
                    place = child.hear()
            if "done" in place:
                return kills, place["done"], place["names"]
            kills[place["at"]] += 1
            child.process.kill()


def test_killed_while_restoring(source, tmp_path):
    before = stored(source)
    kills, moved, names = killed_until_done(tmp_path, "restore", seed=1)
    assert len(kills) >= 2
    assert stored(source) == before
    assert sorted(stored(tmp_path / "new.db"), key=lambda one: one.id) == sorted(
        before, key=lambda one: one.id
    )
    assert moved == len(before)
    assert names == {record.id: record.id for record in before}
    assert not (tmp_path / "notes.db").exists()


@pytest.mark.parametrize(("kind", "seed"), [("observe", 2), ("keyed", 3)])
def test_killed_while_observing(source, tmp_path, kind, seed):
    before = {record.id: record for record in stored(source)}
    kills, moved, names = killed_until_done(tmp_path, kind, seed)
    assert len(kills) >= 2
    live = [one for one in before.values() if one.invalid_at is None and one.content != "Is here now"]
    here = {record.id: record for record in stored(tmp_path / "new.db")}
    assert len(here) == moved == len(live)
    assert set(names.values()) == set(here)
    assert {id: here[name].content for id, name in names.items()} == {one.id: one.content for one in live}


def test_a_failure_leaves_the_checkpoint_and_a_repeat_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "PAGE", 2)

    class Failing(InMemoryAdapter):
        def __init__(self):
            super().__init__()
            self.calls, self.seen = 0, []

        async def restore(self, records, *, now):
            self.calls += 1
            if self.calls == 3:
                raise Unavailable("the line is down")
            self.seen += [record.id for record in records]
            return await super().restore(records, now=now)

    async def work(source, target, clock):
        path = tmp_path / "deep" / "notes.db"
        with pytest.raises(Unavailable, match="the line is down"):
            await migrate(source, target, checkpoint=path, clock=clock)
        assert path.exists()
        await migrate(source, target, checkpoint=path, clock=clock)
        assert not path.exists()
        assert await everything(target) == await everything(source)
        return target._adapter.seen

    seen = on_two(work, target=Failing())
    assert len(seen) == len(set(seen)), "what was noted was written again"


async def change_all(source):
    """Update, delete or purge every record, as it comes."""
    await source.purge(BOB)
    for number, record in enumerate((await source.scan()).records):
        if record.invalid_at is not None or number % 2:
            await source.delete(record.id)
        else:
            await source.update(record.id, Patch(content=f"Changed {number}"))


@pytest.mark.parametrize(("at", "page"), [(1, 500), (1, 3), (2, 3), (3, 3)])
def test_what_was_written_and_never_noted_follows_the_source(tmp_path, monkeypatch, at, page):
    """The target wrote, and its answer was lost; until the next run the source has changed."""
    monkeypatch.setattr(sources, "PAGE", page)

    class Answerless(InMemoryAdapter):
        calls = 0

        async def restore(self, records, *, now):
            done = await super().restore(records, now=now)
            self.calls += 1
            if self.calls == at:
                raise Unavailable("the line is down")
            return done

    async def work(source, target, clock):
        path = tmp_path / "notes.db"
        with pytest.raises(Unavailable, match="the line is down"):
            await migrate(source, target, checkpoint=path, clock=clock)
        assert await everything(target) != []
        await change_all(source)
        await migrate(source, target, checkpoint=path, clock=clock)
        assert await everything(target) == await everything(source)

    on_two(work, target=Answerless())


def test_another_version_in_the_target_stays_when_an_interrupted_run_goes_on(tmp_path):
    async def work(source, target, clock):
        path = tmp_path / "notes.db"
        record = (await source.scan()).records[0]
        mine = replace(record, content="Mine", revision="mine")
        await target.restore([mine])
        for _ in range(2):
            with pytest.raises(Conflict, match="is held already and differs"):
                await migrate(source, target, checkpoint=path, clock=clock)
            await source.delete(record.id)
            await source.restore([replace(record, content="Other", revision="other")])
        assert [one.content for one in await everything(target)] == ["Mine"]

    on_two(work, target=InMemoryAdapter())


def test_what_was_read_before_an_interruption_is_read_again(tmp_path):
    """The last pass had found nothing new, then the comparison broke off."""

    class Broken(InMemoryAdapter):
        broken = False

        async def get(self, ids, *, now):
            if self.broken:
                raise Unavailable("the line is down")
            return await super().get(ids, now=now)

    async def work(source, target, clock):
        path, adapter = tmp_path / "notes.db", target._adapter
        adapter.broken = True
        with pytest.raises(Unavailable, match="the line is down"):
            await migrate(source, target, checkpoint=path, clock=clock)
        adapter.broken = False
        await source.delete((await source.scan()).records[0].id)
        await migrate(source, target, checkpoint=path, clock=clock)
        assert await everything(target) == await everything(source)

    on_two(work, target=Broken())


def test_a_cancelled_migration_can_go_on(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "PAGE", 3)

    class Stuck(InMemoryAdapter):
        def __init__(self):
            super().__init__()
            self.calls, self.reached = 0, asyncio.Event()

        async def restore(self, records, *, now):
            self.calls += 1
            if self.calls == 3:
                self.reached.set()
                await asyncio.Event().wait()
            return await super().restore(records, now=now)

    async def work(source, target, clock):
        path = tmp_path / "notes.db"
        task = asyncio.create_task(migrate(source, target, checkpoint=path, clock=clock))
        await target._adapter.reached.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert path.exists()
        await migrate(source, target, checkpoint=path, clock=clock)
        assert await everything(target) == await everything(source)

    on_two(work, target=Stuck())


def test_a_target_that_cannot_tell_a_repeat_is_not_written_to_twice(tmp_path, monkeypatch):
    """Interrupted between a write and its note, on a target that neither lists nor knows keys."""

    class Interrupted(lacking(restore=False, idempotency=False, listing=0)):
        interrupted = False

        async def observe(self, write):
            done = await super().observe(write)
            if not self.interrupted:
                self.interrupted = True
                raise Unavailable("the answer was lost")
            return done

    async def work(source, target, clock):
        arguments = {"accept_loss": True, "checkpoint": tmp_path / "notes.db", "clock": clock}
        with pytest.raises(Unavailable, match="the answer was lost"):
            await migrate(source, target, **arguments)
        with pytest.raises(
            Unsupported, match=r"cannot tell whether record .* was written before the interruption"
        ):
            await migrate(source, target, **arguments)

    on_two(work, target=Interrupted())


def test_a_checkpoint_of_another_migration_is_refused(tmp_path):
    path = tmp_path / "notes.db"

    async def work(source, target, clock):
        with pytest.raises(Unavailable):
            await migrate(source, target, scope=BOB, checkpoint=path, clock=clock)
        for scope in (ANN, None):
            with pytest.raises(InvalidInput, match="belongs to another migration; name another file"):
                await migrate(source, target, scope=scope, checkpoint=path, clock=clock)

    class Down(InMemoryAdapter):
        async def restore(self, records, *, now):
            raise Unavailable("the line is down")

    on_two(work, target=Down())


@pytest.mark.parametrize("content", [b"no database at all, but some text " * 50, None])
def test_a_file_that_is_no_checkpoint_is_refused_and_left_alone(tmp_path, content):
    path = tmp_path / "notes.db"
    if content is None:
        with sqlite3.connect(path) as db:
            db.execute("CREATE TABLE song(line)")
        db.close()
    else:
        path.write_bytes(content)
    before = path.read_bytes()

    async def work(source, target, clock):
        with pytest.raises(InvalidInput, match="is no checkpoint"):
            await migrate(source, target, checkpoint=path, clock=clock)
        assert await everything(target) == []

    on_two(work)
    assert path.read_bytes() == before


def test_a_checkpoint_that_cannot_be_made_is_told(tmp_path):
    (tmp_path / "file").write_text("")

    async def work(source, target, clock):
        with pytest.raises(Unavailable, match=r"checkpoint: .* cannot be used"):
            await migrate(source, target, checkpoint=tmp_path / "file" / "notes.db", clock=clock)

    on_two(work)


def test_two_processes_do_not_run_one_migration(tmp_path):
    path = tmp_path / "notes.db"
    held = checkpoint.Checkpoint(path, ["old", "new", "in_memory", []])

    async def work(source, target, clock):
        with pytest.raises(Conflict, match="another process goes on with this migration"):
            await migrate(source, target, checkpoint=path, clock=clock)
        held.close()
        await migrate(source, target, checkpoint=path, clock=clock)
        return await target.recall(Query(BOB))

    assert on_two(work).hits
