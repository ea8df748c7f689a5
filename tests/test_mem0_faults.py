"""Every verb, every fault, on each flavor: the right error, nothing lost, nothing twice, no secret anywhere."""

import asyncio
import logging
import traceback
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

import pytest

from mem0_faults import (
    FAULTS,
    KEY,
    ME,
    MEMORY,
    READ_VERBS,
    SAID,
    STALLS,
    START,
    WRITE_VERBS,
    Verb,
    state,
    told_of,
)
from memhub import Fact, HubError, MemoryStore, Observation, Retry
from memhub_adapters.http import Http
from memhub_adapters.mem0 import Mem0Adapter, platform, self_hosted
from memhub_adapters.mem0.remote import FixedKey
from memhub_adapters.standins import Fault, Server
from memhub_adapters.standins.mem0_platform import PlatformMem0
from memhub_adapters.standins.mem0_rows import Rows
from memhub_adapters.standins.mem0_self_hosted import SelfHostedMem0
from memhub_adapters.standins.volc_mem0 import VolcMem0
from memhub_adapters.volc_memory import VolcMemoryAdapter

PATIENCE = 30.0
IMPATIENCE = 1.0
"""Seconds after which a request that is never answered is given up."""

STAND_INS: dict[str, Callable[[], object]] = {
    "self_hosted": lambda: SelfHostedMem0(KEY),
    "platform": lambda: PlatformMem0(KEY, lag=0, merge=False),
    "volc": lambda: VolcMem0(KEY),
}
ADAPTERS: dict[str, Callable[[Http], Mem0Adapter]] = {
    "self_hosted": lambda http: self_hosted(http, KEY),
    "platform": lambda http: platform(http, KEY, poll=0.001),
    "volc": lambda http: VolcMemoryAdapter(http, FixedKey(KEY), poll=0.001),
}
UNDECLARED = {("volc", "scan"), ("volc", "stats")}
FLAVORS = list(STAND_INS)


class Scene:
    """A store over a stand-in that holds one memory. `said` is all that anybody was told."""

    def __init__(self, flavor: str, server: Server, rows: Rows) -> None:
        self.server = server
        self.rows = rows
        self.said: list[str] = []
        self.patience = PATIENCE
        self._adapter = ADAPTERS[flavor]

    def run(
        self, verb: Verb, fault: Fault | None, *, attempts: int = 1, times: int | None = 1
    ) -> HubError | None:
        """The error that the call ends with, when the request meets the fault."""

        async def run() -> HubError | None:
            adapter = self._adapter(Http(self.server.url, timeout=self.patience))
            retry = Retry(attempts=attempts, min_delay=0.001, max_delay=0.002)
            async with MemoryStore(adapter, retry=retry) as store:
                store.subscribe(lambda event: self.said.append(repr(event)))
                done = await store.observe(Observation(ME, facts=[Fact(MEMORY)]))
                if fault is not None:
                    self.server.faults.order(fault, when=verb.spoils, times=times)
                return await _error(verb.call(store, done.records[0]))

        error = asyncio.run(run())
        self.server.faults.clear()
        if error is not None:
            self.said += [str(error), repr(error), repr(error.__cause__), repr(error.__context__)]
            self.said += traceback.format_exception(error)
        return error


async def _error(call: Awaitable[object]) -> HubError | None:
    try:
        await call
    except HubError as error:
        return error
    return None


@contextmanager
def scene(flavor: str) -> Iterator[Scene]:
    stand_in = STAND_INS[flavor]()
    with Server(stand_in) as server:
        yield Scene(flavor, server, stand_in.rows)


def told(scene: Scene, caplog: pytest.LogCaptureFixture) -> str:
    return "\n".join([*scene.said, caplog.text])


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
@pytest.mark.parametrize("verb", READ_VERBS)
@pytest.mark.parametrize("flavor", FLAVORS)
def test_a_read_that_fails_says_so(
    flavor: str, verb: str, fault: Fault, caplog: pytest.LogCaptureFixture
) -> None:
    if (flavor, verb) in UNDECLARED:
        pytest.skip(f"{flavor} does not declare {verb}")
    caplog.set_level(logging.DEBUG)
    with scene(flavor) as here:
        error = here.run(READ_VERBS[verb], fault)
        assert error is not None
        assert (error.code, error.retryable) == told_of(fault)
        assert error.retry_after == (7.0 if fault.name == "status 429" else None)
        assert state(here.rows) == START
        assert KEY not in told(here, caplog)
        assert MEMORY not in told(here, caplog)


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
@pytest.mark.parametrize("verb", WRITE_VERBS)
@pytest.mark.parametrize("flavor", FLAVORS)
def test_a_write_is_done_once_or_said_to_have_failed(
    flavor: str, verb: str, fault: Fault, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    wanted = WRITE_VERBS[verb]
    with scene(flavor) as here:
        error = here.run(wanted, fault)
        now = state(here.rows)
        if fault.applied:
            assert error is None, "the service had done it"
        if error is None:
            assert now == wanted.after
        else:
            code, retryable = told_of(fault)
            assert error.code == code
            assert now in (START, *([wanted.half] if wanted.half else []))
            if error.retryable:
                assert retryable
                assert now == START, "a call that may be repeated has changed nothing"
        assert KEY not in told(here, caplog)
        assert MEMORY not in told(here, caplog)


@pytest.mark.parametrize("flavor", FLAVORS)
@pytest.mark.parametrize("verb", ["observe", "correct", "restore"])
def test_a_write_that_may_yet_show_is_never_called_repeatable(flavor: str, verb: str) -> None:
    with scene(flavor) as here:
        error = here.run(WRITE_VERBS[verb], FAULTS["dropped"], attempts=4)
        if flavor == "platform":
            assert error is None, "equal texts are merged there, so that sending it again was harmless"
        else:
            assert error is not None
            assert (error.retryable, error.unapplied) == (False, False)
            assert state(here.rows) == START


@pytest.mark.parametrize("fault", STALLS.values(), ids=STALLS)
@pytest.mark.parametrize("verb", ["get", "search", "observe", "retire", "delete"])
def test_an_answer_that_never_comes_is_given_up(verb: str, fault: Fault) -> None:
    wanted = (READ_VERBS | WRITE_VERBS)[verb]
    with scene("self_hosted") as here:
        here.patience = IMPATIENCE
        error = here.run(wanted, fault)
        if verb in READ_VERBS or (verb == "observe" and not fault.applied):
            assert error is not None
            assert (error.code, error.retryable) == ("timed_out", verb in READ_VERBS)
            assert state(here.rows) == START
        else:
            assert error is None
            assert state(here.rows) == wanted.after


@pytest.mark.parametrize("name", ["status 500", "garbage", "another shape"])
@pytest.mark.parametrize("verb", ["observe", "correct"])
def test_a_write_that_certainly_failed_may_be_repeated(verb: str, name: str) -> None:
    with scene("self_hosted") as here:
        error = here.run(WRITE_VERBS[verb], FAULTS[name])
        assert error is not None
        assert (error.retryable, error.unapplied) == (True, True)


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
@pytest.mark.parametrize("verb", [name for name, verb in WRITE_VERBS.items() if verb.once_more])
@pytest.mark.parametrize("flavor", FLAVORS)
def test_a_change_whose_answer_was_lost_is_made_good(flavor: str, verb: str, fault: Fault) -> None:
    if fault.status is not None and not fault.applied and fault.status < 500 and fault.status != 200:
        pytest.skip("the service refused, so there is nothing to make good")
    with scene(flavor) as here:
        assert here.run(WRITE_VERBS[verb], fault) is None
        assert state(here.rows) == WRITE_VERBS[verb].after


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
@pytest.mark.parametrize("flavor", FLAVORS)
def test_a_service_that_keeps_failing_is_left_as_it_was(flavor: str, fault: Fault) -> None:
    for name, verb in WRITE_VERBS.items():
        with scene(flavor) as here:
            error = here.run(verb, fault, attempts=3, times=None)
            now = state(here.rows)
            if error is None:
                assert now == verb.after, name
            elif not fault.applied:
                assert now in (START, *([verb.half] if verb.half else [])), name
            assert len(now) == len(dict(now)), f"{name}: something is there twice"


@pytest.mark.parametrize("verb", READ_VERBS)
@pytest.mark.parametrize("name", [name for name, fault in FAULTS.items() if told_of(fault)[1]])
def test_a_read_outlives_one_fault(verb: str, name: str) -> None:
    with scene("self_hosted") as here:
        assert here.run(READ_VERBS[verb], FAULTS[name], attempts=2) is None


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
@pytest.mark.parametrize("flavor", FLAVORS)
def test_turns_are_handed_over_once(flavor: str, fault: Fault, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    verb = Verb(lambda s, _: s.observe(Observation(ME, turns=SAID)), "POST", "memories", b"oolong")
    with scene(flavor) as here:
        error = here.run(verb, fault)
        if flavor == "self_hosted" and fault.applied:
            assert error is None
            assert state(here.rows) == [("I drink oolong tea.", False), (MEMORY, False)]
        else:
            assert error is not None
            assert error.code == told_of(fault)[0]
            assert error.retryable is False or error.unapplied
        assert KEY not in told(here, caplog)
        assert "oolong" not in told(here, caplog)
