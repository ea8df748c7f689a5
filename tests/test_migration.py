"""Moving memories between stores: all of it arrives, the source stays as it was."""

import asyncio
from dataclasses import replace

import pytest

import memhub
from memhub import (
    Conflict,
    Fact,
    InvalidInput,
    MemoryStore,
    Observation,
    Patch,
    Query,
    Scope,
    Unsupported,
)
from memhub.migration import Progress, copier, migrate, plan_migration, sources, verifying
from memhub_adapters.in_memory import InMemoryAdapter
from memhub_adapters.none import NoneAdapter
from memhub_adapters.sqlite import SqliteAdapter
from moving import ANN, BOB, Lagging, Renaming, Watched, everything, lacking, on_two, renamed


@pytest.fixture(autouse=True)
def small_pages(monkeypatch):
    """Pages of three records, so that few records make many pages."""
    monkeypatch.setattr(sources, "PAGE", 3)


@pytest.mark.parametrize("kind", ["in_memory", "sqlite"])
def test_everything_arrives_as_it_was(kind, tmp_path):
    async def work(source, target, clock):
        before = await everything(source)
        done = await migrate(source, target, clock=clock)
        assert await everything(source) == before
        return done, before, await everything(target)

    target = InMemoryAdapter() if kind == "in_memory" else SqliteAdapter(tmp_path / "m.db")
    done, before, after = on_two(work, target=target)
    assert after == before
    assert (done.moved, done.left_out, done.renamed, done.plan.losses) == (len(before), 0, 0, ())


def test_recall_answers_as_before():
    async def work(source, target, clock):
        await migrate(source, target, clock=clock)
        asks = [Query(BOB, text="pistachio"), Query(BOB), Query(Scope(tenant="acme"), text="tea")]
        return [[await store.recall(ask) for ask in asks] for store in (source, target)]

    there, here = on_two(work)
    assert there == here


def test_a_target_with_ids_of_its_own_links_the_chains():
    async def work(source, target, clock):
        names = {}
        done = await migrate(source, target, on_moved=names.__setitem__, clock=clock)
        return done, names, await everything(source), await everything(target)

    done, names, there, here = on_two(work, target=Renaming())
    assert list(names) == [record.id for record in there]
    assert done.renamed == done.moved == len(there)
    assert {record.id: record for record in here} == {
        names[record.id]: renamed(record, names) for record in there
    }
    assert sum(record.supersedes is not None for record in here) == 2


def test_a_chain_is_never_cut():
    async def work(source, target, clock):
        head = None
        for n in range(9):
            facts = [Fact(f"Version {n}", supersedes=head), Fact(f"Between {n}")]
            head = (await source.observe(Observation(BOB, facts=facts))).records[0].id
        names = {}
        await migrate(source, target, on_moved=names.__setitem__, clock=clock)
        return head, names, target, await target.get(names[head])

    head, names, _, newest = on_two(work, target=Renaming())
    assert newest.id == names[head]
    assert newest.supersedes in names.values()


@pytest.mark.parametrize(
    ("scope", "expected"),
    [(BOB, {BOB}), (Scope(tenant="acme"), {ANN}), ([ANN, BOB], {ANN, BOB}), (Scope("nobody"), set())],
)
def test_only_what_the_scopes_cover_is_moved(scope, expected):
    async def work(source, target, clock):
        done = await memhub.migrate(source, target, scope=scope, clock=clock)
        there = [record for record in await everything(source) if record.scope in expected]
        assert (await everything(target), done.plan.records) == (there, len(there))

    on_two(work)


def test_a_repeat_changes_nothing():
    async def work(source, target, clock):
        first = await migrate(source, target, clock=clock)
        held = await everything(target)
        assert await migrate(source, target, clock=clock) == first
        assert await everything(target) == held

    on_two(work)


def test_what_the_target_held_before_stays():
    async def work(source, target, clock):
        (own,) = (await target.observe(Observation(BOB, facts=[Fact("Was here first")]))).records
        await migrate(source, target, clock=clock)
        assert own in await everything(target)

    on_two(work)


def test_another_version_in_the_target_is_never_overwritten():
    async def work(source, target, clock):
        await migrate(source, target, clock=clock)
        changed = await saying(source, "Prefers tea")
        await source.update(changed.id, Patch(content="Says more"))
        with pytest.raises(Conflict) as caught:
            await migrate(source, target, clock=clock)
        assert changed.id in str(caught.value)
        assert caught.value.__notes__ == [
            "new holds another version: delete it there, or choose another store"
        ]
        assert await target.get(changed.id) == changed

    on_two(work)


def test_progress_is_told_by_the_page():
    async def work(source, target, clock):
        told = []
        await migrate(source, target, progress=told.append, clock=clock)
        return told, len(await everything(source))

    told, count = on_two(work)
    assert {one.phase for one in told} == {"plan", "copy", "verify"}
    assert told[-1] == Progress("verify", count, count)
    assert [one.done for one in told if one.phase == "copy"] == [*range(3, count, 3), count]


def test_what_changes_meanwhile_is_brought_over():
    async def meanwhile(page):
        """During the second pass over the source, behind and before where it stands."""
        if page != plan_pages + 4:
            return
        await source.update((await saying(source, "Prefers tea")).id, Patch(content="Prefers coffee"))
        await source.delete((await saying(source, "The last word")).id)
        head = (await saying(source, "Lives at 2")).id
        new = Observation(BOB, facts=[Fact("Lives at sea", supersedes=head), Fact("Is new")])
        await source.invalidate((await source.observe(new)).records[1].id)

    async def work(old, new, clock):
        nonlocal source, plan_pages
        source = old
        plan_pages = -(-len(await everything(old)) // 3)
        old._adapter.scans = 0
        done = await migrate(old, new, clock=clock)
        by_id = [{record.id: record for record in await everything(store)} for store in (old, new)]
        return done, *by_id

    source, plan_pages = None, 10**9
    done, there, here = on_two(work, source=Watched(meanwhile))
    assert done.passes == 3
    names = {id: id for id in there}
    assert {id: without_revision(record) for id, record in here.items()} == {
        id: without_revision(renamed(record, names)) for id, record in there.items()
    }


async def saying(store, content):
    return next(record for record in await everything(store) if record.content == content)


def without_revision(record):
    return record.content, record.invalid_at, record.supersedes, record.superseded_by


def test_a_source_that_never_stops_changing_is_given_up_on(monkeypatch):
    async def meanwhile(page):
        await source.observe(Observation(BOB, facts=[Fact(f"Page {page}")]))

    async def work(old, new, clock):
        nonlocal source
        source = old
        old._adapter.meanwhile = meanwhile
        with pytest.raises(Conflict, match="old has changed during each of 3 passes; stop what writes to it"):
            await migrate(old, new, clock=clock)

    async def nothing(page):
        return

    source = None
    monkeypatch.setattr(copier, "LAPS", 3)
    monkeypatch.setattr(sources, "PAGE", 500)
    on_two(work, source=Watched(nothing))


class Forgetful(InMemoryAdapter):
    """Loses one record, and alters another."""

    async def restore(self, records, *, now):
        kept = [record for record in records if record.content != "Is tall"]
        altered = [replace(one, tags=()) if one.tags else one for one in kept]
        await super().restore(altered, now=now)
        return memhub.Restored({record.id: record.id for record in records})


def test_what_is_missing_or_differs_is_found_out():
    async def work(source, target, clock):
        with pytest.raises(Conflict) as caught:
            await migrate(source, target, clock=clock)
        return str(caught.value)

    told = on_two(work, target=Forgetful())
    assert "1 records are missing there" in told
    assert "1 records differ there" in told


def test_a_target_that_lags_is_waited_for(monkeypatch):
    async def work(source, target, clock):
        assert (await migrate(source, target, clock=clock)).moved == len(await everything(target))

    monkeypatch.setattr(verifying, "PATIENCE", (0.0,) * 10)
    on_two(work, target=Lagging())


def test_one_store_is_no_migration():
    async def work(source, _target, clock):
        for call in (migrate, plan_migration):
            with pytest.raises(InvalidInput, match="target: is the source itself"):
                await call(source, source, clock=clock)

    on_two(work)


def test_one_store_under_two_names_is_left_as_it_is():
    async def work(source, target, clock):
        before = await everything(source)
        await migrate(source, target, clock=clock)
        assert await everything(source) == before

    shared = InMemoryAdapter()
    on_two(work, source=shared, target=shared)


def test_one_store_under_two_names_is_found_out_where_ids_are_new():
    async def work(source, target, clock):
        with pytest.raises(Conflict, match="old and new are one store under two names"):
            await migrate(source, target, accept_loss=True, clock=clock)

    shared = lacking(restore=False)()
    on_two(work, source=shared, target=shared)


def test_a_target_that_keeps_nothing_is_refused():
    async def work(source, target, clock):
        for call in (migrate, plan_migration):
            with pytest.raises(Unsupported, match=r"none cannot do migrate\(target\): it keeps nothing"):
                await call(source, target, clock=clock)

    on_two(work, target=NoneAdapter())


def test_a_source_that_cannot_be_read_through_is_refused():
    async def work():
        source, target = MemoryStore(lacking(scan=False)()), MemoryStore(InMemoryAdapter())
        with pytest.raises(Unsupported, match=r"cannot do migrate\(source\)"):
            await migrate(source, target)

    asyncio.run(work())


def test_a_target_that_takes_records_one_by_one_gets_few_at_once(monkeypatch):
    class Counting(lacking(atomic_facts=1)):
        sizes = ()

        async def restore(self, records, *, now):
            self.sizes += (len(records),)
            return await super().restore(records, now=now)

    async def work(source, target, clock):
        await source.observe(Observation(BOB, facts=[Fact(f"Filler {n}") for n in range(100)]))
        await migrate(source, target, clock=clock)
        return target._adapter.sizes

    monkeypatch.setattr(sources, "PAGE", 500)
    sizes = on_two(work, target=Counting())
    assert max(sizes) == sources.FEW
    assert sum(sizes) == 112
