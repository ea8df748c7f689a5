"""What Memhub adds to a call to Mem0 over a socket, against httpx by hand sending the same requests.

    python bench/mem0_socket.py [--calls 400] [--json FILE]

The server is the stand-in for Mem0's own server, in a process of its own on loopback: a real one is
slower by far, so these ratios are the worst case. By hand means one `httpx.AsyncClient`, the same
bodies, the answer parsed as JSON. An update and a delete are two requests each, on both sides: Memhub
looks at what it changes.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from measure import side_by_side, table
from texts import Texts

from memhub import Fact, MemoryStore, Observation, Patch, Query, Scope
from memhub_adapters.http import Http
from memhub_adapters.mem0 import self_hosted

KEY = "a-key-of-sixteen-letters"
RECORDS = 200
SERVE = f"""
import sys
from memhub_adapters.standins import Server
from memhub_adapters.standins.mem0_self_hosted import SelfHostedMem0
with Server(SelfHostedMem0({KEY!r})) as server:
    print(server.url, flush=True)
    sys.stdin.read()
"""


@contextmanager
def server() -> Iterator[str]:
    """The address of a stand-in in another process."""
    command = [sys.executable, "-c", SERVE]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process.stdout.readline().strip()
        process.stdin.close()


class ByHand:
    """The same requests, with the metadata that a memory of one's own might have."""

    def __init__(self, client: httpx.AsyncClient, user: str) -> None:
        self._client = client
        self._user = user

    async def add(self, text: str) -> str:
        metadata = {"kind": "fact", "created_at": "2026-03-01T12:00:00+00:00", "revision": "0123456789abcdef"}
        body = {"messages": [{"role": "user", "content": text}], "user_id": self._user, "metadata": metadata}
        answer = await self._client.post("/memories", json={**body, "infer": False})
        return answer.json()["results"][0]["id"]

    async def get(self, id: str) -> dict[str, Any]:
        return (await self._client.get(f"/memories/{id}")).json()

    async def search(self, text: str) -> list[dict[str, Any]]:
        body = {"query": text, "filters": {"user_id": self._user}, "top_k": 10, "threshold": 0.0}
        return (await self._client.post("/search", json=body)).json()["results"]

    async def list(self, _: object) -> list[dict[str, Any]]:
        params = {"user_id": self._user, "top_k": "1000"}
        rows = (await self._client.get("/memories", params=params)).json()["results"]
        return sorted(rows, key=lambda row: row["created_at"], reverse=True)[:10]

    async def update(self, id: str) -> None:
        row = await self.get(id)
        body = {"text": f"{row['memory']} still", "metadata": row["metadata"]}
        (await self._client.put(f"/memories/{id}", json=body)).json()

    async def delete(self, id: str) -> None:
        await self.get(id)
        (await self._client.delete(f"/memories/{id}")).json()


async def verbs(url: str, calls: int) -> list[dict[str, Any]]:
    """Each verb by hand and by Memhub, in turn."""
    texts, mine = Texts(7), Scope("bench")
    memories = texts.memories(RECORDS)
    headers = {"x-api-key": KEY}
    async with (
        httpx.AsyncClient(base_url=url, headers=headers, timeout=20, trust_env=False) as client,
        MemoryStore(self_hosted(Http(url, timeout=20), KEY), timeout=None) as store,
    ):
        hand = ByHand(client, "by-hand")

        async def observe(text: str) -> str:
            done = await store.observe(Observation(mine, facts=[Fact(text)]))
            return done.records[0].id

        plain = [await hand.add(text) for text in memories]
        ids = [await observe(text) for text in memories]
        pairs = list(zip(plain, ids, strict=True))
        questions = [texts.question(memories[n % RECORDS]) for n in range(calls)]
        return [
            await side_by_side("observe one fact", texts.memories(calls), hand.add, observe),
            await side_by_side(
                "get", (pairs * 2)[:calls], lambda p: hand.get(p[0]), lambda p: store.get(p[1])
            ),
            await side_by_side(
                "recall 10 by text",
                questions,
                hand.search,
                lambda text: store.recall(Query(mine, text=text, limit=10)),
            ),
            await side_by_side(
                "list 10 of a scope", range(30), hand.list, lambda _: store.recall(Query(mine, limit=10))
            ),
            await side_by_side(
                "update (look, change)",
                pairs,
                lambda p: hand.update(p[0]),
                lambda p: store.update(p[1], Patch(content="changed")),
            ),
            await side_by_side(
                "delete (look, delete)", pairs, lambda p: hand.delete(p[0]), lambda p: store.delete(p[1])
            ),
        ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--calls", type=int, default=400)
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    with server() as url:
        rows = asyncio.run(verbs(url, min(chosen.calls, 2 * RECORDS)))
    print(table("Mem0 over a socket, against httpx by hand", rows))
    if chosen.json:
        chosen.json.write_text(json.dumps({"mem0": rows}, indent=2), encoding="utf-8")


if __name__ == "__main__":
    main()
