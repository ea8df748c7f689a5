"""The synchronous face: equal to the asynchronous one in all but await."""

import asyncio
import inspect
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager

import pytest

import memhub
from fakes import Faulty
from memhub import (
    Closed,
    Fact,
    Hub,
    InvalidInput,
    MemoryStore,
    NotFound,
    Observation,
    Patch,
    Provenance,
    Query,
    Scope,
    Toolbox,
    Unavailable,
)
from memhub.blocking import BlockingHub, BlockingMemoryStore, BlockingToolbox, BlockingUpkeep
from memhub.upkeep import Upkeep
from memhub_adapters.in_memory import InMemoryAdapter
from memhub_adapters.sqlite import SqliteAdapter

SCOPE = Scope("player:42")
RENAMED = {"aclose": "close"}
WRAPPED = {"bind", "upkeep"}  # what they return has a face of its own


def public(cls):
    return {name: member for name, member in inspect.getmembers_static(cls) if not name.startswith("_")}


def fact(text, **more):
    return Observation(SCOPE, facts=[Fact(text, **more)])


@pytest.fixture
def memory():
    with BlockingMemoryStore(MemoryStore(InMemoryAdapter())) as store:
        yield store


def test_both_faces_have_the_same_names():
    expected = {RENAMED.get(name, name) for name in public(MemoryStore)} | {"name"}
    assert set(public(BlockingMemoryStore)) == expected


@pytest.mark.parametrize(
    "name", [n for n, m in public(MemoryStore).items() if inspect.isfunction(m) and n not in WRAPPED]
)
def test_both_faces_have_the_same_signatures(name):
    ours, theirs = getattr(BlockingMemoryStore, RENAMED.get(name, name)), getattr(MemoryStore, name)
    assert inspect.signature(ours) == inspect.signature(theirs)
    assert not inspect.iscoroutinefunction(ours)


def test_upkeep_has_the_same_names_and_signatures(tmp_path):
    assert set(public(BlockingUpkeep)) == set(public(Upkeep))
    for name, theirs in public(Upkeep).items():
        assert inspect.signature(getattr(BlockingUpkeep, name)) == inspect.signature(theirs)
    with BlockingMemoryStore(MemoryStore(SqliteAdapter(tmp_path / "live.db"))) as store:
        store.observe(fact("green tea"))
        store.upkeep().backup(tmp_path / "copy.db")
        store.observe(fact("black tea"))
        store.upkeep().restore_backup(tmp_path / "copy.db")
        assert [hit.record.content for hit in store.recall(Query(SCOPE)).hits] == ["green tea"]
        assert store.upkeep().check(deep=True) == []
        assert store.upkeep().reindex() == 1


def test_every_verb_works_without_await(memory):
    said = memory.observe(fact("Prefers jasmine tea", kind="preference")).records[0]
    assert memory.recall(Query(SCOPE, text="tea")).hits[0].record == said
    assert memory.get(said.id) == said
    assert memory.get([said.id]) == [said]
    assert memory.scan().records == (said,)
    changed = memory.update(said.id, Patch(content="Prefers oolong"), revision=said.revision)
    assert changed.content == "Prefers oolong"
    assert memory.invalidate(said.id, "moved on").invalid_reason == "moved on"
    assert memory.stats(SCOPE, by_scope=True).invalidated == 1
    memory.delete(said.id)
    assert memory.restore([said]).ids == {said.id: said.id}
    assert memory.sweep() == 0
    assert memory.purge(SCOPE) == 1
    memory.ping()
    with pytest.raises(NotFound):
        memory.get(said.id)
    assert (memory.name, memory.capabilities.provider) == ("memory", "in_memory")


def test_errors_come_through_unchanged(memory):
    with pytest.raises(InvalidInput, match="limit: is -1"):
        memory.recall(Query(SCOPE, text="x", limit=-1))


def test_observers_hear_of_blocking_calls(memory):
    heard = []
    stop = memory.subscribe(heard.append)
    memory.observe(fact("Likes rain"))
    memory.close()
    stop()
    assert [event.operation for event in heard] == ["observe"]


def test_many_threads_share_one_loop(memory):
    loops = set()
    store = memory._store
    observe = store.observe

    async def noted(observation):
        loops.add((id(asyncio.get_running_loop()), threading.current_thread().name))
        return await observe(observation)

    store.observe = noted
    with ThreadPoolExecutor(8) as pool:
        written = list(pool.map(lambda n: memory.observe(fact(f"note {n}")).records[0].id, range(200)))
    assert len(set(written)) == 200
    assert memory.stats().live == 200
    assert {name for _, name in loops} == {"memhub-blocking"}
    assert len(loops) == 1


def test_a_running_loop_is_refused_before_anything_happens(memory):
    async def inside():
        with pytest.raises(InvalidInput, match=r"running event loop.*await a MemoryStore"):
            memory.observe(fact("lost"))

    asyncio.run(inside())
    assert memory.stats().live == 0


def test_another_thread_of_an_async_program_may_call(memory):
    async def inside():
        return await asyncio.to_thread(memory.observe, fact("from a worker"))

    assert asyncio.run(inside()).records[0].content == "from a worker"


def test_after_close_every_call_is_closed(memory):
    memory.close()
    memory.close()
    with pytest.raises(Closed):
        memory.recall(Query(SCOPE))


def test_making_a_store_starts_no_thread():
    before = threading.active_count()
    store = BlockingMemoryStore(MemoryStore(InMemoryAdapter()))
    assert threading.active_count() == before
    store.ping()
    assert threading.active_count() == before + 1
    store.close()
    assert threading.active_count() == before


class Slow(InMemoryAdapter):
    """Tells when a ping has begun and how it ended; it never answers."""

    def __init__(self):
        super().__init__()
        self.begun, self.cancelled = threading.Event(), threading.Event()

    async def ping(self):
        self.begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise


def test_an_interrupted_call_is_cancelled_and_the_store_still_works():
    adapter, main = Slow(), threading.get_ident()

    def press_ctrl_c():
        assert adapter.begun.wait(10)
        signal.pthread_kill(main, signal.SIGINT)

    with BlockingMemoryStore(MemoryStore(adapter)) as store:
        presser = threading.Thread(target=press_ctrl_c)
        presser.start()
        with pytest.raises(KeyboardInterrupt):
            store.ping()
        presser.join()
        assert adapter.cancelled.wait(10)
        assert store.stats().live == 0


def test_a_hub_opens_on_entry_and_closes_on_exit():
    adapters = [Faulty(), Faulty()]
    hub = Hub({"a": MemoryStore(adapters[0], name="a"), "b": MemoryStore(adapters[1], name="b")})
    with BlockingHub(hub) as opened:
        assert list(opened) == ["a", "b"]
        assert ("a" in opened, "c" in opened, len(opened)) == (True, False, 2)
        opened["a"].observe(fact("hello"))
        with pytest.raises(InvalidInput, match="no 'c' here; the stores are 'a', 'b'"):
            opened["c"]
        assert (opened.get("c"), opened.get("a")) == (None, opened["a"])
    assert [adapter.closed for adapter in adapters] == [1, 1]
    with pytest.raises(Closed):
        opened["a"].ping()


def test_a_hub_that_is_not_open_says_so():
    with pytest.raises(InvalidInput, match="not open"):
        BlockingHub(Hub({}))["a"]


def test_an_interruption_while_opening_lets_the_manager_clean_up_and_leaves_no_thread():
    before, main = threading.active_count(), threading.get_ident()
    begun, ended = threading.Event(), []

    @asynccontextmanager
    async def never_open():
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("cleaned up")
        yield Hub({})

    def press_ctrl_c():
        assert begun.wait(10)
        signal.pthread_kill(main, signal.SIGINT)

    presser = threading.Thread(target=press_ctrl_c)
    presser.start()
    with pytest.raises(KeyboardInterrupt), BlockingHub(never_open()):
        pytest.fail("never entered")
    presser.join()
    assert ended == ["cleaned up"]
    assert threading.active_count() == before


def test_an_error_while_opening_leaves_no_thread():
    before = threading.active_count()

    @asynccontextmanager
    async def failing():
        raise NotFound("nothing there")
        yield

    with pytest.raises(NotFound), BlockingHub(failing()):
        pytest.fail("never entered")
    assert threading.active_count() == before


def test_the_bodys_error_reaches_the_manager_and_passes_through():
    told = []

    @asynccontextmanager
    async def watched():
        try:
            yield Hub({})
        except BaseException as error:
            told.append(type(error))
            raise

    with pytest.raises(KeyboardInterrupt), BlockingHub(watched()):
        raise KeyboardInterrupt
    assert told == [KeyboardInterrupt]


def test_a_closing_error_is_raised():
    store = MemoryStore(Faulty(RuntimeError("no goodbye")))
    with pytest.raises(Unavailable, match="RuntimeError"), BlockingHub(Hub({"a": store})):
        assert not store._closed


def test_it_is_loaded_on_use():
    code = "import sys, memhub; sys.exit('memhub.blocking' in sys.modules or 'anyio' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    assert memhub.__version__


def test_the_blocking_toolbox_is_the_same():
    with BlockingMemoryStore(MemoryStore(InMemoryAdapter())) as store:
        memory = store.bind(SCOPE)
        toolbox = BlockingToolbox(memory, provenance=Provenance(author="helper"), budget=500)
        other = Toolbox(MemoryStore(InMemoryAdapter()).bind(SCOPE))
        assert toolbox.manual == other.manual
        assert (toolbox.tools, toolbox.json_schemas()) == (other.tools, other.json_schemas())
        assert toolbox.openai_tools() == other.openai_tools()
        assert toolbox.anthropic_tools() == other.anthropic_tools()
        assert toolbox.call("memory_save", '{"content": "Tea"}').ok
        assert toolbox.call("memory_search", {"query": "tea"}).data["memories"][0]["by"] == "helper"
