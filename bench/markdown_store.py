"""The Markdown store beside the SQLite store and beside bare stats of the same files.

    python bench/markdown_store.py [--sizes 1000,10000] [--folder DIR]

Medians of calls made in turn, through the async API. `stat_ms` is one `os.scandir` over the scope's
folder with one `stat` a file: what a look at hand-edited files cannot do without. The goal for recall
is stat_ms plus twice the SQLite store's time.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import tempfile
import time
from pathlib import Path
from typing import Any

from measure import side_by_side, table
from texts import Texts

from memhub import Fact, MemoryStore, Observation, Patch, Query, Scope
from memhub_adapters.markdown import MarkdownAdapter
from memhub_adapters.sqlite import SqliteAdapter

CALLS = 100
SCOPE = Scope("notes")


async def fill(store: MemoryStore, memories: list[str]) -> float:
    began = time.perf_counter()
    for at in range(0, len(memories), 500):
        await store.observe(Observation(SCOPE, facts=[Fact(text) for text in memories[at : at + 500]]))
    return time.perf_counter() - began


def stats(root: Path) -> float:
    """Seconds for one look at every file of the scope."""
    [folder] = [entry for entry in root.iterdir() if not entry.name.startswith(".")]
    began = time.perf_counter()
    with os.scandir(folder) as entries:
        for entry in entries:
            entry.stat(follow_symlinks=False)
    return time.perf_counter() - began


async def measure(folder: Path, texts: Texts, size: int) -> list[dict[str, Any]]:
    memories = texts.memories(size)
    questions = [texts.question(text) for text in memories[:CALLS]]
    root = folder / f"notes-{size}"
    async with (
        MemoryStore(MarkdownAdapter(root)) as notes,
        MemoryStore(SqliteAdapter(folder / f"{size}.db")) as plain,
    ):
        took = await fill(notes, memories)
        await fill(plain, memories)
        # What changed within the last two seconds is read again at each look, not only compared.
        await asyncio.sleep(2.5)
        await notes.recall(Query(SCOPE))
        ids = [hit.record.id for hit in (await notes.recall(Query(SCOPE, limit=CALLS))).hits]
        rows = [
            await _beside(notes, plain, f"{size:,}: recall", [Query(SCOPE, text=text) for text in questions]),
            await _beside(notes, plain, f"{size:,}: list", [Query(SCOPE)] * CALLS),
            await side_by_side(
                f"{size:,}: one write", texts.memories(CALLS), None, lambda text: fill(notes, [text])
            ),
            await side_by_side(
                f"{size:,}: update", ids, None, lambda one: notes.update(one, Patch(content=texts.memory()))
            ),
        ]
    looks = sorted(stats(root) for _ in range(21))
    for row in rows[:2]:
        row["stat_ms"] = round(1000 * looks[10], 3)
        row["against_goal"] = round(row["memhub_ms"] / (row["stat_ms"] + 2 * row["sqlite_ms"]), 2)
    rows.append({"what": f"{size:,}: written in batches of 500", "records_per_s": round(size / took)})
    return rows


async def _beside(notes: MemoryStore, plain: MemoryStore, name: str, queries: list[Query]) -> dict[str, Any]:
    ours = await side_by_side(name, queries, None, notes.recall)
    theirs = await side_by_side(name, queries, None, plain.recall)
    return ours | {"sqlite_ms": theirs["memhub_ms"]}


async def run(args: argparse.Namespace, folder: Path) -> None:
    texts, rows = Texts(), []
    for size in map(int, args.sizes.split(",")):
        rows += await measure(folder, texts, size)
    print(table("The Markdown store", [{k: v for k, v in row.items() if k != "raw_ms"} for row in rows]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--sizes", default="1000,10000")
    parser.add_argument("--folder", type=Path, help="a folder on the disk to measure; default: temporary")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        asyncio.run(run(args, Path(folder)))


if __name__ == "__main__":
    main()
