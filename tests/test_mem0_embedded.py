"""`mem0ai` in process: its files in one folder, its mouth shut, its embedder remembered, turns made facts."""

import asyncio
import json
import logging
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import pytest

from memhub import (
    AccessDenied,
    Conflict,
    Fact,
    HubError,
    InvalidConfig,
    MemoryStore,
    Observation,
    Query,
    RateLimited,
    Scope,
    Turn,
    Unavailable,
    Unsupported,
)
from memhub_adapters.embedders.hash import HashEmbedder
from memhub_adapters.mem0 import Mem0Adapter, embedded
from memhub_adapters.mem0.ledger import Entry
from memhub_adapters.mem0.model import ChatModel
from memhub_adapters.standins import Fault, Request, Response, Server

pytest.importorskip("mem0", reason="the extra mem0 is not installed")

T = TypeVar("T")
ME = Scope("me")
MARK = "qzxvkj"
SECRET = "sk-Sup3r-S3cret"


def run(adapter: Mem0Adapter, work: Callable[[MemoryStore], Awaitable[T]]) -> T:
    async def inside() -> T:
        async with MemoryStore(adapter) as store:
            return await work(store)

    return asyncio.run(inside())


async def three(store: MemoryStore) -> list[str]:
    for text in ("jasmine tea", "black coffee", "a bicycle with a flat tyre"):
        await store.observe(Observation(ME, facts=[Fact(text)]))
    return await found(store)


async def found(store: MemoryStore) -> list[str]:
    listed = await store.recall(Query(ME))
    best = await store.recall(Query(ME, text="jasmine tea", limit=1))
    return [hit.record.content for hit in (*listed.hits, *best.hits)]


ALL = ["a bicycle with a flat tyre", "black coffee", "jasmine tea", "jasmine tea"]


class Other(HashEmbedder):
    """An embedder of another name, and of another length if so made."""

    def __init__(self, dimensions: int = 256) -> None:
        super().__init__(dimensions)
        self.identity = "other"


def test_everything_is_in_the_folder_and_nothing_else_is_said_or_sent(tmp_path: Path) -> None:
    script = f"""
import asyncio, logging, socket, sys
logging.basicConfig(level=logging.DEBUG, stream=sys.stdout)
def refuse(*_): raise SystemExit("the network was asked for")
socket.socket.connect = refuse
from pathlib import Path
from memhub import Fact, MemoryStore, Observation, Patch, Query, Scope
from memhub_adapters.embedders.hash import HashEmbedder
from memhub_adapters.mem0 import embedded
async def main():
    async with MemoryStore(embedded(Path("memories"), HashEmbedder())) as store:
        done = await store.observe(Observation(Scope("{MARK}"), facts=[Fact("{MARK}")]))
        await store.update(done.records[0].id, Patch(content="{MARK} {MARK}"))
        await store.recall(Query(Scope("{MARK}"), text="{MARK}"))
        await store.delete(done.records[0].id)
asyncio.run(main())
"""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("MEM0")}
    home = tmp_path / "home"
    home.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env=environ | {"HOME": str(home)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert MARK not in done.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == ["home", "memories"]
    assert list(home.iterdir()) == []
    made = {path.name for path in (tmp_path / "memories").iterdir()}
    assert made == {"config.json", "embedder.json", "history.db", "ledger.db", "lock", "vectors"}


def test_another_embedder_is_refused_by_both_names_until_vectors_are_made_anew(tmp_path: Path) -> None:
    assert run(embedded(tmp_path, HashEmbedder()), three) == ALL
    for other in (Other(), HashEmbedder(64), Other(64)):
        with pytest.raises(InvalidConfig, match="memhub reembed STORE") as caught:
            run(embedded(tmp_path, other), found)
        assert f"{other.identity!r} of {other.dimensions} dimensions" in str(caught.value)
        assert "'hash' of 256 dimensions" in str(caught.value)
        steps: list[tuple[int, int]] = []
        adapter = embedded(tmp_path, other, reembedding=True)
        assert (
            run(adapter, lambda store, note=steps: store.reembed(progress=lambda *at: note.append(at))) == 3
        )
        assert steps == [(3, 3)]
        assert run(embedded(tmp_path, other), found) == ALL
        back = embedded(tmp_path, HashEmbedder(), reembedding=True)
        assert run(back, lambda store: store.reembed()) == 3
    assert run(embedded(tmp_path, HashEmbedder()), found) == ALL


class Failing(Other):
    """Gives up after so many texts."""

    def __init__(self, left: int) -> None:
        super().__init__(64)
        self.left = left
        self.texts = 0

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        self.texts += len(texts)
        self.left -= len(texts)
        if self.left < 0:
            raise Unavailable("the embedder is gone")
        return await super().embed(texts)


def test_making_vectors_anew_goes_on_where_it_stopped_and_the_old_ones_serve_until_then(
    tmp_path: Path,
) -> None:
    async def many(store: MemoryStore) -> None:
        for n in range(150):
            await store.observe(Observation(ME, facts=[Fact(f"memory {n}")]))

    run(embedded(tmp_path, HashEmbedder()), many)
    with pytest.raises(Unavailable, match="the embedder is gone"):
        run(embedded(tmp_path, Failing(100), reembedding=True), lambda store: store.reembed())
    first = run(
        embedded(tmp_path, HashEmbedder()), lambda store: store.recall(Query(ME, text="memory 7", limit=1))
    )
    assert [hit.record.content for hit in first.hits] == ["memory 7"]
    second = Failing(150)
    assert run(embedded(tmp_path, second, reembedding=True), lambda store: store.reembed()) == 150
    assert second.texts == 150 - 64
    assert (
        len(run(embedded(tmp_path, Other(64)), lambda store: store.recall(Query(ME, limit=1000))).hits) == 150
    )


def test_one_process_at_a_time(tmp_path: Path) -> None:
    async def work(store: MemoryStore) -> None:
        await store.ping()
        async with MemoryStore(embedded(tmp_path, HashEmbedder())) as other:
            await other.ping()

    with pytest.raises(Unavailable, match="another process has the folder open") as caught:
        run(embedded(tmp_path, HashEmbedder()), work)
    assert not caught.value.retryable


class Ended(Exception):
    """The process has ended here."""


@pytest.mark.parametrize("said", ["fact", "turns"])
def test_a_key_holds_though_the_process_ends_before_it_is_noted(tmp_path: Path, said: str) -> None:
    with model("Drinks oolong") as (server, chat):
        items = {"facts": [Fact("tea")]} if said == "fact" else {"turns": [Turn("user", "Oolong, please.")]}
        observation = Observation(ME, **items, idempotency_key="k")
        adapter = embedded(tmp_path, HashEmbedder(), chat)
        ledger, notes = adapter._gateway.ledger, []

        async def ending(user: str, key: str, entry: Entry) -> None:
            notes.append(entry)
            if len(notes) == 2:
                raise Ended
            await note(user, key, entry)

        note, ledger.note = ledger.note, ending
        with pytest.raises(Unavailable, match="failed with Ended"):
            run(adapter, lambda store: store.observe(observation))
        for _ in range(2):
            again = run(embedded(tmp_path, HashEmbedder(), chat), lambda store: store.observe(observation))
            assert (again.replayed, len(again.records)) == (True, 1)
        other = replace(
            observation, **{name: [replace(one, content="x") for one in some] for name, some in items.items()}
        )
        with pytest.raises(Conflict, match="another payload"):
            run(embedded(tmp_path, HashEmbedder(), chat), lambda store: store.observe(other))
        assert (
            len(run(embedded(tmp_path, HashEmbedder(), chat), lambda store: store.recall(Query(ME))).hits)
            == 1
        )
        assert len(server.requests) == (said == "turns")


def test_a_damaged_note_is_named(tmp_path: Path) -> None:
    (tmp_path / "embedder.json").write_text("{")
    with pytest.raises(InvalidConfig, match=r"embedder\.json: is damaged"):
        run(embedded(tmp_path, HashEmbedder()), found)


def test_without_a_model_turns_are_refused(tmp_path: Path) -> None:
    said = Observation(ME, turns=[Turn("user", "I drink tea.")])
    with pytest.raises(Unsupported, match="no model is configured to make facts of turns"):
        run(embedded(tmp_path, HashEmbedder()), lambda store: store.observe(said))


@contextmanager
def model(*facts: str) -> Iterator[tuple[Server, ChatModel]]:
    """A model on a socket that makes these facts of everything."""

    def answer(request: Request) -> Response:
        assert request.path == "/v1/chat/completions"
        assert request.headers["authorization"] == f"Bearer {SECRET}"
        made = json.dumps({"memory": [{"text": fact} for fact in facts]})
        return Response(200, {"choices": [{"message": {"role": "assistant", "content": made}}]})

    with Server(answer) as server:
        yield server, ChatModel(base_url=f"{server.url}/v1", model="m", api_key=SECRET, timeout=5)


def test_turns_become_the_facts_that_the_model_makes_of_them(tmp_path: Path) -> None:
    with model("Drinks oolong", "Lives in Porto") as (server, chat):

        async def work(store: MemoryStore) -> list[str]:
            turns = [Turn("user", "Oolong, please. I live in Porto."), Turn("assistant", "Noted.")]
            done = await store.observe(Observation(ME, turns=turns))
            again = await store.observe(Observation(ME, turns=turns))
            assert again.records == (), "the model made nothing that was not there"
            assert [await store.get(record.id) for record in done.records] == list(done.records)
            return [record.content for record in done.records]

        assert run(embedded(tmp_path, HashEmbedder(), chat), work) == ["Drinks oolong", "Lives in Porto"]
        asked = json.dumps(server.requests[0].json)
        assert "Oolong, please." in asked
        assert server.requests[0].json["response_format"] == {"type": "json_object"}


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (Fault.of_status(401, body=f'{{"error": "{SECRET}"}}'.encode()), AccessDenied),
        (Fault.of_status(429, retry_after="3"), RateLimited),
        (Fault.of_status(500), Unavailable),
        (Fault(name="garbage", status=200, body=SECRET.encode()), Unavailable),
        (Fault(name="another shape", status=200, body=b'{"choices": []}'), Unavailable),
        (Fault(name="dropped", drop=True), Unavailable),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_a_model_that_fails_is_told_and_nothing_is_stored(
    tmp_path: Path, fault: Fault, kind: type[HubError], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    said = Observation(ME, turns=[Turn("user", f"I drink {MARK}.")])
    with model("Drinks tea") as (server, chat):
        server.faults.order(fault)

        async def work(store: MemoryStore) -> HubError:
            with pytest.raises(kind) as caught:
                await store.observe(said)
            assert (await store.recall(Query(ME))).hits == ()
            assert caught.value.unapplied
            return caught.value

        error = run(embedded(tmp_path, HashEmbedder(), chat), work)
        told = f"{error!r} {error} {error.__cause__!r} {caplog.text} {chat!r}"
        assert SECRET not in told
        assert MARK not in told


def test_an_embedder_that_fails_loses_no_fact_in_silence(tmp_path: Path) -> None:
    with model("Drinks oolong", "Lives in Porto") as (_, chat):

        async def work(store: MemoryStore) -> None:
            with pytest.raises(Unavailable, match="the embedder is gone"):
                await store.observe(Observation(ME, turns=[Turn("user", "Oolong, please.")]))
            with pytest.raises(Unavailable, match="the embedder is gone"):
                await store.observe(Observation(ME, facts=[Fact("tea")]))
            assert (await store.recall(Query(ME))).hits == ()

        run(embedded(tmp_path, Failing(1), chat), work)
