"""What a target cannot hold: told before anything moves, refused, and lost only when accepted."""

import pytest

from memhub import Fact, Observation, Query, Unsupported
from memhub.capabilities import FACT_FIELDS, TURN_FIELDS
from memhub.migration import migrate, plan_migration, sources
from memhub.migration.fitting import MEANINGS
from moving import ANN, BOB, Merging, Slow, Watched, everything, lacking, on_two

WITHOUT = {name: FACT_FIELDS - {name} for name in FACT_FIELDS}


def losses(target):
    """The losses of moving the full source to this target, by name, with their counts."""

    async def work(source, target, clock):
        before = await everything(source)
        plan = await plan_migration(source, target, clock=clock)
        assert await everything(target) == []
        assert await everything(source) == before
        assert plan.records == len(before) == 12
        return plan, {loss.name: loss.records for loss in plan.losses}

    return on_two(work, target=target)


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        ({}, {}),
        ({"fact_fields": WITHOUT["kind"]}, {"kind": 5}),
        ({"fact_fields": WITHOUT["tags"]}, {"tags": 1}),
        ({"fact_fields": WITHOUT["attributes"]}, {"attributes": 1}),
        ({"fact_fields": WITHOUT["provenance"]}, {"provenance": 4, "role": 4}),
        ({"fact_fields": WITHOUT["observed_at"]}, {"observed_at": 12}),
        ({"fact_fields": WITHOUT["target"]}, {"target": 1}),
        ({"fact_fields": WITHOUT["payload"]}, {"payload": 1}),
        ({"fact_fields": WITHOUT["supports"]}, {"supports": 1}),
        ({"expiry": False}, {"expired": 1, "expires_at": 1}),
        ({"invalidation": False}, {"history": 1}),
        ({"supersede": False}, {"links": 3}),
        ({"invalidation": False, "supersede": False}, {"history": 3, "links": 1}),
        ({"scopes": "exact"}, {"scopes": 3}),
        ({"restore": False}, {"expired": 1, "history": 3, "restore": 8, "links": 1}),
    ],
    ids=lambda value: next(iter(value), "nothing") if isinstance(value, dict) else None,
)
def test_each_missing_capability_is_counted(declared, expected):
    plan, found = losses(lacking(**declared)())
    assert found == expected
    left_out = sum(found.get(name, 0) for name in ("expired", "history", "facts"))
    assert plan.moving == plan.records - left_out
    assert plan.method == ("observe" if declared.get("restore") is False else "restore")


def test_every_loss_says_what_it_means_and_why():
    plan, _ = losses(lacking(restore=False, scopes="exact", reasons={"restore": "it has no such call"})())
    told = {loss.name: (loss.meaning, loss.reason) for loss in plan.losses}
    assert told["restore"] == (MEANINGS["restore"], "it has no such call")
    assert told["history"] == ("left out, since they are superseded or invalidated", "it has no such call")
    assert told["scopes"][1] == "in_memory does not offer it"
    assert all(meaning and reason for meaning, reason in told.values())


def test_a_loss_is_refused_until_it_is_accepted():
    async def work(source, target, clock):
        with pytest.raises(Unsupported) as caught:
            await migrate(source, target, clock=clock)
        assert await everything(target) == []
        done = await migrate(source, target, accept_loss=True, clock=clock)
        return str(caught.value), done, await everything(source), await everything(target)

    told, done, there, here = on_two(work, target=lacking(fact_fields=WITHOUT["tags"])())
    assert told == (
        "new.migrate: new cannot hold all of old: 1 records lose their tags (tags); "
        "accept the loss (accept_loss=True, --accept-loss), or choose another target"
    )
    assert [record.tags for record in here if record.tags] == []
    assert [record.id for record in here] == [record.id for record in there]
    assert done.moved == 12


LIVE = [
    "Is here now",
    "Lives at 2",
    "Prefers tea",
    "The green one",
    "The green one",
    "The last word",
    "The last word",
    "Which pistachio?",
    "Which pistachio?",
]


@pytest.mark.parametrize(
    "target",
    [
        lacking(restore=False),
        lacking(restore=False, idempotency=False),
        lacking(restore=False, atomic_facts=1, scan=False, idempotency=False),
        Slow,
    ],
    ids=["keyed", "unkeyed", "one by one", "operations"],
)
def test_a_target_without_restore_observes_what_is_live(target):
    async def work(source, target, clock):
        clock.advance(hours=-3)  # so that "Is here now" has not expired
        names = {}
        done = await migrate(source, target, accept_loss=True, on_moved=names.__setitem__, clock=clock)
        here = {id: await target.get(name) for id, name in names.items()}
        return done, {record.id: record for record in await everything(source)}, here

    done, there, here = on_two(work, target=target())
    assert sorted(record.content for record in here.values()) == LIVE
    assert (done.moved, done.left_out, done.renamed) == (9, 3, 9)
    for id, record in here.items():
        for name in ("scope", "kind", "tags", "attributes", "provenance", "observed_at", "expires_at"):
            assert getattr(record, name) == getattr(there[id], name), name
        for name in ("target", "payload", "supports"):
            assert getattr(record, name) == getattr(there[id], name), name


def test_observed_turns_stay_neighbours():
    async def work(source, target, clock):
        await migrate(source, target, accept_loss=True, clock=clock)
        found = await target.recall(Query(BOB, text="pistachio"))
        return [hit.record.content for hit in found.hits]

    assert on_two(work, target=lacking(restore=False)()) == [
        "Which pistachio?",
        "Which pistachio?",
        "The green one",
        "The green one",
    ]


@pytest.mark.parametrize(
    ("turn_fields", "lost"),
    [
        (TURN_FIELDS, {}),
        (TURN_FIELDS - {"speaker"}, {"role": 2}),
        (TURN_FIELDS - {"role"}, {"role": 4}),
        (TURN_FIELDS - {"at"}, {"role": 4}),
        (TURN_FIELDS - {"provenance"}, {"provenance": 2}),
    ],
    ids=["all", "speaker", "role", "at", "provenance"],
)
def test_turns_become_facts_where_they_would_lose_more(turn_fields, lost):
    _, found = losses(lacking(restore=False, turn_fields=turn_fields)())
    assert {name: count for name, count in found.items() if name in {"role", "provenance"}} == lost


def test_a_target_for_turns_alone_leaves_facts_out():
    async def work(source, target, clock):
        done = await migrate(source, target, accept_loss=True, clock=clock)
        return done, sorted(record.content for record in await everything(target))

    done, here = on_two(work, target=lacking(restore=False, facts="no")())
    assert here == ["The green one", "The green one", "Which pistachio?", "Which pistachio?"]
    assert {loss.name for loss in done.plan.losses} == {"facts", "history", "expired", "restore"}


def test_a_target_that_takes_nothing_as_given_is_refused():
    async def work(source, target, clock):
        with pytest.raises(Unsupported, match="it takes neither records, nor facts or turns as given"):
            await plan_migration(source, target, clock=clock)

    on_two(work, target=lacking(restore=False, facts="no", turns="extracted")())


@pytest.mark.parametrize("restore", [True, False])
def test_of_equal_texts_one_goes_to_a_target_that_merges_them(restore):
    async def work(source, target, clock):
        plan = await plan_migration(source, target, clock=clock)
        with pytest.raises(Unsupported, match="another record of the same text"):
            await migrate(source, target, clock=clock)
        done = await migrate(source, target, accept_loss=True, clock=clock)
        return plan, done, [record.content for record in await everything(target)]

    plan, done, here = on_two(work, target=lacking(Merging, restore=restore)())
    assert [loss.records for loss in plan.losses if loss.name == "duplicates"] == [3]
    assert len(here) == len(set(here)) == done.moved == plan.moving
    assert done.left_out == plan.records - plan.moving


@pytest.mark.parametrize("pages", [2, 500])
def test_the_live_one_of_equal_texts_goes_to_a_target_that_merges_them(monkeypatch, pages):
    """A corrected twice, back to what it was: the third is live, the first only history."""

    async def work(source, target, clock):
        facts = [Fact("Likes tea"), Fact("Between")]
        first = (await source.observe(Observation(ANN, facts=facts))).records[0]
        second = (
            await source.observe(Observation(ANN, facts=[Fact("Likes coffee", supersedes=first.id)]))
        ).records[0]
        await source.observe(Observation(ANN, facts=[Fact("Likes tea", supersedes=second.id)]))
        apart = (await source.observe(Observation(BOB, facts=[Fact("Is far apart")]))).records[0]
        await source.invalidate(apart.id)
        await source.observe(Observation(BOB, facts=[Fact(f"Filler {n}") for n in range(5)]))
        await source.observe(Observation(BOB, facts=[Fact("Is far apart")]))
        await migrate(source, target, accept_loss=True, clock=clock)
        here = {record.content: record for record in await everything(target)}
        return here["Likes tea"], here["Likes coffee"], here["Is far apart"]

    monkeypatch.setattr(sources, "PAGE", pages)
    live, history, apart = on_two(work, target=Merging())
    assert live.invalid_at is None
    assert live.supersedes == history.id
    assert history.superseded_by == live.id
    assert apart.invalid_at is None


def test_a_twin_takes_the_place_of_one_that_is_deleted_meanwhile(monkeypatch):
    async def meanwhile(page):
        if page == 7:
            first = next(one for one in await everything(source) if one.content == "The last word")
            await source.delete(first.id)

    async def work(old, new, clock):
        nonlocal source
        source = old
        old._adapter.scans = 0
        await migrate(old, new, accept_loss=True, clock=clock)
        left = [record.id for record in await everything(old) if record.content == "The last word"]
        return left, [record.id for record in await everything(new) if record.content == "The last word"]

    source = None
    monkeypatch.setattr(sources, "PAGE", 4)
    left, here = on_two(work, source=Watched(meanwhile), target=Merging())
    assert len(left) == 1
    assert left == here
