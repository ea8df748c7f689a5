"""The Qdrant store against Qdrant's own libraries by hand: over a socket, and embedded.

    python bench/qdrant_store.py [--records 10000] [--folder DIR] [--json FILE]

Medians of calls made in turn. `ratio` is Memhub's time over that of the same work by hand. The server
is the stand-in, which is the client's local engine behind HTTP, in a process of its own: absolute times
say nothing about a real server. Embedded recall is also compared with the client's local mode. What
each row means: docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from measure import side_by_side, table
from qdrant_client import AsyncQdrantClient
from qdrant_raw import RawClient, RawEdge, server
from texts import Texts
from writing import observation

from memhub import MemoryStore, Patch, Query, Scope
from memhub_adapters.embedders.hash import HashEmbedder
from memhub_adapters.qdrant import QdrantAdapter
from memhub_adapters.qdrant.searching import CANDIDATES, LIST

DIMENSIONS = 384
SCOPES = 10
CALLS = 100
SMALL = 500


def label(scope: str) -> str:
    """How the store writes a scope's label."""
    return json.dumps(scope)


async def fill(store: MemoryStore, texts: list[str], batch: int = 250) -> list[str]:
    """The texts dealt out over the scopes; the ids of the first scope's."""
    ids = []
    for scope in range(SCOPES):
        mine = texts[scope::SCOPES]
        for at in range(0, len(mine), batch):
            done = await store.observe(observation(str(scope), mine[at : at + batch]))
            ids += [record.id for record in done.records] if scope == 0 else []
    return ids


@contextmanager
def served() -> Iterator[str]:
    """A stand-in in a process of its own; its url."""
    code = (
        "import sys\n"
        "from memhub_adapters.standins.qdrant import qdrant_server\n"
        "with qdrant_server() as server:\n"
        "    print(server.url, flush=True)\n"
        "    sys.stdin.read()\n"
    )
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process.stdout.readline().strip()
        process.stdin.close()


async def over_a_socket(texts: Texts) -> list[dict[str, Any]]:
    with served() as url:
        raw = server(url, DIMENSIONS)
        await raw.make(indexes=True)
        adapter = QdrantAdapter.remote(url, collection="memories", embedder=HashEmbedder(DIMENSIONS))
        async with MemoryStore(adapter, timeout=None) as store:
            memories = texts.memories(SMALL)
            ids = await fill(store, memories)
            plain = []
            for scope in range(SCOPES):
                made = await raw.write(label(str(scope)), memories[scope::SCOPES])
                plain += made if scope == 0 else []
            rows = await _verbs(store, raw, (ids, plain), texts, memories)
        await raw.client.close()
    return rows


Held = tuple[list[str], list[str]]
"""The ids of the same records: Memhub's, and those by hand."""


async def _verbs(
    store: MemoryStore, raw: RawClient, held: Held, texts: Texts, memories: list[str]
) -> list[dict[str, Any]]:
    questions = [texts.question(text) for text in memories[::SCOPES]] * 2
    fresh = texts.memories(CALLS)
    written = await side_by_side(
        "one write",
        [[text] for text in fresh],
        lambda mine: raw.write(label("0"), mine),
        lambda mine: store.observe(observation("0", mine)),
    )
    return [
        written,
        *await _recalls(store, raw, questions),
        *await _by_id(store, raw, held, fresh),
    ]


async def _recalls(store: MemoryStore, raw: RawClient, questions: list[str]) -> list[dict[str, Any]]:
    scope, named = Scope("0"), label("0")
    asked = [(text, Query(scope, text=text, mode="keyword")) for text in questions]
    return [
        await side_by_side(
            f"recall by words, the same {CANDIDATES} candidates",
            asked,
            lambda pair: raw.by_words(named, pair[0], CANDIDATES),
            lambda pair: store.recall(pair[1]),
        ),
        await side_by_side(
            "recall by words, against the 10 best as Qdrant ranks them",
            asked,
            lambda pair: raw.by_words(named, pair[0], 10, scoped=False),
            lambda pair: store.recall(pair[1]),
        ),
        await side_by_side(
            "recall by words and meaning",
            questions,
            lambda text: raw.by_both(named, text, LIST, CANDIDATES),
            lambda text: store.recall(Query(scope, text=text)),
        ),
    ]


async def _by_id(store: MemoryStore, raw: RawClient, held: Held, fresh: list[str]) -> list[dict[str, Any]]:
    named, (ids, plain) = label("0"), held
    some = range(len(ids))
    return [
        await side_by_side(
            "list, with a cursor that keeps later writes out",
            some,
            lambda _: raw.list_steadily(named, 11),
            lambda _: store.recall(Query(Scope("0"))),
        ),
        await side_by_side("get", some, lambda n: raw.get(plain[n]), lambda n: store.get(ids[n])),
        await side_by_side(
            "update, if unchanged",
            some,
            lambda n: raw.update(plain[n], named, fresh[n]),
            lambda n: store.update(ids[n], Patch(content=fresh[n])),
        ),
        await side_by_side(
            "delete, told whether it was there",
            some[::2],
            lambda n: raw.delete_once(plain[n]),
            lambda n: store.delete(ids[n]),
        ),
        await side_by_side(
            "delete, against one that is not told",
            some[1::2],
            lambda n: raw.delete(plain[n]),
            lambda n: store.delete(ids[n]),
        ),
    ]


async def embedded(folder: Path, texts: Texts, count: int) -> list[dict[str, Any]]:
    memories = texts.memories(count)
    questions = [texts.question(text) for text in memories[::SCOPES]][:CALLS]
    raw = RawEdge(str(folder / "raw"), DIMENSIONS)
    for scope in range(SCOPES):
        mine = memories[scope::SCOPES]
        for at in range(0, len(mine), 250):
            raw.write(label(str(scope)), mine[at : at + 250])
    adapter = QdrantAdapter.embedded(
        folder / "store", collection="memories", embedder=HashEmbedder(DIMENSIONS)
    )
    async with MemoryStore(adapter, timeout=None) as store:
        ids = await fill(store, memories)
        rows = await _embedded_verbs(store, raw, ids, questions, texts)
        rows += await _against_local_mode(store, memories, questions)
    raw.shard.close()
    return rows


async def _embedded_verbs(
    store: MemoryStore, raw: RawEdge, ids: list[str], questions: list[str], texts: Texts
) -> list[dict[str, Any]]:
    scope, named = Scope("0"), label("0")
    plain = raw.write(named, texts.memories(CALLS))
    some, fresh = range(CALLS), [[text] for text in texts.memories(CALLS)]

    async def scoped(text: str) -> None:
        raw.by_words(named, text, CANDIDATES)

    return [
        await side_by_side(
            "words weighed by the scope, against by the collection",
            questions * 3,
            lambda text: raw.by_words(named, text, CANDIDATES, scoped=False),
            scoped,
        ),
        await side_by_side(
            "one write",
            fresh,
            lambda mine: raw.write(named, mine),
            lambda mine: store.observe(observation("0", mine)),
        ),
        await side_by_side(
            f"recall by words, the same {CANDIDATES} candidates",
            questions,
            lambda text: raw.by_words(named, text, CANDIDATES),
            lambda text: store.recall(Query(scope, text=text, mode="keyword")),
        ),
        await side_by_side("list", some, lambda _: raw.list(named, 11), lambda _: store.recall(Query(scope))),
        await side_by_side("get", some, lambda n: raw.get(plain[n]), lambda n: store.get(ids[n])),
    ]


async def _against_local_mode(
    store: MemoryStore, memories: list[str], questions: list[str]
) -> list[dict[str, Any]]:
    warnings.simplefilter("ignore")  # the local mode warns that it has no indexes
    raw, scope, named = RawClient(AsyncQdrantClient(":memory:"), DIMENSIONS), Scope("0"), label("0")
    await raw.make(indexes=False)
    for n in range(SCOPES):
        await raw.write(label(str(n)), memories[n::SCOPES])
    some = questions[:20]
    rows = [
        await side_by_side(
            "recall by words, against the client's local mode",
            some,
            lambda text: raw.by_words(named, text, 10),
            lambda text: store.recall(Query(scope, text=text, mode="keyword")),
        ),
        await side_by_side(
            "recall by words and meaning, against the client's local mode",
            some,
            lambda text: raw.by_both(named, text, LIST, 10),
            lambda text: store.recall(Query(scope, text=text)),
        ),
    ]
    await raw.client.close()
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--records", type=int, default=10_000, help="in the embedded store")
    parser.add_argument("--folder", type=Path, help="where the files of the run go")
    parser.add_argument("--json", type=Path, help="keep the figures here")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        found = {
            f"Over a socket, {SMALL} records in {SCOPES} scopes": asyncio.run(over_a_socket(Texts())),
            f"Embedded, {args.records:,} records in {SCOPES} scopes": asyncio.run(
                embedded(Path(folder), Texts(), args.records)
            ),
        }
    for title, rows in found.items():
        print(table(title, rows))
    if args.json:
        args.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
