"""Every verb, every fault, at every request: the right error, nothing lost, nothing twice, no secret anywhere."""

import asyncio
import logging
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count

import pytest

from memhub import Fact, HubError, MemoryStore, Observation, Query, RateLimited, Record, Retry, Scope
from memhub_adapters.embedders.hash import HashEmbedder
from memhub_adapters.qdrant import QdrantAdapter
from memhub_adapters.qdrant.remote import RemoteEngine
from memhub_adapters.standins import Fault, Request, Server
from memhub_adapters.standins.qdrant import Qdrant
from qdrant_faults import ANYWHERE, FAULTS, KEY, MEMORY, REFUSED, SAID, VERBS, Verb, fact, status
from qdrant_faults import PATIENT as PATIENCE_ASKED

PATIENCE = 0.3
"""Seconds after which a request that is never answered is given up."""

PATIENT = 30.0
LARGEST = 8 * 2**20
MOST_REQUESTS = 12


@dataclass
class Stage:
    """A server that answers, one event loop, and three stores in it: undisturbed, disturbed, and impatient."""

    server: Server
    runner: asyncio.Runner
    calm: MemoryStore
    disturbed: MemoryStore
    impatient: MemoryStore


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    with Server(Qdrant(KEY)) as server, asyncio.Runner() as runner:
        stores = [opened(server, runner, patience) for patience in (PATIENT, PATIENT, PATIENCE)]
        yield Stage(server, runner, *stores)
        for store in stores:
            runner.run(store.aclose())


def opened(server: Server, runner: asyncio.Runner, patience: float) -> MemoryStore:
    engine = RemoteEngine(server.url, "memories", api_key=KEY, timeout=patience, largest=LARGEST)
    adapter = QdrantAdapter(engine, collection="memories", where="qdrant", embedder=HashEmbedder(32))
    runner.run(adapter.open())
    return MemoryStore(adapter, retry=Retry(attempts=1))


@dataclass
class Scene:
    """One call of a verb in a scope that holds one memory. `said` is all that anybody was told."""

    stage: Stage
    verb: Verb
    scope: Scope
    said: list[str] = field(default_factory=list)
    met: bool = False
    seen: tuple[str, ...] = ()
    settled: tuple[str, ...] | None = None

    async def meet(self, fault: Fault, number: int) -> HubError | None:
        """The error of a call whose request of that number is spoilt; what is there afterwards, `seen`.

        Where the error says so, the call is made again, to its end: `settled` is what is there then.
        """
        store, calm = self.stage.impatient if fault.stall else self.stage.disturbed, self.stage.calm
        record = (await calm.observe(fact(MEMORY, self.scope))).records[0]
        unsubscribe = store.subscribe(lambda event: self.said.append(repr(event)))
        self.order(fault, number)
        error = await self.error(store, record)
        self.stage.server.faults.clear()
        unsubscribe()
        self.seen = await self.contents(calm)
        if error is not None and error.retryable:
            await self.verb.call(calm, record, self.scope)
            self.settled = await self.contents(calm)
        return error

    def order(self, fault: Fault, number: int) -> None:
        """Spoil the request of that number, counted from now."""
        numbers = count(1)

        def due(_: Request) -> bool:
            self.met = self.met or next(numbers) == number
            return self.met

        self.stage.server.faults.order(fault, when=due)

    async def error(self, store: MemoryStore, record: Record) -> HubError | None:
        try:
            await self.verb.call(store, record, self.scope)
        except HubError as error:
            self.said += [str(error), repr(error), repr(error.__cause__), repr(error.__context__)]
            self.said += traceback.format_exception(error)
            return error
        return None

    async def contents(self, store: MemoryStore) -> tuple[str, ...]:
        found = await store.recall(Query(self.scope, limit=100))
        return tuple(sorted(hit.record.content for hit in found.hits))


@contextmanager
def everything_logged(said: list[str]) -> Iterator[None]:
    """Every line that any logger writes while this lasts."""

    class Keeper(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            said.append(record.getMessage())

    root, keeper = logging.getLogger(), Keeper()
    level = root.level
    root.addHandler(keeper)
    root.setLevel(logging.DEBUG)
    try:
        yield
    finally:
        root.removeHandler(keeper)
        root.setLevel(level)


def check(scene: Scene, error: HubError, name: str, request: int) -> None:
    verb, told, where = scene.verb, FAULTS[name][1], (name, request)
    assert error.code == told.code, where
    assert (error.provider, error.store) == ("qdrant", "memory"), where
    if name not in REFUSED or verb.repeatable or request == 1:
        assert error.retryable is (told.again and (verb.repeatable or name in REFUSED)), where
    assert error.retry_after == (7.0 if name == PATIENCE_ASKED else None), where
    assert scene.seen in verb.outcomes, where
    assert scene.settled in (None, verb.outcomes[-1]), where


@pytest.mark.parametrize("name", FAULTS)
@pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS)
def test_every_verb_meets_every_fault(stage: Stage, verb: Verb, name: str) -> None:
    for request in range(1, MOST_REQUESTS if name in ANYWHERE else 2):
        scene = Scene(stage, verb, Scope(f"{verb.name}, {name}, {request}"))
        with everything_logged(scene.said):
            error = stage.runner.run(scene.meet(FAULTS[name][0], request))
        if not scene.met:
            assert request > 1
            assert error is None
            assert scene.seen == verb.outcomes[-1]
            return
        assert error is not None, (name, request)
        check(scene, error, name, request)
        spilled = [line for line in scene.said if KEY in line or MEMORY in line or SAID in line]
        assert spilled == [], (name, request)
    assert name not in ANYWHERE, "more requests than any verb needs"


@pytest.mark.parametrize(("corrects", "again"), [(False, True), (True, False)])
def test_of_two_steps_in_one_request_the_first_may_have_been_done(
    stage: Stage, corrects: bool, again: bool
) -> None:
    """A server that asks for patience at the second has stored the new fact already."""
    scope = Scope(f"patience, {corrects}")
    fault = status(429).after() if corrects else status(429)

    async def run() -> RateLimited:
        old = (await stage.calm.observe(fact(MEMORY, scope))).records[0]
        told = Observation(scope, facts=[Fact(SAID, supersedes=old.id if corrects else None)])
        stage.server.faults.order(fault, when=lambda request: request.path.endswith("/points/batch"))
        with pytest.raises(RateLimited) as caught:
            await stage.disturbed.observe(told)
        return caught.value

    assert stage.runner.run(run()).retryable is again
