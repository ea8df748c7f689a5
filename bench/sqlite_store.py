"""The SQLite store against sqlite3 and FTS5 by hand, same disk, same durability, same run.

    python bench/sqlite_store.py [--sizes 1000,10000,100000] [--million] [--folder DIR] [--json FILE]

Medians of calls made in turn, through the async API, facts that stand alone. `ratio` is Memhub's
time over the baseline's: below 1 is faster. What each column means: docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import platform
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from measure import seconds, side_by_side, table
from raw import Raw
from texts import Texts
from writing import alone_and_in_batches, observation

import memhub
from memhub import MemoryStore, Patch, Query, Scope
from memhub_adapters.sqlite import SqliteAdapter

CALLS = 200
WRITERS = 32
EACH = 40
COLD = """
import asyncio, resource, sys, time
began = time.perf_counter()
from memhub import MemoryStore, Query, Scope
from memhub_adapters.sqlite import SqliteAdapter
loaded = time.perf_counter()
async def main():
    async with MemoryStore(SqliteAdapter(sys.argv[1])) as store:
        await store.ping()
        opened = time.perf_counter()
        await store.recall(Query(Scope("0"), text=sys.argv[2]))
        print(loaded - began, opened - loaded, time.perf_counter() - opened,
              resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
asyncio.run(main())
"""


async def fill(store: MemoryStore, raw: Raw | None, scope: str, texts: list[str], batch: int = 1000) -> None:
    for at in range(0, len(texts), batch):
        if raw is not None:
            raw.write(scope, texts[at : at + batch])
        await store.observe(observation(scope, texts[at : at + batch]))


async def writes(folder: Path, texts: Texts) -> list[dict[str, Any]]:
    """Durable writes into a scope of 1,000: alone, 32 at a time, in batches."""
    adapter = SqliteAdapter(folder / "writes.db")
    with closing(Raw(folder / "writes-raw.db")) as raw:
        async with MemoryStore(adapter) as store:
            await fill(store, raw, "0", texts.memories(1000))
            rows = await alone_and_in_batches(
                store, raw.write, texts, calls=500, each=EACH, sizes=(WRITERS, 100)
            )
            rows.append(await _concurrent(adapter, store, texts, rows[1]["records_per_s"]))
    return rows


async def _concurrent(
    adapter: SqliteAdapter, store: MemoryStore, texts: Texts, batch_rate: int
) -> dict[str, Any]:
    work = [texts.memories(EACH) for _ in range(WRITERS)]

    async def writer(mine: list[str]) -> None:
        for text in mine:
            await store.observe(observation("0", [text]))

    before = adapter.commits
    took = await seconds(asyncio.gather(*map(writer, work)))
    count, commits = WRITERS * EACH, adapter.commits - before
    rate = round(count / took)
    return {
        "what": f"{WRITERS} writers at once, one record a call",
        "calls": count,
        "records_per_s": rate,
        "share_of_batch_rate": round(rate / batch_rate, 2),
        "writes_per_sync": round(count / commits, 1),
    }


async def one_scope(folder: Path, texts: Texts, size: int) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """All records in the scope that is asked."""
    path, plain = folder / f"one-{size}.db", folder / f"one-{size}-raw.db"
    memories = texts.memories(size)
    questions = [texts.question(text) for text in memories[:: max(1, size // CALLS)]][:CALLS]
    with closing(Raw(plain)) as raw:
        async with MemoryStore(SqliteAdapter(path)) as store:
            began = time.perf_counter()
            await fill(store, None, "0", memories)
            imported = time.perf_counter() - began
            for at in range(0, size, 1000):
                raw.write("0", memories[at : at + 1000])
            rows = await _verbs(store, raw, questions, texts, size)
    facts = {
        "records": size,
        "import_s": round(imported, 2),
        "records_per_s": round(size / imported),
        "file_mb": round(path.stat().st_size / 2**20, 1),
        "raw_file_mb": round(plain.stat().st_size / 2**20, 1),
        **_cold(path, questions[0]),
    }
    return rows, facts


async def _verbs(
    store: MemoryStore, raw: Raw, questions: list[str], texts: Texts, size: int
) -> list[dict[str, Any]]:
    scope = Scope("0")
    page = await store.recall(Query(scope, limit=CALLS))
    ids = [hit.record.id for hit in page.hits]
    plain = [record["id"] for record in raw.list("0", CALLS)]
    fresh = texts.memories(CALLS)
    label = f"{size:,}: "
    return [
        await side_by_side(
            label + "recall",
            questions * 2,
            lambda text: raw.recall("0", text),
            lambda text: store.recall(Query(scope, text=text)),
        ),
        await side_by_side(
            label + "list",
            range(CALLS),
            lambda _: raw.list("0"),
            lambda _: store.recall(Query(scope)),
        ),
        await side_by_side(
            label + "get", range(CALLS), lambda n: raw.get(plain[n]), lambda n: store.get(ids[n])
        ),
        await side_by_side(
            label + "update",
            range(CALLS),
            lambda n: raw.update(plain[n], fresh[n]),
            lambda n: store.update(ids[n], Patch(content=fresh[n])),
        ),
        await side_by_side(
            label + "delete (and gone from the files)",
            range(CALLS),
            lambda n: raw.delete(plain[n]),
            lambda n: store.delete(ids[n]),
        ),
    ]


async def foreign(folder: Path, texts: Texts, sizes: list[int], scopes: int) -> list[dict[str, Any]]:
    """A scope of 1,000 records while the others grow; one file, measured at each size."""
    rows = []
    memories = texts.memories(1000)
    questions = [texts.question(text) for text in memories[::5]]
    with closing(Raw(folder / f"foreign-{scopes}-raw.db")) as raw:
        async with MemoryStore(SqliteAdapter(folder / f"foreign-{scopes}.db")) as store:
            await fill(store, raw, "0", memories)
            held = 1000
            for size in sizes:
                await _grow(store, raw, texts, size - held, scopes)
                held = size
                rows.append(
                    await side_by_side(
                        f"{size:,} records in {scopes:,} scopes",
                        questions * 2,
                        lambda text: raw.recall("0", text),
                        lambda text: store.recall(Query(Scope("0"), text=text)),
                    )
                )
    for row in rows:
        row["against_first"] = round(row["memhub_ms"] / rows[0]["memhub_ms"], 2)
    return rows


async def _grow(store: MemoryStore, raw: Raw, texts: Texts, count: int, scopes: int) -> None:
    others = max(1, scopes - 1)
    for number in range(1, others + 1):
        share = texts.memories(count // others + (number <= count % others))
        if share:
            await fill(store, raw, str(number), share)


async def many_scopes(folder: Path, texts: Texts, count: int = 10_000) -> dict[str, Any]:
    """One record in each of many scopes."""
    path = folder / "many.db"
    async with MemoryStore(SqliteAdapter(path)) as store:
        texts_ = texts.memories(count)
        for at in range(0, count, 200):
            part = enumerate(texts_[at : at + 200], at)
            await asyncio.gather(*(store.observe(observation(f"user:{n}", [text])) for n, text in part))
    facts = _cold(path, "what is there")
    return {"scopes": count, "bytes_a_record": round(path.stat().st_size / count), **facts}


async def overhead(folder: Path, texts: Texts) -> list[dict[str, Any]]:
    """What the way through the hub costs, on a recall that is itself nearly free."""
    rows = []
    async with MemoryStore(SqliteAdapter(folder / "hops.db")) as store:
        await fill(store, None, "0", texts.memories(10))
        query = Query(Scope("0"), text=texts.memory())
        rows.append(
            await side_by_side("async recall of 10", range(1000), None, lambda _: store.recall(query))
        )
        rows.append(await side_by_side("async ping", range(1000), None, lambda _: store.ping()))
    return rows


def _cold(path: Path, question: str) -> dict[str, Any]:
    """A new process: import, open, first recall, and its largest memory."""
    found = subprocess.run(
        [sys.executable, "-c", COLD, str(path), question], check=True, capture_output=True, text=True
    )
    load, opened, first, rss = map(float, found.stdout.split())
    return {
        "cold_import_ms": round(1000 * load),
        "cold_open_ms": round(1000 * opened, 1),
        "cold_first_recall_ms": round(1000 * first, 1),
        "cold_rss_mb": round(rss / 1024),
    }


async def run(args: argparse.Namespace, folder: Path) -> dict[str, Any]:
    texts = Texts()
    sizes = [int(size) for size in args.sizes.split(",")] + ([1_000_000] if args.million else [])
    found: dict[str, Any] = {
        "versions": {
            "memhub": memhub.__version__,
            "python": platform.python_version(),
            "sqlite": sqlite3.sqlite_version,
        }
    }
    show(found, "Writes, durable, scope of 1,000", "writes", await writes(folder, texts))
    rows, facts = [], []
    for size in sizes:
        some, fact = await one_scope(folder, texts, size)
        rows += some
        facts.append(fact)
    show(found, "Verbs, all records in one scope", "verbs", rows)
    show(found, "Files and processes, all records in one scope", "files", facts)
    grown = [size for size in sizes if size >= 10_000] or [10_000]
    for scopes in (100, 1000):
        title = f"Recall in a scope of 1,000 while {scopes - 1} others grow"
        show(found, title, f"foreign_{scopes}", await foreign(folder, texts, grown, scopes))
    show(found, "One record a scope", "many_scopes", [await many_scopes(folder, texts)])
    show(found, "The way there", "overhead", await overhead(folder, texts))
    return found


def show(found: dict[str, Any], title: str, name: str, rows: list[dict[str, Any]]) -> None:
    found[name] = rows
    print(table(title, rows), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--sizes", default="1000,10000,100000")
    parser.add_argument("--million", action="store_true")
    parser.add_argument("--folder", type=Path, help="a folder on the disk to measure; default: temporary")
    parser.add_argument("--json", type=Path, help="keep the figures here")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        found = asyncio.run(run(args, Path(folder)))
    found["peak_rss_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    if args.json:
        args.json.parent.mkdir(parents=True, exist_ok=True)
        args.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
