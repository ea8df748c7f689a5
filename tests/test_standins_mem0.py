"""The stand-ins for Mem0 answer as the services were seen, or are documented, to answer; `mem0ai` is asked too."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from memhub_adapters.embedders.hash import HashEmbedder
from memhub_adapters.mem0.sdk import opened
from memhub_adapters.standins import Server
from memhub_adapters.standins.mem0_platform import PlatformMem0
from memhub_adapters.standins.mem0_self_hosted import SelfHostedMem0
from memhub_adapters.standins.volc_mem0 import VolcMem0

KEY = "a-key-of-sixteen-letters"
TEA = [{"role": "user", "content": "Prefers jasmine tea"}]


class Asked:
    """A client that shows status and body."""

    def __init__(self, client: httpx.Client) -> None:
        self.client = client

    def __call__(self, method: str, path: str, body: Any = None, **params: Any) -> tuple[int, Any]:
        answer = self.client.request(method, path, json=body, params=params or None)
        return answer.status_code, answer.json()

    def added(self, path: str, text: str = "Prefers jasmine tea", **more: Any) -> dict[str, Any]:
        body = {"messages": [{"role": "user", "content": text}], "infer": False, **more}
        return self("POST", path, body)[1]["results"][0]


def asked(stand_in: object, headers: dict[str, str]) -> Iterator[Asked]:
    with Server(stand_in) as server, httpx.Client(base_url=server.url, headers=headers) as client:
        yield Asked(client)


@pytest.fixture
def server() -> Iterator[Asked]:
    yield from asked(SelfHostedMem0(KEY), {"x-api-key": KEY})


@pytest.fixture
def platform() -> Iterator[Asked]:
    yield from asked(PlatformMem0(KEY, polls=1, lag=2), {"authorization": f"Token {KEY}"})


@pytest.fixture
def volc() -> Iterator[Asked]:
    yield from asked(VolcMem0(KEY, polls=1), {"authorization": f"Token {KEY}"})


# The server of one's own, as it was seen running.


@pytest.mark.parametrize("headers", [{}, {"authorization": f"Token {KEY}"}, {"x-api-key": "another"}])
def test_a_server_takes_its_key_in_one_header_only(server: Asked, headers: dict[str, str]) -> None:
    server.client.headers.pop("x-api-key")
    answer = server.client.get("/memories", params={"user_id": "u"}, headers=headers)
    assert (answer.status_code, list(answer.json())) == (401, ["detail"])
    assert "www-authenticate" in answer.headers


def test_a_server_has_no_trailing_slash_no_version_no_ping(server: Asked) -> None:
    for path in ("/memories/", "/v1/memories/", "/v1/ping/", "/v1/event/x/"):
        assert server("GET", path, user_id="u") == (404, {"detail": "Not Found"})


def test_a_server_adds_at_once_and_ignores_what_it_does_not_know(server: Asked) -> None:
    status, body = server(
        "POST",
        "/memories",
        {"messages": TEA, "user_id": "u", "infer": False, "app_id": "a", "timestamp": 5, "immutable": True},
    )
    assert status == 200
    [row] = body["results"]
    assert set(row) == {"id", "memory", "event", "actor_id", "role"}
    kept = server("GET", f"/memories/{row['id']}")[1]
    assert {"app_id", "timestamp", "immutable"} & {*kept, *(kept["metadata"] or {})} == set()
    again = server("POST", "/memories", {"messages": TEA, "user_id": "u", "infer": False})[1]["results"]
    assert again[0]["id"] != row["id"], "equal texts are kept"


def test_a_server_answers_an_unknown_id_with_null_and_changes_of_it_with_404(server: Asked) -> None:
    for id in ("0b5c1c0e-7a31-4c0e-9a55-2f6d3a1be001", "no-uuid"):
        assert server("GET", f"/memories/{id}") == (200, None)
        assert server("PUT", f"/memories/{id}", {"text": "x"})[0] == 404
        assert server("DELETE", f"/memories/{id}")[0] == 404
        assert server("GET", f"/memories/{id}/history") == (200, [])


def test_a_server_merges_metadata_and_answers_a_change_with_words(server: Asked) -> None:
    id = server.added("/memories", user_id="u", metadata={"a": 1, "b": 2})["id"]
    assert list(server("PUT", f"/memories/{id}", {"metadata": {"b": None, "c": 3}})[1]) == ["message"]
    assert server("GET", f"/memories/{id}")[1]["metadata"] == {"a": 1, "b": None, "c": 3}
    assert server("PUT", f"/memories/{id}", {})[0] == 400
    server("DELETE", f"/memories/{id}")
    texts = [one["new_memory"] for one in server("GET", f"/memories/{id}/history")[1]]
    assert texts == ["Prefers jasmine tea", "Prefers jasmine tea", None], (
        "a deleted text stays in the history"
    )


def test_a_server_lists_a_thousand_at_most(server: Asked) -> None:
    for n in range(25):
        server.added("/memories", f"memory {n}", user_id="u")
    assert len(server("GET", "/memories", user_id="u")[1]["results"]) == 20
    assert len(server("GET", "/memories", user_id="u", top_k=1000)[1]["results"]) == 25
    assert server("GET", "/memories", user_id="u", top_k=1001)[0] == 422


@pytest.mark.parametrize(
    "filters",
    [
        {},
        {"AND": [{"user_id": "u"}]},
        {"user_id": "u", "NOT": {"topic": "x"}},
        {"user_id": "u", "OR": []},
        {"user_id": "u", "topic": {"like": "x"}},
    ],
    ids=str,
)
def test_a_server_refuses_filters(server: Asked, filters: dict[str, Any]) -> None:
    assert server("POST", "/search", {"query": "tea", "filters": filters})[0] == 400


def test_a_server_finds_by_its_grammar(server: Asked) -> None:
    for n, metadata in enumerate(({"t": "x", "n": 1}, {"t": "y", "n": 2}, {})):
        server.added("/memories", f"tea {n}", user_id="u", metadata=metadata)
    server.added("/memories", "tea of another", user_id="v")

    def found(**filters: Any) -> list[str]:
        body = {"query": "tea", "filters": {"user_id": "u", **filters}, "top_k": 10, "threshold": 0.0}
        return sorted(row["memory"] for row in server("POST", "/search", body)[1]["results"])

    assert found() == ["tea 0", "tea 1", "tea 2"]
    assert found(t={"ne": "x"}) == ["tea 1"], "ne passes over rows without the key"
    assert found(t={"nin": ["x"]}) == ["tea 1"]
    assert found(NOT=[{"t": "x"}]) == ["tea 1", "tea 2"], "NOT does not"
    assert found(t=["x", "y"]) == found(t={"in": ["x", "y"]}) == ["tea 0", "tea 1"]
    assert found(n={"gte": 2}) == ["tea 1"]
    assert found(user_id="*") == ["tea 0", "tea 1", "tea 2", "tea of another"], "a star is everybody"


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"messages": TEA}, 400),
        ({"messages": TEA, "user_id": "two words"}, 400),
        ({"user_id": "u"}, 422),
        ([], 422),
    ],
    ids=str,
)
def test_a_server_refuses_additions(server: Asked, body: Any, status: int) -> None:
    answered, told = server("POST", "/memories", body)
    assert (answered, list(told)) == (status, ["detail"])


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Any]:
    """`mem0ai` itself."""
    pytest.importorskip("mem0", reason="the extra mem0 is not installed")
    one = opened(tmp_path, HashEmbedder(), None, reembedding=False)
    yield one
    one.close()


def test_a_server_gives_the_rows_that_mem0ai_gives(server: Asked, memory: Any) -> None:
    given = {"user_id": "u", "metadata": {"a": 1}, "infer": False}
    ours, theirs = server.added("/memories", **given), memory.add(TEA, **given)["results"][0]
    assert set(ours) == set(theirs)

    def both(path: str, answer: Any, **params: Any) -> None:
        [mine], [true] = server("GET", path, **params)[1]["results"], answer["results"]
        alike(mine, true)

    def alike(mine: dict[str, Any], true: dict[str, Any]) -> None:
        assert set(mine) == set(true)
        for name in set(mine) - {"id", "created_at", "updated_at", "score"}:
            assert mine[name] == true[name], name

    both("/memories", memory.get_all(filters={"user_id": "u"}), user_id="u")
    alike(server("GET", f"/memories/{ours['id']}")[1], memory.get(theirs["id"]))
    query = {"query": "Prefers jasmine tea", "filters": {"user_id": "u"}}
    [mine] = server("POST", "/search", query)[1]["results"]
    [true] = memory.search(**query)["results"]
    alike(mine, true)
    assert (round(mine["score"], 3), round(true["score"], 3)) == (1.0, 1.0)
    assert server("PUT", f"/memories/{ours['id']}", {"metadata": {"b": 2}})[1] == memory.update(
        theirs["id"], metadata={"b": 2}
    )
    assert server("GET", f"/memories/{ours['id']}")[1]["metadata"] == memory.get(theirs["id"])["metadata"]
    assert memory.get("0b5c1c0e-7a31-4c0e-9a55-2f6d3a1be001") is None


@pytest.mark.parametrize(
    "filters",
    [
        {"AND": [{"user_id": "u"}]},
        {"user_id": "u", "NOT": {"topic": "x"}},
        {"user_id": "u", "t": {"like": "x"}},
    ],
    ids=str,
)
def test_mem0ai_refuses_the_filters_that_a_server_refuses(memory: Any, filters: dict[str, Any]) -> None:
    memory.add(TEA, user_id="u", infer=False)
    with pytest.raises(ValueError, match=r"must|requires|Unsupported"):
        memory.search("tea", filters=filters)


def test_mem0ai_too_takes_a_star_for_everybody(memory: Any) -> None:
    for user in ("u", "v"):
        memory.add(TEA, user_id=user, infer=False)
    found = memory.search("Prefers jasmine tea", filters={"user_id": "*"})["results"]
    assert {row["user_id"] for row in found} == {"u", "v"}


# The Platform, as it is documented.


def test_the_platform_wants_its_slash_and_its_token(platform: Asked) -> None:
    assert platform("GET", "/v1/ping")[0] == 404
    assert platform("GET", "/v1/ping/")[1]["status"] == "ok"
    platform.client.headers["authorization"] = f"Bearer {KEY}"
    assert platform("GET", "/v1/ping/")[0] == 401


def test_the_platform_stores_at_once_and_merges_equal_texts(platform: Asked) -> None:
    body = {"messages": [*TEA, {"role": "system", "content": "dropped"}], "user_id": "u", "infer": False}
    status, told = platform("POST", "/v3/memories/add/", body)
    assert (status, told["status"]) == (200, "SUCCEEDED")
    assert [(row["data"], row["event"]) for row in told["results"]] == [
        ({"memory": TEA[0]["content"]}, "ADD")
    ]
    assert platform("POST", "/v3/memories/add/", body)[1]["results"] == []
    assert platform("POST", "/v3/memories/add/", {**body, "user_id": "v"})[1]["results"] != []


def test_the_platform_extracts_by_an_event(platform: Asked) -> None:
    told = platform("POST", "/v3/memories/add/", {"messages": TEA, "user_id": "u"})[1]
    assert set(told) == {"event_id", "status"}
    path = f"/v1/event/{told['event_id']}/"
    states = [platform("GET", path)[1] for _ in range(3)]
    assert [one["status"] for one in states] == ["PENDING", "SUCCEEDED", "SUCCEEDED"]
    assert states[1]["results"] == states[2]["results"] != []
    assert platform("GET", "/v1/event/another/")[0] == 404


def test_the_platform_names_a_run_in_two_ways_and_gives_no_hash(platform: Asked) -> None:
    id = platform.added("/v3/memories/add/", user_id="u", run_id="r")["id"]
    filters = {"filters": {"AND": [{"user_id": "u"}]}}
    [listed] = platform("POST", "/v3/memories/", filters)[1]["results"]
    for row in (listed, platform("GET", f"/v1/memories/{id}/")[1]):
        assert row["session_id"] == "r"
        assert "run_id" not in row
        assert "hash" not in row
    platform("GET", "/v1/ping/")
    [found] = platform("POST", "/v3/memories/search/", {"query": "tea", **filters})[1]["results"]
    assert (found["run_id"], "session_id" in found) == ("r", False)


def test_the_platform_pages_and_finds_late(platform: Asked) -> None:
    for n in range(3):
        platform.added("/v3/memories/add/", f"tea {n}", user_id="u")
    body = {"query": "tea", "filters": {"user_id": "u"}, "threshold": 0.0}
    assert len(platform("POST", "/v3/memories/search/", body)[1]["results"]) < 3
    pages = [platform("POST", "/v3/memories/", body, page=n, page_size=2)[1] for n in (1, 2)]
    assert [(page["count"], page["next"] is None, len(page["results"])) for page in pages] == [
        (3, False, 2),
        (3, True, 1),
    ]
    assert len(platform("POST", "/v3/memories/search/", body)[1]["results"]) == 3


@pytest.mark.parametrize(
    "filters",
    [
        None,
        {},
        {"metadata": {"a": 1}},
        {"user_id": "u", "topic": "x"},
        {"user_id": "u", "NOT": [{"metadata": {"a": 1}}]},
        {"user_id": "u", "metadata": {"a": {"in": [1]}}},
        {"NOT": {"user_id": "u"}},
    ],
    ids=str,
)
def test_the_platform_refuses_filters(platform: Asked, filters: Any) -> None:
    assert platform("POST", "/v3/memories/", {"filters": filters})[0] == 400


def test_the_platform_finds_by_its_grammar(platform: Asked) -> None:
    for n, metadata in enumerate(({"t": "x"}, {"t": "y"}, {})):
        platform.added("/v3/memories/add/", f"tea {n}", user_id="u", metadata=metadata)

    def found(filters: Any) -> list[str]:
        return sorted(
            row["memory"] for row in platform("POST", "/v3/memories/", {"filters": filters})[1]["results"]
        )

    assert found({"AND": [{"user_id": "u"}, {"metadata": {"t": "x"}}]}) == ["tea 0"]
    assert found({"user_id": "u", "metadata": {"t": {"ne": "x"}}}) == ["tea 1", "tea 2"], "ne includes null"
    assert found({"user_id": "u", "NOT": {"metadata": {"t": "x"}}}) == ["tea 1", "tea 2"]
    assert found({"user_id": {"in": ["u", "v"]}}) == found({"user_id": "*"}) == ["tea 0", "tea 1", "tea 2"]


@pytest.mark.parametrize(
    ("id", "answer"),
    [
        ("no-uuid", (400, {"error": "memory_id should be a valid UUID"})),
        ("0b5c1c0e-7a31-4c0e-9a55-2f6d3a1be001", (404, {"error": "Memory not found!"})),
    ],
)
def test_the_platform_tells_a_wrong_id_from_an_unknown_one(platform: Asked, id: str, answer: Any) -> None:
    assert platform("GET", f"/v1/memories/{id}/") == answer


def test_the_platform_answers_a_change_with_the_memory(platform: Asked) -> None:
    id = platform.added("/v3/memories/add/", user_id="u")["id"]
    assert platform("PUT", f"/v1/memories/{id}/", {"text": "Prefers oolong"})[1]["memory"] == "Prefers oolong"
    given = {"memories": [{"memory_id": id}]}
    assert platform("DELETE", "/v1/batch/", given)[1] == {"message": "Successfully deleted 1 memories"}
    assert platform("DELETE", "/v1/batch/", {"memories": [{"memory_id": id}] * 1001})[0] == 400


# Volcengine, as those who use it wrote it down.


def test_volcengine_demands_a_user_and_jobs_for_extraction_only(volc: Asked) -> None:
    body = {"messages": TEA, "user_id": "u", "infer": False, "async_mode": False}
    assert volc("POST", "/v1/memories/", body)[1]["results"][0]["memory"] == TEA[0]["content"]
    assert volc("POST", "/v1/memories/", {**body, "async_mode": True})[0] == 400
    for method, path in (
        ("POST", "/v1/memories/"),
        ("GET", "/v1/memories/"),
        ("POST", "/v1/memories/search/"),
    ):
        assert volc(method, path, {**body, "user_id": None, "query": "x"})[0] == 400
    [told] = volc(
        "POST", "/v1/memories/", {"messages": TEA, "user_id": "u", "infer": True, "async_mode": True}
    )[1]["results"]
    path = f"/v1/job/{told['event_id']}/"
    assert [volc("GET", path)[1]["status"] for _ in range(2)] == ["processing", "completed"]
    assert volc("GET", "/v1/event/x/")[0] == 404
