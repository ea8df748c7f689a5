"""How long a migration takes, SQLite to SQLite, against copying the same rows by hand.

By hand: each row of the source's table of records is read and written with executemany, in
transactions of the same size, to a table with the same indexes, its words to an FTS5 table; nothing
is planned, noted or compared. Memhub also plans, keeps a synced checkpoint, brings over what changes
meanwhile, and compares every record at the end.

    python bench/migration.py --records 100000
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sqlite3
import tempfile
import time
from collections import defaultdict
from contextlib import closing
from pathlib import Path
from typing import Any

from measure import table
from texts import Texts

from memhub import Fact, MemoryStore, Observation, Scope, migrate
from memhub.migration import Progress
from memhub.migration.sources import PAGE
from memhub_adapters.sqlite import SqliteAdapter

SCOPES = 100


async def filled(path: Path, count: int) -> None:
    texts = Texts()
    async with MemoryStore(SqliteAdapter(path, durability="normal")) as store:
        for n in range(0, count, 1000):
            facts = [Fact(text) for text in texts.memories(min(1000, count - n))]
            await store.observe(Observation(Scope(f"scope {n // 1000 % SCOPES}"), facts=facts))


def by_hand(source: Path, target: Path) -> None:
    """The records table as it is, page by page, and an index of its words."""
    with (
        closing(sqlite3.connect(source)) as old,
        closing(sqlite3.connect(target, isolation_level=None)) as new,
    ):
        new.executescript("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON")
        for (sql,) in old.execute(
            "SELECT sql FROM sqlite_schema WHERE tbl_name = 'record' AND sql IS NOT NULL"
        ):
            new.execute(sql)
        new.execute("CREATE VIRTUAL TABLE f USING fts5(content, tokenize='porter unicode61', content='')")
        names = [row[1] for row in old.execute("PRAGMA table_info(record)")]
        key, content = names.index("key"), names.index("content")
        marks = ",".join("?" * len(names))
        rows = old.execute(f"SELECT {','.join(names)} FROM record ORDER BY key")
        while page := rows.fetchmany(PAGE):
            new.execute("BEGIN IMMEDIATE")
            new.executemany(f"INSERT INTO record({','.join(names)}) VALUES({marks})", page)
            new.executemany(
                "INSERT INTO f(rowid, content) VALUES(?, ?)", [(row[key], row[content]) for row in page]
            )
            new.execute("COMMIT")


async def by_memhub(source: Path, target: Path, notes: Path) -> dict[str, float]:
    """The seconds of each phase."""
    spent: dict[str, float] = defaultdict(float)
    last = time.perf_counter()

    def tell(event: Progress) -> None:
        nonlocal last
        now = time.perf_counter()
        spent[event.phase] += now - last
        last = now

    async with (
        MemoryStore(SqliteAdapter(source), name="old") as old,
        MemoryStore(SqliteAdapter(target), name="new") as new,
    ):
        await migrate(old, new, checkpoint=notes, progress=tell)
    return spent


def run(count: int, folder: Path) -> list[dict[str, Any]]:
    source = folder / "old.db"
    asyncio.run(filled(source, count))
    began = time.perf_counter()
    by_hand(source, folder / "hand.db")
    hand = time.perf_counter() - began
    began = time.perf_counter()
    phases = asyncio.run(by_memhub(source, folder / "new.db", folder / "notes.db"))
    ours = time.perf_counter() - began
    row = {
        "records": count,
        "by_hand_s": round(hand, 2),
        "memhub_s": round(ours, 2),
        "ratio": round(ours / hand, 1),
    }
    return [row | {f"{name}_s": round(seconds, 2) for name, seconds in phases.items()}]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--folder", type=Path, help="a folder on the disk to measure; default: temporary")
    parser.add_argument("--json", type=Path, help="keep the figures here")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        rows = run(args.records, Path(folder))
    print(table("Migration, SQLite to SQLite", rows))
    if args.json:
        args.json.parent.mkdir(parents=True, exist_ok=True)
        args.json.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
