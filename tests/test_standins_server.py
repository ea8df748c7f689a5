"""The server of the stand-ins: plain HTTP on a socket, and every fault that it can be told to show."""

import asyncio
import threading

import httpx
import pytest

from memhub_adapters.standins import Fault, Request, Response, Server
from memhub_adapters.standins.faults import DROPPED, GARBAGE, HUGE, HUGE_BODY, STALLED, TRUNCATED


class Counting:
    """Counts what has taken effect, and echoes what it was sent."""

    def __init__(self) -> None:
        self.effects = 0

    def __call__(self, request: Request) -> Response:
        self.effects += 1
        seen = {"path": request.path, "query": dict(request.query), "json": request.json}
        return Response(201, seen, {"x-method": request.method})


def test_requests_arrive_whole_and_answers_go_back_whole() -> None:
    with Server(Counting()) as server, httpx.Client(base_url=server.url) as client:
        done = client.post("/a%20b/", params={"q": "x&y", "empty": ""}, json={"é": [1]})
        assert (done.status_code, done.headers["x-method"]) == (201, "POST")
        assert done.json() == {"path": "/a b/", "query": {"q": "x&y", "empty": ""}, "json": {"é": [1]}}
        assert client.get("/none").json()["json"] is None
        assert [request.method for request in server.requests] == ["POST", "GET"]


def test_a_connection_serves_many_requests_and_many_connections_are_served() -> None:
    handle = Counting()

    async def ask(server: Server) -> None:
        async with httpx.AsyncClient(base_url=server.url) as client:
            await asyncio.gather(*(client.get(f"/{n}") for n in range(30)))
            await client.get("/again")

    with Server(handle) as server:
        asyncio.run(ask(server))
    assert handle.effects == 31


@pytest.mark.parametrize(
    ("fault", "effects", "error"),
    [
        (DROPPED, 0, httpx.RemoteProtocolError),
        (DROPPED.after(), 1, httpx.RemoteProtocolError),
        (TRUNCATED, 1, httpx.RemoteProtocolError),
        (STALLED, 0, httpx.ReadTimeout),
        (STALLED.after(), 1, httpx.ReadTimeout),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_an_answer_is_lost_before_or_after_the_effect(fault: Fault, effects: int, error: type) -> None:
    handle, patience = Counting(), httpx.Timeout(30, read=0.2 if fault.stall else 30)
    with Server(handle) as server, httpx.Client(base_url=server.url, timeout=30) as client:
        server.faults.order(fault)
        with pytest.raises(error):
            client.get("/", timeout=patience)
        assert client.get("/").status_code == 201
    assert handle.effects == effects + 1


@pytest.mark.parametrize(
    ("fault", "status", "length"),
    [
        (GARBAGE, 200, len(GARBAGE.body)),
        (HUGE_BODY, 200, HUGE + 2),
        (Fault.of_status(500), 500, 2),
        (Fault.of_status(429, retry_after="7"), 429, 2),
        (Fault.late(0.01), 201, 40),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_an_answer_is_spoilt(fault: Fault, status: int, length: int) -> None:
    handle = Counting()
    with Server(handle) as server, httpx.Client(base_url=server.url) as client:
        server.faults.order(fault)
        done = client.get("/")
        assert (done.status_code, len(done.content)) == (status, length)
        assert done.headers.get("retry-after") == ("7" if status == 429 else None)
        assert handle.effects == fault.applied


def test_faults_go_to_the_requests_they_are_meant_for() -> None:
    with Server(Counting()) as server, httpx.Client(base_url=server.url) as client:
        server.faults.order(Fault.of_status(500), when=lambda request: request.method == "PUT", times=2)
        assert [client.request(method, "/").status_code for method in ("GET", "PUT", "PUT", "PUT")] == [
            201,
            500,
            500,
            201,
        ]
        server.faults.order(Fault.of_status(503), times=None)
        assert [client.get("/").status_code for _ in range(3)] == [503] * 3
        server.faults.clear()
        assert client.get("/").status_code == 201


def test_it_leaves_no_thread_behind() -> None:
    with Server(Counting()) as server:
        server.faults.order(STALLED)
        with httpx.Client(base_url=server.url) as client, pytest.raises(httpx.ReadTimeout):
            client.get("/", timeout=httpx.Timeout(30, read=0.05))
        assert [thread.name for thread in threading.enumerate()].count("stand-in") == 1
    assert "stand-in" not in [thread.name for thread in threading.enumerate()]
