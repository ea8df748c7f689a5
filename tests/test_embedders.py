"""Embedders: what they send, what they check, what they say when it goes wrong; and their section of the file."""

import asyncio
import json
import logging
import math
import traceback
from collections.abc import Iterator
from pathlib import Path

import pytest

from memhub import HubError, InvalidConfig, Retry, Unavailable
from memhub.embedding import Embedder
from memhub.search.fusion import fused, relative
from memhub_adapters.embedders.hash import HashEmbedder
from memhub_adapters.embedders.openai import OpenAIEmbedder
from memhub_adapters.standins import Fault, Request, Response, Server
from memhub_adapters.standins.faults import DROPPED, GARBAGE, HUGE_BODY, STALLED, TRUNCATED
from memhub_config import load_config, open_hub

KEY = "sk-Sup3r-S3cret"
TEXT = "The safe is behind the painting."
SPILLED = f'{{"error": {{"message": "{KEY} {TEXT}", "code": "{KEY}"}}, "code": "{KEY}"}}'.encode()


class Endpoint:
    """An embeddings endpoint: the vector of a text is its length, then zeros. Answers out of order."""

    dimensions = 4

    def __call__(self, request: Request) -> Response:
        if request.headers.get("authorization") != f"Bearer {KEY}":
            return Response(401, {"error": {"message": "no key"}})
        size = request.json.get("dimensions", self.dimensions)
        rows = [
            {"object": "embedding", "index": n, "embedding": [float(len(text)), *[0.0] * (size - 1)]}
            for n, text in enumerate(request.json["input"])
        ]
        return Response(200, {"object": "list", "data": rows[::-1], "model": request.json["model"]})


@pytest.fixture
def server() -> Iterator[Server]:
    with Server(Endpoint()) as running:
        yield running


def embedder(server: Server, **options: object) -> OpenAIEmbedder:
    given = {"dimensions": 4, "api_key": KEY, "retry": Retry(attempts=1), **options}
    return OpenAIEmbedder(base_url=f"{server.url}/v1/", model="small", **given)


def embed(one: OpenAIEmbedder, *texts: str) -> list[list[float]]:
    async def run() -> list[list[float]]:
        try:
            return await one.embed(texts)
        finally:
            await one.aclose()

    return asyncio.run(run())


def test_texts_go_out_in_batches_as_they_are_and_vectors_come_back_in_order(server: Server) -> None:
    texts = ["a", "  bb ", "ccc\n", "dd🍕d"]
    assert [vector[0] for vector in embed(embedder(server, batch=3), *texts)] == [1, 5, 4, 4]
    assert [request.path for request in server.requests] == ["/v1/embeddings"] * 2
    bodies = [request.json for request in server.requests]
    assert [body["input"] for body in bodies] == [texts[:3], texts[3:]]
    assert bodies[0] == {"model": "small", "input": texts[:3], "encoding_format": "float"}


def test_vectors_can_be_asked_for_shorter(server: Server) -> None:
    assert len(embed(embedder(server, dimensions=2, shorten=True), "a")[0]) == 2
    assert server.requests[0].json["dimensions"] == 2


def test_no_text_is_no_request(server: Server) -> None:
    assert embed(embedder(server)) == []
    assert server.requests == []


def test_another_size_than_configured_is_refused(server: Server) -> None:
    with pytest.raises(InvalidConfig, match=r"4 dimensions, but dimensions: 3 is configured"):
        embed(embedder(server, dimensions=3), "a")


@pytest.mark.parametrize(
    "body",
    [
        b'{"data": []}',
        b'{"data": [{"index": 0, "embedding": "AAAA"}]}',
        b'{"data": [{"index": 0, "embedding": [1, null, 0, 0]}]}',
        b'{"data": [{"index": 0, "embedding": [true, 0, 0, 0]}]}',
        b'{"data": [{"index": 0, "embedding": [1e999, 0, 0, 0]}]}',
        b'{"data": {"0": [1, 0, 0, 0]}}',
        b"[]",
        b"null",
    ],
)
def test_what_is_no_vector_is_refused(server: Server, body: bytes) -> None:
    server.faults.order(Fault(name="shape", status=200, body=body))
    with pytest.raises(Unavailable):
        embed(embedder(server), "a")


FAULTS = [
    (DROPPED, "unavailable", True),
    (DROPPED.after(), "unavailable", True),
    (STALLED, "timed_out", True),
    (TRUNCATED, "unavailable", True),
    (GARBAGE, "unavailable", False),
    (HUGE_BODY, "unavailable", False),
    (Fault.of_status(400, body=SPILLED), "invalid_input", False),
    (Fault.of_status(401, body=SPILLED), "access_denied", False),
    (Fault.of_status(403, body=SPILLED), "access_denied", False),
    (Fault.of_status(404, body=SPILLED), "unavailable", False),
    (Fault.of_status(429, retry_after="7", body=SPILLED), "rate_limited", True),
    (Fault.of_status(500, body=SPILLED), "unavailable", True),
    (Fault.of_status(503, body=SPILLED), "unavailable", True),
]


@pytest.mark.parametrize(("fault", "code", "again"), FAULTS, ids=lambda value: getattr(value, "name", None))
def test_failures_are_told_without_the_key_or_a_text(
    server: Server, caplog: pytest.LogCaptureFixture, fault: Fault, code: str, again: bool
) -> None:
    server.faults.order(fault, times=None)
    caplog.set_level(logging.DEBUG)
    with pytest.raises(HubError) as caught:
        embed(embedder(server, timeout=0.2 if fault.stall else 30.0), TEXT)
    error = caught.value
    assert (error.code, error.retryable, error.unapplied) == (code, again, True)
    assert error.provider == "openai"
    assert error.retry_after == (7 if fault.status == 429 else None)
    said = [str(error), repr(error), *traceback.format_exception(error), caplog.text]
    assert not [line for line in said if KEY in line or TEXT in line]


def test_failures_that_may_pass_are_repeated_and_the_servers_patience_kept(server: Server) -> None:
    one, slept = embedder(server, retry=Retry(attempts=3, max_delay=5)), []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    one.sleep = sleep
    server.faults.order(Fault.of_status(429, retry_after="3"))
    server.faults.order(Fault.of_status(429, retry_after="60"))
    assert embed(one, "four")[0][0] == 4
    assert slept == [3, 5]


def test_a_refusal_is_not_repeated(server: Server) -> None:
    with pytest.raises(HubError):
        embed(embedder(server, api_key="wrong", retry=Retry(attempts=5)), "a")
    assert len(server.requests) == 1


def test_an_embedder_shows_no_key(server: Server) -> None:
    assert KEY not in repr(embedder(server))
    assert isinstance(embedder(server), Embedder)


def test_hashed_words_are_near_where_texts_share_them() -> None:
    one = HashEmbedder(64)
    tea, same, near, far = asyncio.run(
        one.embed(["jasmine tea", "Jasmine  TEA!", "jasmine tea leaves", "a red bicycle"])
    )
    assert tea == same
    assert math.isclose(sum(value * value for value in tea), 1)
    assert dot(tea, near) > dot(tea, far)
    assert asyncio.run(HashEmbedder(64).embed(["?"]))[0] != asyncio.run(one.embed(["!"]))[0]
    assert isinstance(one, Embedder)


def dot(left: list[float], right: list[float]) -> float:
    return sum(a * b for a, b in zip(left, right, strict=True))


def test_fusion_weighs_lists_by_their_own_range() -> None:
    assert relative({"a": 3.0, "b": 1.0, "c": 2.0}) == {"a": 1.0, "b": 0.0, "c": 0.5}
    assert relative({"a": 3.0}) == {"a": 1.0}
    assert relative({}) == {}
    words, meaning = {"a": 10.0, "b": 5.0, "c": 0.0}, {"b": 0.9, "d": 0.5}
    assert fused(words, meaning) == pytest.approx({"a": 0.65, "b": 0.675, "c": 0.0, "d": 0.0})
    assert fused(words, {}) == pytest.approx({"a": 0.65, "b": 0.325, "c": 0.0})


def test_an_endpoint_is_configured_and_closed_with_the_hub(server: Server, tmp_path: Path) -> None:
    config = {
        "embedders": {
            "remote": {
                "openai": {"base_url": server.url, "api_key": "${K}", "model": "small", "dimensions": 4}
            }
        },
        "stores": {"a": {"qdrant": {"path": str(tmp_path / "qdrant"), "embedder": "remote"}}},
    }

    async def run() -> None:
        async with open_hub(config, environ={"K": KEY}) as hub:
            assert hub["a"].capabilities.default_mode == "hybrid"
            assert hub["a"]._adapter._collection.makers.embedder == "openai:small"

    asyncio.run(run())
    assert KEY not in repr(load_config(config, environ={"K": KEY}))


@pytest.mark.parametrize(
    ("section", "told"),
    [
        ({"x": {}}, "embedders.x: must hold one of openai, fastembed, hash"),
        ({"x": {"hash": {}, "openai": {}}}, "embedders.x: must hold one of"),
        ({"x": {"opnai": {}}}, "embedders.x.opnai: no such embedder; did you mean 'openai'?"),
        ({"x": {"hash": {"dimension": 3}}}, "no such field; did you mean 'dimensions'?"),
        ({"x": {"openai": {"model": "m", "dimensions": 3}}}, "embedders.x.openai.base_url: is required"),
        (
            {"x": {"openai": {"base_url": "https://u:p@h", "model": "m", "dimensions": 3}}},
            "must be an address",
        ),
        (
            {"x": {"openai": {"base_url": "http://h", "api_key": "k\n", "model": "m", "dimensions": 3}}},
            "embedders.x.openai.api_key: must be one line of plain ASCII",
        ),
        (["x"], "embedders: must hold embedders by name"),
    ],
)
def test_problems_of_the_section_are_named(section: object, told: str) -> None:
    with pytest.raises(InvalidConfig) as caught:
        load_config({"embedders": section, "stores": {"a": {"in_memory": {}}}}, environ={})
    assert told in str(caught.value)


def test_a_store_names_an_embedder_that_there_is() -> None:
    stores = {"a": {"qdrant": {"path": "x", "embedder": "locl"}}}
    with pytest.raises(InvalidConfig, match=r"no embedder 'locl'; did you mean 'local'\?"):
        load_config({"embedders": {"local": {"hash": {}}}, "stores": stores}, environ={})


def test_a_module_that_is_missing_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "fastembed", None)
    config = {
        "embedders": {"local": {"fastembed": {"model": "m", "dimensions": 3}}},
        "stores": {"a": {"qdrant": {"path": ":memory:", "embedder": "local"}}},
    }

    async def run() -> None:
        async with open_hub(config, environ={}):
            raise AssertionError("opened")

    with pytest.raises(
        InvalidConfig, match=r"embedders.local: needs the module fastembed.*memhub\[fastembed\]"
    ):
        asyncio.run(run())


def test_requests_are_plain_json(server: Server) -> None:
    embed(embedder(server), "é 🍕")
    (request,) = server.requests
    assert json.loads(request.body)["input"] == ["é 🍕"]
    assert request.headers["content-type"] == "application/json"
