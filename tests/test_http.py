"""HTTP for adapters: what a failure may have done, how much is read, and what belongs to which event loop."""

import asyncio
import gzip
import logging
import traceback

import pytest

from memhub import HubError, MemoryStore, Unavailable
from memhub_adapters.failure import Failure
from memhub_adapters.http import LARGEST, Answer, Http, HttpFailure
from memhub_adapters.mem0 import self_hosted
from memhub_adapters.qdrant import QdrantAdapter
from memhub_adapters.standins import Fault, Request, Response, Server
from memhub_adapters.standins.faults import DROPPED, HUGE_BODY, STALLED, TRUNCATED

SECRET = "sk-Sup3r-S3cret"


def echo(request: Request) -> Response:
    return Response(200, {"path": request.path, "query": dict(request.query)}, {"x-request-id": "0a1b2c3d"})


def send(server: Server, fault: Fault | None = None, *, timeout: float = 30, **options: object) -> Answer:
    async def run() -> Answer:
        http = Http(f"{server.url}/base", timeout=timeout)
        try:
            return await http.send("POST", "/x", headers={"authorization": SECRET}, **options)
        finally:
            await http.aclose()

    if fault is not None:
        server.faults.order(fault)
    return asyncio.run(run())


def failure(server: Server, fault: Fault, **options: float) -> HttpFailure:
    with pytest.raises(HttpFailure) as caught:
        send(server, fault, **options)
    assert caught.value.__context__ is None
    return caught.value


def test_an_answer_comes_back_whole() -> None:
    with Server(echo) as server:
        answer = send(server, params={"a b": "c&d"}, body=b"{}")
        assert (answer.status, answer.request_id) == (200, "0a1b2c3d")
        assert answer.json() == {"path": "/base/x", "query": {"a b": "c&d"}}
        headers = server.requests[0].headers
        assert (headers["accept"], headers["authorization"]) == ("application/json", SECRET)
        assert headers["user-agent"].startswith("memhub/")


@pytest.mark.parametrize(
    ("fault", "kind", "effect"),
    [
        (DROPPED, "RemoteProtocolError", "unknown"),
        (TRUNCATED, "RemoteProtocolError", "unknown"),
        (HUGE_BODY, "BodyTooLarge", "done"),
        (
            Fault(name="no gzip", status=200, headers={"content-encoding": "gzip"}, body=b"no gzip at all"),
            "DecodingError",
            "done",
        ),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_a_failure_says_what_it_may_have_done(fault: Fault, kind: str, effect: str) -> None:
    with Server(echo) as server:
        found = failure(server, fault)
        assert (found.kind, found.effect) == (kind, effect)


@pytest.mark.parametrize("pasted", [f"{SECRET}\n", f"{SECRET}é"], ids=ascii)
def test_a_key_that_no_header_can_hold_is_never_sent_and_never_told(pasted: str) -> None:
    async def run(server: Server) -> list[HubError]:
        key = self_hosted(Http(server.url, timeout=30), pasted)
        qdrant = QdrantAdapter.remote(server.url, collection="memories", api_key=pasted)
        told = []
        for adapter in (key, qdrant):
            async with MemoryStore(adapter) as store:
                with pytest.raises(Unavailable) as caught:
                    await store.ping()
                told.append(caught.value)
        return told

    with Server(echo) as server:
        for error in asyncio.run(run(server)):
            assert "look for a line break or a letter outside ASCII in the key" in str(error)
            assert (error.retryable, error.unapplied) == (False, True)
            assert SECRET not in "".join(traceback.format_exception(error))
        assert server.requests == []


def test_an_answer_that_never_comes_may_have_done_anything() -> None:
    with Server(echo) as server:
        found = failure(server, STALLED, timeout=0.2)
        assert (found.kind, found.effect) == ("ReadTimeout", "unknown")


@pytest.mark.parametrize("endpoint", ["http://127.0.0.1:1", "ftp://x", "http://[x"])
def test_what_was_never_sent_did_nothing(endpoint: str) -> None:
    async def run() -> None:
        await Http(endpoint, timeout=5).send("GET", "/", headers={})

    with pytest.raises(HttpFailure) as caught:
        asyncio.run(run())
    assert caught.value.effect == "none"


def test_a_body_is_measured_as_it_unfolds() -> None:
    bomb = gzip.compress(b'"' + b"x" * (LARGEST + 1) + b'"')
    assert len(bomb) < LARGEST // 100
    fault = Fault(name="bomb", status=200, headers={"content-encoding": "gzip"}, body=bomb)
    with Server(echo) as server:
        assert failure(server, fault).kind == "BodyTooLarge"
        small = Fault(
            name="small", status=200, headers={"content-encoding": "gzip"}, body=gzip.compress(b'"ok"')
        )
        assert send(server, small).json() == "ok"


@pytest.mark.parametrize(
    ("given", "seconds"),
    [("7", 7.0), ("0", 0.0), (" 12 ", 12.0), ("Wed, 21 Oct 2026 07:28:00 GMT", None), ("-1", None), ("9" * 30, None), ("", None)],
)  # fmt: skip
def test_retry_after_is_seconds_or_nothing(given: str, seconds: float | None) -> None:
    assert Answer(429, {"retry-after": given}).failure("none").retry_after == seconds


@pytest.mark.parametrize("code", [SECRET, 7, None, "", "Mixed", "x" * 41, {"a": 1}])
def test_only_what_looks_like_a_code_or_an_id_is_kept(code: object) -> None:
    answer = Answer(500, {"x-request-id": SECRET}, f'{{"code": {code!r}}}'.replace("'", '"').encode())
    found = answer.failure("done")
    assert (found.code, found.request_id) == (None, None)
    assert SECRET not in repr(found) + str(found)
    kept = Answer(502, {"x-request-id": "0a1b2c3d"}, b'{"code": "provider_timeout"}').failure("done")
    assert kept.facts() == {"status": 502, "code": "provider_timeout", "request_id": "0a1b2c3d"}


@pytest.mark.parametrize("body", [b"", b"<html>", b"[" * 100_000, b"\xff"])
def test_what_is_no_json_is_a_failure_of_an_answer(body: bytes) -> None:
    with pytest.raises(HttpFailure) as caught:
        Answer(200, {}, body).json()
    assert (caught.value.kind, caught.value.effect, caught.value.__context__) == (
        "UnreadableBody",
        "done",
        None,
    )


def test_a_lost_write_is_never_called_repeatable() -> None:
    for lost, retryable in ((False, True), (True, False)):
        failed = Failure("Dropped", "unknown")
        failed.lost = lost
        told = failed.told(Unavailable("x", retryable=True))
        assert (told.retryable, told.unapplied, str(told.__cause__)) == (retryable, False, "Dropped")


def test_nothing_is_logged_of_what_is_sent(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with Server(echo) as server:
        send(server, params={"user_id": SECRET}, body=SECRET.encode())
    assert SECRET not in caplog.text


def test_each_loop_has_connections_of_its_own_that_end_with_it() -> None:
    with Server(echo) as server:
        http = Http(server.url, timeout=30)

        async def twice() -> None:
            for _ in range(2):
                await http.send("GET", "/", headers={})

        async def threads() -> None:
            await asyncio.gather(twice(), *(asyncio.to_thread(asyncio.run, twice()) for _ in range(3)))
            await http.aclose()
            await http.aclose()

        asyncio.run(twice())
        asyncio.run(threads())
        assert len(server.requests) == 10
        assert http._transports._held == {}
