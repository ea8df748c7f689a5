"""Every example runs as it stands, from any folder."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx
import pytest

from memhub import Adapter
from memhub.conformance import AdapterConformance, Clock

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"
sys.path.insert(0, str(EXAMPLES))

from embed_in_an_asgi_backend import Backend  # noqa: E402 - once the folder is on the path
from third_party_adapter import JsonFileAdapter  # noqa: E402 - once the folder is on the path


def run(name: str, *arguments: str, folder: Path) -> list[str]:
    command = [sys.executable, "-W", "error", EXAMPLES / name, *arguments]
    environ = os.environ | {"MEMHUB_DIR": str(folder)}
    done = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


def test_quickstart(tmp_path: Path) -> None:
    assert run("quickstart.py", folder=tmp_path) == [
        "recalled:  ['Prefers jasmine tea']",
        "corrected: ['Prefers oolong tea']",
        "back then: ['Prefers jasmine tea']",
        "forgotten: 3 records",
    ]


def test_quickstart_blocking(tmp_path: Path) -> None:
    assert run("quickstart_blocking.py", folder=tmp_path) == [
        "recalled: Prefers jasmine tea",
        "forgotten: 2 records",
    ]


def test_switching_providers_changes_no_answer(tmp_path: Path) -> None:
    for _ in range(2):
        rows = [json.loads(line) for line in run("switch_providers.py", "--json", folder=tmp_path)]
        named = {row["store"]: row["provider"] for row in rows}
        assert (
            named.items() >= {"in-process": "in_memory", "on-disk": "sqlite", "readable": "markdown"}.items()
        )
        assert named.items() >= {"vectors": "qdrant", "vector-server": "qdrant"}.items()
        assert named.items() >= {"mem0-server": "mem0", "mem0-here": "mem0"}.items()
        assert [row["answers"] for row in rows] == [rows[0]["answers"]] * len(rows)
        assert all(rows[0]["answers"].values())
    assert (tmp_path / "memory.db").exists()
    shown = "\n".join(run("switch_providers.py", folder=tmp_path))
    assert shown.count("which tea") == 1, "a second row would be another answer"
    assert all(name in shown for name in named)


@asynccontextmanager
async def alive(app: Backend) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a running app: what a server does around one."""
    requests: asyncio.Queue[dict[str, str]] = asyncio.Queue()
    replies: asyncio.Queue[dict[str, str]] = asyncio.Queue()
    life = asyncio.create_task(app({"type": "lifespan"}, requests.get, replies.put))
    await requests.put({"type": "lifespan.startup"})
    assert await replies.get() == {"type": "lifespan.startup.complete"}
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://backend") as client:
        yield client
    await requests.put({"type": "lifespan.shutdown"})
    assert await replies.get() == {"type": "lifespan.shutdown.complete"}
    await life


def backend(folder: Path) -> Backend:
    config = {"stores": {"agent-memory": {"sqlite": {"path": str(folder / "memory.db")}}}}
    return Backend(config, tokens={"token-a": "ann", "token-b": "bo"})


def test_a_backend_remembers_each_user_apart_and_after_a_restart(tmp_path: Path) -> None:
    ann, bo = {"authorization": "Bearer token-a"}, {"authorization": "Bearer token-b"}

    async def first() -> None:
        async with alive(backend(tmp_path)) as client:
            said = await client.post("/remember", json={"fact": "Prefers jasmine tea"}, headers=ann)
            assert said.status_code == 201
            found = await client.get("/recall", params={"q": "tea"}, headers=ann)
            assert found.json() == [{"id": said.json()["id"], "content": "Prefers jasmine tea"}]

    async def later() -> None:
        async with alive(backend(tmp_path)) as client:
            found = await client.get("/recall", params={"q": "tea"}, headers=ann)
            assert [hit["content"] for hit in found.json()] == ["Prefers jasmine tea"]
            assert (await client.get("/recall", params={"q": "tea"}, headers=bo)).json() == []

    asyncio.run(first())
    asyncio.run(later())


@pytest.mark.parametrize(
    ("request_line", "token", "content", "answer"),
    [
        ("POST /remember", "nobody", b"{}", "401 unauthorized"),
        ("GET /recall?q=tea", "", b"", "401 unauthorized"),
        ("POST /remember", "token-a", b"{", "400 invalid_input"),
        ("POST /remember", "token-a", b"[]", "400 invalid_input"),
        ("POST /remember", "token-a", b'{"fact": 5}', "400 invalid_input"),
        ("GET /recall", "token-a", b"", "400 invalid_input"),
        ("GET /elsewhere", "token-a", b"", "404 no such page"),
    ],
)
def test_a_backend_refuses(
    tmp_path: Path, request_line: str, token: str, content: bytes, answer: str
) -> None:
    async def ask() -> httpx.Response:
        async with alive(backend(tmp_path)) as client:
            headers = {"authorization": f"Bearer {token}"}
            return await client.request(*request_line.split(), content=content, headers=headers)

    given = asyncio.run(ask())
    assert f"{given.status_code} {given.json()['error']}" == answer


class TestThirdPartyAdapter(AdapterConformance):
    """The adapter of another package keeps every rule of the kit."""

    @asynccontextmanager
    async def open_adapter(self, clock: Clock) -> AsyncIterator[Adapter]:
        with TemporaryDirectory() as folder:
            yield JsonFileAdapter(Path(folder) / "memory.json")

    @asynccontextmanager
    async def open_again(self, adapter: JsonFileAdapter, clock: Clock) -> AsyncIterator[Adapter]:
        yield JsonFileAdapter(adapter._path)

    async def leftovers(self, adapter: JsonFileAdapter, text: str) -> int:
        return sum(path.read_text().count(text) for path in adapter._path.parent.iterdir())


def test_the_third_party_adapter_is_short_and_uses_public_names() -> None:
    source = (EXAMPLES / "third_party_adapter.py").read_text()
    assert len(source.splitlines()) < 120
    assert "import _" not in source
    assert "memhub._" not in source


def test_every_example_is_run_here() -> None:
    tested = Path(__file__).read_text()
    assert [path.stem for path in EXAMPLES.glob("*.py") if path.stem not in tested] == []
