"""Volcengine: signatures to the letter, keys resolved once and renewed when refused, jobs waited for."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import TypeVar

import pytest

from memhub import AccessDenied, Fact, HubError, MemoryStore, Observation, Query, Scope, Turn, Unavailable
from memhub.calls import utc_now
from memhub_adapters.http import Http
from memhub_adapters.mem0.remote import FixedKey
from memhub_adapters.mem0.scopes import user_of
from memhub_adapters.standins import Fault, Request, Response, Server
from memhub_adapters.standins.faults import DROPPED, TRUNCATED
from memhub_adapters.standins.volc_mem0 import VolcControl, VolcMem0
from memhub_adapters.volc_memory import VolcMemoryAdapter
from memhub_adapters.volc_memory.credentials import ResolvedKey
from memhub_adapters.volc_memory.signing import Credentials, signed

T = TypeVar("T")
ME = Scope("me")
SECRET = "sk-Sup3r-S3cret"
GOLDEN = {
    None: (
        "content-type;host;x-content-sha256;x-date",
        "f557e45cfc15812024808ad253838ae560b6f0bc680efc6119e91b4e900bd67a",
    ),
    "STS": (
        "content-type;host;x-content-sha256;x-date;x-security-token",
        "9e79b688f32de20d0cd963cd6ec582a4a150815a596942edc4a542b4a40d6324",
    ),
}


@pytest.mark.parametrize("token", GOLDEN)
def test_signatures_are_those_of_the_golden_vectors(token: str | None) -> None:
    headers = signed(
        Credentials("AKTEST", "SKTEST", token),
        host="mem0.cn-beijing.volcengineapi.com",
        query={"Version": "2025-10-10", "Action": "DescribeMemoryProjectDetail"},
        body=b'{"MemoryProjectId": "proj-1"}',
        region="cn-beijing",
        service="mem0",
        now=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
    )
    names, signature = GOLDEN[token]
    assert headers["x-content-sha256"] == "0ab478bf52abad457e70adf2bfbdb94520700c2ebe48ee66ea848a38d971f613"
    assert headers["authorization"] == (
        "HMAC-SHA256 Credential=AKTEST/20260102/cn-beijing/mem0/request, "
        f"SignedHeaders={names}, Signature={signature}"
    )


def test_credentials_and_keys_show_no_secret() -> None:
    credentials = Credentials("AKID", SECRET, SECRET)
    key = ResolvedKey(Http("http://x", timeout=1), credentials, project_id="p", region="r", clock=utc_now)
    assert SECRET not in f"{credentials!r} {key!r} {vars(key)}"
    assert "AKID" in repr(credentials)


class Planes:
    """Both planes on sockets, and stores over them."""

    def __init__(self, control: VolcControl, control_url: str, data_url: str) -> None:
        self.control = control
        self._control_url = control_url
        self._data_url = data_url

    def adapter(self, *, secret: str = SECRET, project: str = "proj-1") -> VolcMemoryAdapter:
        key = ResolvedKey(
            Http(self._control_url, timeout=5),
            Credentials("AKID", secret),
            project_id=project,
            region="cn-beijing",
            clock=utc_now,
        )
        return VolcMemoryAdapter(Http(self._data_url, timeout=5), key, poll=0.001)

    def run(self, work: Callable[[MemoryStore], Awaitable[T]], adapter: VolcMemoryAdapter | None = None) -> T:
        async def run() -> T:
            async with MemoryStore(adapter or self.adapter()) as store:
                return await work(store)

        return asyncio.run(run())


@contextmanager
def planes(**options: object) -> Iterator[tuple[Planes, Server, Server]]:
    control = VolcControl("AKID", SECRET, project="proj-1")
    with Server(control) as first, Server(VolcMem0(control=control, **options)) as second:
        yield Planes(control, first.url, second.url), first, second


def test_a_key_is_resolved_once_however_many_ask() -> None:
    with planes() as (both, _, _):

        async def work(store: MemoryStore) -> None:
            await asyncio.gather(*(store.recall(Query(Scope(f"s{n}"))) for n in range(12)))

        both.run(work)
        assert both.control.calls == ["DescribeMemoryProjectDetail", "DescribeAPIKeyDetail"]


def test_a_key_that_was_refused_is_resolved_anew_and_the_write_done_once() -> None:
    with planes() as (both, _, _):

        async def work(store: MemoryStore) -> list[str]:
            await store.observe(Observation(ME, facts=[Fact("before")]))
            both.control.rotate()
            calls = (store.observe(Observation(ME, facts=[Fact(f"after {n}")])) for n in range(5))
            await asyncio.gather(*calls)
            return sorted(hit.record.content for hit in (await store.recall(Query(ME))).hits)

        assert both.run(work) == [*(f"after {n}" for n in range(5)), "before"]
        assert both.control.calls.count("DescribeAPIKeyDetail") == 2


def test_a_key_that_stays_refused_is_access_denied() -> None:
    with planes() as (both, _, data):
        data.faults.order(Fault.of_status(401), times=None)
        with pytest.raises(AccessDenied):
            both.run(lambda store: store.recall(Query(ME)))
        assert both.control.calls.count("DescribeAPIKeyDetail") == 2


@pytest.mark.parametrize(
    ("wrong", "kind", "says"),
    [
        ({"secret": "another"}, AccessDenied, "refused"),
        ({"project": "proj-2"}, Unavailable, "no such memory project"),
    ],
)
def test_what_the_control_plane_refuses_is_told_without_secrets(
    wrong: dict[str, str], kind: type[HubError], says: str
) -> None:
    with planes() as (both, _, _):
        with pytest.raises(kind, match=says) as caught:
            both.run(lambda store: store.recall(Query(ME)), both.adapter(**wrong))
        assert not caught.value.retryable
        assert SECRET not in repr(caught.value.__cause__) + str(caught.value)


@pytest.mark.parametrize(
    ("result", "says"),
    [
        ({"APIKeyInfos": []}, "no key that is ready"),
        ({"APIKeyInfos": [{"APIKeyId": "a", "Status": "Disabled"}]}, "no key that is ready"),
        ({"APIKeyInfos": {"APIKeyId": "a", "Status": "ready"}, "APIKeyValue": ""}, "empty key"),
        ({"APIKeyInfos": [{"APIKeyId": "a", "Status": "READY"}]}, "empty key"),
        ({"APIKeyInfos": [{"APIKeyId": None, "Status": "ready"}]}, "answers with something else"),
    ],
)
def test_a_project_without_a_usable_key_is_unavailable(result: dict[str, object], says: str) -> None:
    with Server(lambda _: Response(200, {"ResponseMetadata": {}, "Result": result})) as control:
        both = Planes(VolcControl("", "", project=""), control.url, control.url)
        with pytest.raises(Unavailable, match=says) as caught:
            both.run(lambda store: store.ping())
        assert caught.value.retryable


@pytest.mark.parametrize("fault", [DROPPED, DROPPED.after(), TRUNCATED], ids=lambda fault: fault.name)
def test_a_write_for_which_no_key_came_has_not_been_sent(fault: Fault) -> None:
    with planes() as (both, control, data):
        control.faults.order(fault)

        async def work(store: MemoryStore) -> None:
            with pytest.raises(Unavailable) as caught:
                await store.observe(Observation(ME, facts=[Fact("tea")]))
            assert (caught.value.retryable, caught.value.unapplied) == (True, True)
            assert data.requests == []

        both.run(work)


def test_an_error_with_status_200_is_an_error() -> None:
    told = {"ResponseMetadata": {"Error": {"Code": "Project_NotFound"}}}
    with Server(lambda _: Response(200, told)) as control:
        both = Planes(VolcControl("", "", project=""), control.url, control.url)
        with pytest.raises(Unavailable, match="no such memory project"):
            both.run(lambda store: store.ping())


@pytest.mark.parametrize("silent", [False, True])
def test_a_job_is_waited_for_also_after_a_restart_and_when_it_names_no_results(silent: bool) -> None:
    with planes(silent=silent) as (both, _, _):

        async def told(store: MemoryStore) -> str:
            await store.observe(Observation(ME, facts=[Fact("I moved to Porto long ago.")]))
            done = await store.observe(
                Observation(ME, turns=[Turn("user", "I moved to Porto. I like its tiles.")])
            )
            assert (done.records, done.operation.status) == ((), "pending")
            return done.operation.id

        async def waited(store: MemoryStore) -> list[str]:
            done = await store.wait(both.operation)
            assert done.operation.status == "succeeded"
            return sorted(record.content for record in done.records)

        both.operation = both.run(told)
        assert both.run(waited) == ["I like its tiles.", "I moved to Porto."]
        assert both.run(waited) == ["I like its tiles.", "I moved to Porto."]


@pytest.mark.parametrize("form", ["pages without next", "bare pages", "everything at once"])
def test_every_form_of_a_listing_is_read_whole(form: str) -> None:
    volc = VolcMem0(SECRET)

    def listing(request: Request) -> Response:
        if (request.method, request.path) != ("GET", "/v1/memories/"):
            return volc(request)
        whole = form == "everything at once"
        query = {**request.query, **({"page": "1", "page_size": "1000"} if whole else {})}
        rows = volc(replace(request, query=query)).body["results"]
        return Response(200, {"results": rows} if form == "pages without next" else rows)

    with Server(listing) as server:
        for n in range(200):
            volc.rows.add(f"memory {n}", {"user_id": user_of(ME)}, {}, None)

        async def listed() -> int:
            adapter = VolcMemoryAdapter(Http(server.url, timeout=30), FixedKey(SECRET))
            async with MemoryStore(adapter) as store:
                return len((await store.recall(Query(ME, limit=1000))).hits)

        assert asyncio.run(listed()) == 200
