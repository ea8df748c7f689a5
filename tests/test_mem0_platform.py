"""Mem0's Platform: operations, events, equal texts, metadata."""

from dataclasses import replace

import pytest

from mem0_stores import KEY, ME, http, kept, listed, run, self_hosting
from memhub import (
    Conflict,
    Fact,
    MemoryStore,
    Observation,
    Patch,
    Scope,
    TimedOut,
    Turn,
    Unavailable,
    Unsupported,
)
from memhub_adapters.mem0 import Mem0Adapter, platform, self_hosted
from memhub_adapters.mem0.locators import Locator
from memhub_adapters.mem0.platform import PlatformDialect
from memhub_adapters.mem0.remote import FixedKey, RemoteGateway
from memhub_adapters.mem0.scopes import user_of
from memhub_adapters.standins import Request, Response, Server
from memhub_adapters.standins.faults import DROPPED
from memhub_adapters.standins.mem0_platform import PlatformMem0
from memhub_adapters.standins.mem0_rows import Row

# Turns and operations.


def test_turns_that_mem0_would_drop_are_refused_before_any_request() -> None:
    with self_hosting() as (server, _):
        said = Observation(ME, turns=[Turn("user", "hello"), Turn("tool", "42")])
        with pytest.raises(Unsupported, match=r"mem0 cannot do observe\(turns of the role tool\)"):
            run(self_hosted(http(server), KEY), lambda store: store.observe(said))
        assert server.requests == []


def test_an_operation_is_waited_for_after_a_restart_and_in_a_scope_of_any_length() -> None:
    mem0 = PlatformMem0(KEY, polls=3)
    long = Scope("é" * 255)
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    def adapter(server: Server) -> Mem0Adapter:
        gateway = RemoteGateway(http(server), PlatformDialect(), FixedKey(KEY))
        return Mem0Adapter(gateway, platform(http(server), KEY).capabilities, poll=0.25, sleep=sleep)

    with Server(mem0) as server:
        said = Observation(long, turns=[Turn("user", "I moved to Porto. I like its tiles.")])
        pending = run(adapter(server), lambda store: store.observe(said)).operation
        assert (pending.status, slept) == ("pending", [])
        for _ in range(2):
            done = run(adapter(server), lambda store: store.wait(pending.id))
            assert [one.content for one in done.records] == ["I moved to Porto.", "I like its tiles."]
            assert {one.scope for one in done.records} == {long}
            assert done.operation.status == "succeeded"
        assert slept == [0.25] * 3


def test_an_operation_outlives_the_patience_of_who_waits() -> None:
    mem0 = PlatformMem0(KEY, polls=1_000_000)
    with Server(mem0) as server:

        async def work(store: MemoryStore) -> None:
            said = Observation(ME, turns=[Turn("user", "I moved to Porto.")])
            operation = (await store.observe(said)).operation
            with pytest.raises(TimedOut) as caught:
                await store.wait(operation.id, timeout=0.05)
            assert caught.value.retryable
            for event in mem0._events.values():
                event["left"] = 0
            assert len((await store.wait(operation.id)).records) == 1

        run(platform(http(server), KEY, poll=0.001), work)


def test_a_read_that_lags_behind_takes_no_correction_back() -> None:
    mem0 = PlatformMem0(KEY, lag=0)
    before: dict[str, object] = {}

    def lagging(request: Request) -> Response:
        """Once a memory has been changed, shows it once more as it was."""
        if request.method == "PUT":
            before[request.path] = mem0(replace(request, method="GET")).body
        if request.method == "GET" and request.path in before:
            return Response(200, before.pop(request.path))
        return mem0(request)

    async def work(store: MemoryStore) -> None:
        [old] = await kept(store, "Prefers tea")
        await store.observe(Observation(ME, facts=[Fact("Prefers coffee", supersedes=old.id)]))
        assert await listed(store) == ["Prefers coffee"]

    with Server(lagging) as server:
        run(platform(http(server), KEY), work)


def test_a_purge_is_whole_though_the_listing_lags_behind() -> None:
    mem0 = PlatformMem0(KEY)
    gone: dict[str, Row] = {}

    def lagging(request: Request) -> Response:
        """Lists once more what has been deleted since the last listing."""
        if request.method == "DELETE":
            id = request.path.split("/")[3]
            gone[id] = mem0.rows.all[id]
        if request.path != "/v3/memories/":
            return mem0(request)
        mem0.rows.all |= gone
        answer = mem0(request)
        for id in gone:
            del mem0.rows.all[id]
        if answer.body["next"] is None:
            gone.clear()
        return answer

    with Server(lagging) as server:
        for n in range(250):
            mem0.rows.add(f"memory {n}", {"user_id": user_of(ME)}, {}, None)
        assert run(platform(http(server), KEY), lambda store: store.purge(ME)) == 250
        assert mem0.rows.all == {}


def test_what_was_deleted_since_is_no_result_of_an_operation() -> None:
    with Server(PlatformMem0(KEY, polls=0)) as server:

        async def work(store: MemoryStore) -> None:
            said = Observation(ME, turns=[Turn("user", "I moved to Porto. I like its tiles.")])
            operation = (await store.observe(said)).operation
            first, second = (await store.wait(operation.id)).records
            await store.delete(first.id)
            assert (await store.wait(operation.id)).records == (second,)

        run(platform(http(server), KEY, poll=0.001), work)


@pytest.mark.parametrize(
    ("answer", "kind", "says"),
    [
        ({"status": "FAILED", "error": KEY}, Unavailable, "could make no memories"),
        ({"status": "SUCCEEDED", "results": None}, None, ""),
        ({"status": "MUSING"}, Unavailable, "has a shape"),
        ([], Unavailable, "has a shape"),
    ],
    ids=str,
)
def test_an_event_ends_as_it_says(answer: object, kind: type[Exception] | None, says: str) -> None:
    mem0 = PlatformMem0(KEY)

    def ending(request: Request) -> Response:
        return Response(200, answer) if request.path.startswith("/v1/event/") else mem0(request)

    async def work(store: MemoryStore) -> None:
        operation = (
            await store.observe(Observation(ME, turns=[Turn("user", "I moved to Porto.")]))
        ).operation
        if kind is None:
            assert (await store.wait(operation.id)).records == ()
            return
        with pytest.raises(kind, match=says) as caught:
            await store.wait(operation.id)
        assert KEY not in repr(caught.value)

    with Server(ending) as server:
        run(platform(http(server), KEY), work)


# Equal texts on the Platform.


def test_a_twin_is_the_record_that_is_there_or_a_conflict() -> None:
    with Server(PlatformMem0(KEY, lag=0)) as server:

        async def work(store: MemoryStore) -> None:
            [first] = await kept(store, "Prefers tea")
            again = await store.observe(Observation(ME, facts=[Fact("Prefers tea")]))
            assert (again.replayed, again.records) == (True, (first,))
            for fact in (
                Fact("Prefers tea", kind="preference"),
                Fact("Prefers tea", tags=["x"]),
                Fact("Prefers tea", attributes={"n": 1}),
                Fact("Prefers tea", target="x"),
            ):
                with pytest.raises(Conflict, match="merges equal texts"):
                    await store.observe(Observation(ME, facts=[fact]))
            await store.invalidate(first.id)
            with pytest.raises(Conflict, match="invalidated"):
                await store.observe(Observation(ME, facts=[Fact("Prefers tea")]))
            [old] = await kept(store, "Prefers coffee")
            with pytest.raises(Conflict, match="merges equal texts"):
                await store.observe(Observation(ME, facts=[Fact("Prefers tea", supersedes=old.id)]))
            assert await listed(store) == ["Prefers coffee"]

        run(platform(http(server), KEY), work)


def test_a_service_that_answers_a_repeat_with_what_it_had_is_understood_as_well() -> None:
    mem0 = PlatformMem0(KEY)

    def naming(request: Request) -> Response:
        """Names the row that it had, with another event."""
        answer = mem0(request)
        if request.path == "/v3/memories/add/" and answer.body["results"] == []:
            text = request.json["messages"][0]["content"]
            had = next(row for row in mem0.rows.all.values() if row.text == text)
            return Response(200, {"results": [{"id": had.id, "data": {"memory": text}, "event": "NOOP"}]})
        return answer

    async def work(store: MemoryStore) -> None:
        [first] = await kept(store, "Prefers tea")
        again = await store.observe(Observation(ME, facts=[Fact("Prefers tea")]))
        assert (again.replayed, again.records) == (True, (first,))
        with pytest.raises(Conflict):
            await store.observe(Observation(ME, facts=[Fact("Prefers tea", kind="profile")]))

    with Server(naming) as server:
        run(platform(http(server), KEY), work)


@pytest.mark.parametrize("merge", [True, False])
def test_metadata_survives_whether_the_service_merges_or_replaces_it(merge: bool) -> None:
    mem0 = PlatformMem0(KEY, merge=merge)
    with Server(mem0) as server:

        async def work(store: MemoryStore) -> None:
            fact = Fact("Prefers tea", tags=["a"], attributes={"n": 1, "m": 2})
            record = (await store.observe(Observation(ME, facts=[fact]))).records[0]
            mem0.rows.all[Locator.parse(record.id).native].metadata["theirs"] = "kept"
            await store.update(record.id, Patch(remove_attributes=["n"]))
            changed = await store.update(record.id, Patch(content="Prefers oolong"))
            assert (changed.tags, changed.attributes) == (("a",), {"m": 2})
            assert await store.get(record.id) == changed
            assert mem0.rows.all[Locator.parse(record.id).native].metadata["theirs"] == "kept"

        run(platform(http(server), KEY), work)


def test_a_correction_whose_answer_is_lost_stands_though_it_shows_late() -> None:
    """Sent again, it is merged into itself."""
    with Server(PlatformMem0(KEY)) as server:
        adapter = platform(http(server), KEY)

        async def work(store: MemoryStore) -> None:
            [old] = await kept(store, "Prefers tea")

            async def not_yet(user: str) -> list[object]:
                del adapter._gateway.rows
                return []

            adapter._gateway.rows = not_yet
            server.faults.order(DROPPED.after(), when=lambda request: request.path.endswith("/add/"))
            told = Observation(ME, facts=[Fact("Prefers coffee", supersedes=old.id)])
            [new] = (await store.observe(told)).records
            assert (await store.get(old.id)).superseded_by == new.id
            assert await listed(store) == ["Prefers coffee"]

        run(adapter, work)


def test_a_listing_of_one_page_is_whole_whatever_the_service_counts() -> None:
    mem0 = PlatformMem0(KEY)

    def miscounting(request: Request) -> Response:
        answer = mem0(request)
        return replace(answer, body={**answer.body, "count": 7}) if "count" in answer.body else answer

    async def work(store: MemoryStore) -> None:
        await kept(store, "Prefers tea")
        assert await listed(store) == ["Prefers tea"]

    with Server(miscounting) as server:
        run(platform(http(server), KEY), work)
