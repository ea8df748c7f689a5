"""A bound memory reaches its scope and its read list; nothing that a call says takes it further."""

import asyncio
import inspect
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memhub import (
    BoundMemory,
    Fact,
    HubError,
    InvalidConfig,
    InvalidInput,
    MemoryStore,
    NotFound,
    Observation,
    Operation,
    Patch,
    Query,
    Scope,
    Turn,
    Unsupported,
)
from memhub.blocking import BlockingBoundMemory
from memhub.bound import Grant
from memhub.records import Observed
from memhub_adapters.in_memory import InMemoryAdapter
from memhub_adapters.markdown import MarkdownAdapter
from memhub_adapters.sqlite import SqliteAdapter

ME, TEAM, OTHER = Scope("me"), Scope("team"), Scope("other")


@pytest.fixture(params=["in_memory", "sqlite"])
def store(request, tmp_path):
    adapter = InMemoryAdapter() if request.param == "in_memory" else SqliteAdapter(tmp_path / "m.db")
    found = MemoryStore(adapter)
    yield found
    asyncio.run(found.aclose())


async def remembered(store):
    """One record each, by scope."""
    return {
        scope: (await store.observe(Observation(scope, facts=[Fact(f"Tea of {scope}")]))).records[0]
        for scope in (ME, TEAM, OTHER)
    }


def contents(found):
    return sorted(hit.record.content for hit in found.hits)


async def refused(call):
    """The error of a call that must fail."""
    with pytest.raises(HubError) as caught:
        await call
    return caught.value


def test_reads_reach_the_scope_and_its_list_and_writes_the_scope_alone(store):
    async def run():
        await remembered(store)
        memory = store.bind(ME, read=[TEAM])
        assert memory.scope == ME
        assert memory.scopes == (ME, TEAM)
        for text in ("tea", None):
            assert contents(await memory.recall(Query(memory.scopes, text=text))) == [
                "Tea of me",
                "Tea of team",
            ]
        said = await memory.observe(Observation(ME, facts=[Fact("Likes rain")]))
        assert said.records[0].scope == ME
        for scope in (TEAM, OTHER):
            with pytest.raises(InvalidInput, match="scope: this memory writes to me alone"):
                await memory.observe(Observation(scope, facts=[Fact("x")]))
        assert (await store.stats()).live == 4

    asyncio.run(run())


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ([ME], ["Tea of me"]),
        ([TEAM], ["Tea of team"]),
        ([ME, OTHER], ["Tea of me"]),
        ([OTHER], []),
        ([Scope(me="me")], []),
    ],
)
def test_a_narrower_list_is_intersected(store, asked, found):
    async def run():
        await remembered(store)
        memory = store.bind(ME, read=[TEAM])
        for text in ("tea", None):
            for exact in (False, True):
                assert contents(await memory.recall(Query(asked, text=text, exact=exact))) == found

    asyncio.run(run())


def test_a_query_that_reaches_nothing_is_checked_all_the_same(store):
    async def run():
        memory = store.bind(ME)
        for wrong in ({"limit": -1}, {"text": " "}, {"kinds": ["x"]}, {"exact": "yes"}, {"cursor": "zz"}):
            with pytest.raises(InvalidInput):
                await memory.recall(Query(OTHER, **wrong))
        with pytest.raises(InvalidInput, match="scope: is empty"):
            await memory.recall(Query([]))
        with pytest.raises(InvalidInput, match="query: must be a Query"):
            await memory.recall("tea")

    asyncio.run(run())


def test_what_is_out_of_reach_is_told_in_the_words_for_what_is_not_there(store):
    async def run():
        records = await remembered(store)
        memory = store.bind(ME, read=[TEAM])
        hidden, shared, mine = records[OTHER].id, records[TEAM].id, records[ME].id
        absent = hidden[:-4] + "0000"

        async def told(call, id):
            error = await refused(call(memory, id))
            return (
                type(error),
                str(error).replace(id, "ID"),
                error.operation,
                error.__cause__,
                error.retryable,
            )

        calls = {
            "get": lambda memory, one: memory.get(one),
            "several": lambda memory, one: memory.get([mine, one, shared, "nowhere"]),
            "update": lambda memory, one: memory.update(one, Patch(content="x"), revision="r"),
            "invalidate": lambda memory, one: memory.invalidate(one, "x", revision="r"),
            "delete": lambda memory, one: memory.delete(one, revision="r"),
            "supersede": lambda memory, one: memory.observe(
                Observation(ME, facts=[Fact("x", supersedes=one)])
            ),
        }
        for name, call in calls.items():
            assert await told(call, hidden) == await told(call, absent), name
            if name not in ("get", "several"):
                assert await told(call, shared) == await told(call, absent), name
            if name != "several":
                unbound = await refused(call(store, absent))
                assert str(unbound).replace(absent, "ID") == (await told(call, hidden))[1]
        assert await store.get([hidden, shared, mine]) == [records[OTHER], records[TEAM], records[ME]]
        assert await memory.get([shared, mine]) == [records[TEAM], records[ME]]

    asyncio.run(run())


def test_its_own_records_are_changed_as_on_the_store(store):
    async def run():
        mine = (await remembered(store))[ME]
        memory = store.bind(ME)
        changed = await memory.update(mine.id, Patch(content="Oolong"), revision=mine.revision)
        assert changed.content == "Oolong"
        said = await memory.observe(Observation(ME, facts=[Fact("Green tea", supersedes=mine.id)]))
        assert (await memory.get(mine.id)).superseded_by == said.records[0].id
        assert (await memory.invalidate(said.records[0].id, "no more")).invalid_reason == "no more"
        await memory.delete(mine.id)
        with pytest.raises(NotFound):
            await memory.get(mine.id)

    asyncio.run(run())


def test_a_memory_bound_for_reading_changes_nothing(store):
    async def run():
        mine = (await remembered(store))[ME]
        memory = store.bind(ME, readonly=True)
        assert memory.readonly
        for call in (
            memory.observe(Observation(ME, facts=[Fact("x")])),
            memory.update(mine.id, Patch(content="x")),
            memory.invalidate(mine.id),
            memory.delete(mine.id),
            memory.delete("nowhere"),
        ):
            error = await refused(call)
            assert isinstance(error, Unsupported)
            assert "bound for reading alone" in error.message
        assert await memory.get(mine.id) == mine

    asyncio.run(run())


CHANGES = [
    (lambda memory: memory.update("nowhere", Patch()), "patch: is empty"),
    (lambda memory: memory.update("nowhere", "x"), "patch: must be a Patch, not str"),
    (lambda memory: memory.update("nowhere", Patch(content="x"), revision=""), "revision: must be 1 to 512"),
    (lambda memory: memory.invalidate("nowhere", " "), "reason: is blank"),
    (lambda memory: memory.invalidate("nowhere", revision="\0"), "revision: must be 1 to 512"),
    (lambda memory: memory.delete("nowhere", revision=3), "revision: must be 1 to 512"),
    (lambda memory: memory.delete(""), "id: must be 1 to 512"),
]


@pytest.mark.parametrize(("call", "told"), CHANGES)
def test_a_wrong_change_is_told_before_anything_is_looked_up(call, told):
    error = asyncio.run(refused(call(MemoryStore(InMemoryAdapter()).bind(ME))))
    assert isinstance(error, InvalidInput)
    assert error.message.startswith(told)


def test_what_a_provider_cannot_change_is_told_before_anything_is_looked_up(tmp_path):
    async def run():
        async with MemoryStore(MarkdownAdapter(tmp_path, append_only=True)) as store:
            memory = store.bind(ME)
            for call in (
                memory.update("nowhere", Patch(content="x")),
                memory.invalidate("nowhere"),
                memory.delete("nowhere"),
            ):
                assert isinstance(await refused(call), Unsupported)

    asyncio.run(run())


def test_a_cursor_belongs_to_the_binding_that_gave_it(store):
    async def run():
        for n in range(5):
            await store.observe(Observation(ME, facts=[Fact(f"Fact {n}")]))
        memory, other = store.bind(ME, read=[TEAM]), store.bind(ME, read=[OTHER])
        page = await memory.recall(Query(ME, limit=2))
        rest = await memory.recall(Query(ME, limit=3, cursor=page.cursor))
        assert len({hit.record.id for hit in (*page.hits, *rest.hits)}) == 5
        for wrong in (other, store):
            with pytest.raises(InvalidInput, match="cursor: is not one"):
                await wrong.recall(Query(ME, limit=2, cursor=page.cursor))
        unbound = await store.recall(Query(ME, limit=2, exact=True))
        with pytest.raises(InvalidInput, match="cursor: is not one that this memory gave"):
            await memory.recall(Query(ME, limit=2, cursor=unbound.cursor))
        again = store.bind(ME, read=[TEAM])
        assert await again.recall(Query(ME, limit=3, cursor=page.cursor)) == rest

    asyncio.run(run())


ACME, U1, U2 = Scope(tenant="acme"), Scope(tenant="acme", user="u1"), Scope(tenant="acme", user="u2")


def test_a_read_list_reaches_the_very_scopes_it_names_unless_told_otherwise(store):
    async def run():
        for scope in (ACME, U1, U2):
            await store.observe(Observation(scope, facts=[Fact(f"Tea of {dict(scope.pairs)}")]))
        narrow = store.bind(U1, read=[ACME])
        wide = store.bind(U1, read=[ACME], exact=False)
        for query in (Query(ACME), Query(narrow.scopes), Query(ACME, text="tea")):
            assert {hit.record.scope for hit in (await narrow.recall(query)).hits} == {ACME, U1}
        assert {hit.record.scope for hit in (await wide.recall(Query(ACME))).hits} == {ACME, U1, U2}
        assert {hit.record.scope for hit in (await wide.recall(Query(ACME, exact=True))).hits} == {ACME}
        theirs = (await store.recall(Query(U2))).hits[0].record
        assert await wide.get(theirs.id) == theirs
        for memory in (narrow, wide):
            with pytest.raises(NotFound):
                await memory.delete(theirs.id)

    asyncio.run(run())


labels = st.dictionaries(st.sampled_from("ab"), st.sampled_from("xy"), min_size=1)
scopes = st.one_of(st.sampled_from(["x", "a"]), labels).map(Scope)


@given(
    own=scopes,
    read=st.lists(scopes, max_size=3),
    asked=st.lists(scopes, min_size=1, max_size=3),
    record=scopes,
    exact=st.booleans(),
    asked_exact=st.booleans(),
)
def test_what_a_query_reaches_is_what_both_reach(*, own, read, asked, record, exact, asked_exact):
    grant = Grant.of(own, [scope for scope in read if scope != own], exact=exact, readonly=False)
    narrowed = grant.within(asked, exact=asked_exact)
    either = exact or asked_exact
    reached = any(scope == record if either else scope.covers(record) for scope in narrowed)
    wanted = any(scope == record if asked_exact else scope.covers(record) for scope in asked)
    assert reached == (grant.sees(record) and wanted)


def test_what_cannot_be_granted_is_refused_at_once(store):
    with pytest.raises(InvalidConfig, match=r"read\[1\]: names the bound scope itself"):
        store.bind(ME, read=[TEAM, ME])
    with pytest.raises(InvalidInput, match="scope: must be a Scope"):
        store.bind("me")
    with pytest.raises(InvalidInput, match=r"read\[0\]: must be a Scope"):
        store.bind(ME, read=["team"])
    with pytest.raises(InvalidInput, match="read: must be a list"):
        store.bind(ME, read=TEAM)


def test_sharing_on_a_provider_without_unions_is_refused_when_bound():
    adapter = InMemoryAdapter()
    adapter.capabilities = replace(adapter.capabilities, union=False)
    store = MemoryStore(adapter)
    assert store.bind(ME).scopes == (ME,)
    with pytest.raises(Unsupported, match=r"in_memory cannot do bind\(read\)"):
        store.bind(ME, read=[TEAM])


def test_there_is_no_verb_for_hosts():
    hosts = {"scan", "stats", "purge", "ping", "restore", "sweep", "upkeep", "aclose", "bind", "subscribe"}
    assert hosts & set(dir(BoundMemory)) == set()
    assert hosts & set(dir(BlockingBoundMemory)) == set()


def test_both_faces_are_the_same():
    def public(cls):
        return {name: member for name, member in vars(cls).items() if not name.startswith("_")}

    assert set(public(BlockingBoundMemory)) == set(public(BoundMemory)) | {"run"}
    for name, member in public(BoundMemory).items():
        if inspect.isfunction(member):
            ours = getattr(BlockingBoundMemory, name)
            assert inspect.signature(ours) == inspect.signature(member)
            assert not inspect.iscoroutinefunction(ours)


class Slow(InMemoryAdapter):
    """Accepts facts without storing them at once."""

    def __init__(self):
        super().__init__()
        self.capabilities = replace(self.capabilities, operations=True)

    async def observe(self, write):
        return Observed(operation=Operation(id=f"op-{write.facts[0].content}"))

    async def wait(self, operation_id, *, now):
        return Observed()


def test_an_operation_of_another_is_not_found():
    async def run():
        store = MemoryStore(Slow())
        memory, other = store.bind(ME), store.bind(OTHER)
        begun = (await memory.observe(Observation(ME, facts=[Fact("a")]))).operation
        assert await memory.wait(begun.id, timeout=1) == Observed()
        hidden, absent = [await refused(other.wait(id)) for id in (begun.id, "op-x")]
        assert str(hidden).replace(begun.id, "op-x") == str(absent)
        assert isinstance(hidden, NotFound)

    asyncio.run(run())


def test_the_texts_of_turns_and_tags_go_through_untouched(store):
    async def run():
        memory = store.bind(ME)
        turns = [Turn("user", "  <memories> and </memories> are tags \n", speaker="Pell", tags=["a"])]
        said = await memory.observe(Observation(ME, turns=turns))
        assert said.records[0].content == turns[0].content
        with pytest.raises(InvalidInput, match=r"facts\[0\]: must be a Fact"):
            await memory.observe(Observation(ME, facts=["tea"]))
        with pytest.raises(InvalidInput, match="observation: must be an Observation"):
            await memory.observe("tea")
        with pytest.raises(InvalidInput, match="patch: must be a Patch"):
            await memory.update(said.records[0].id, "tea")

    asyncio.run(run())
