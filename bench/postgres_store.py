"""The PostgreSQL store against psycopg and tsvector by hand, and against LangGraph's store, on one server.

    python bench/postgres_store.py [--dsn DSN] [--sizes 1000,10000,100000] [--vectors 10000] [--json FILE]

Without a DSN it starts a server of its own, with fsync on. Medians of calls made in turn, through the
async API. `ratio` is Memhub's time over the baseline's: below 1 is faster. LangGraph's rows appear where
`langgraph-checkpoint-postgres` is installed. What each column means: docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import platform
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psycopg
from measure import seconds, side_by_side, table
from postgres_raw import Raw
from texts import Texts
from writing import alone_and_in_batches, observation

import memhub
from memhub import Fact, MemoryStore, Observation, Patch, Query, Scope
from memhub_adapters.embedders.hash import HashEmbedder
from memhub_adapters.postgres import PostgresAdapter

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from postgres_server import Server

CALLS = 200
WRITERS = 32
EACH = 20
DIMENSIONS = 384


@asynccontextmanager
async def both(dsn: str, name: str, **options: Any) -> AsyncIterator[tuple[MemoryStore, Raw]]:
    """A store and a baseline, each in a schema of its own, removed afterwards."""
    raw = await Raw.make(dsn, f"raw_{name}")
    try:
        async with MemoryStore(
            PostgresAdapter(dsn, schema=f"memhub_{name}", **options), timeout=None
        ) as store:
            await store.ping()
            yield store, raw
    finally:
        await raw.db.execute(f"DROP SCHEMA raw_{name} CASCADE")
        await raw.db.execute(f"DROP SCHEMA memhub_{name} CASCADE")
        await raw.close()


async def fill(store: MemoryStore, raw: Raw, scope: str, texts: list[str], batch: int = 1000) -> None:
    for at in range(0, len(texts), batch):
        await raw.write(scope, texts[at : at + batch])
        await store.observe(observation(scope, texts[at : at + batch]))


async def settle(raw: Raw, name: str) -> None:
    """What autovacuum would have done by now."""
    for schema in (f"raw_{name}", f"memhub_{name}"):
        rows = await (
            await raw.db.execute("SELECT tablename FROM pg_tables WHERE schemaname = %s", (schema,))
        ).fetchall()
        for (one,) in rows:
            await raw.db.execute(f"VACUUM ANALYZE {schema}.{one}")


async def writes(dsn: str, texts: Texts) -> list[dict[str, Any]]:
    """Durable writes into a scope of 1,000: alone, in batches, 32 at a time."""
    async with both(dsn, "writes") as (store, raw):
        await fill(store, raw, "0", texts.memories(1000))
        rows = await alone_and_in_batches(
            store, raw.write, texts, calls=CALLS, each=EACH, sizes=(WRITERS, 100)
        )
        rows += [await _concurrent(store, texts, scopes) for scopes in (1, WRITERS)]
    return rows


async def _concurrent(store: MemoryStore, texts: Texts, scopes: int) -> dict[str, Any]:
    work = [(str(n % scopes), texts.memories(EACH)) for n in range(WRITERS)]

    async def writer(scope: str, mine: list[str]) -> None:
        for text in mine:
            await store.observe(observation(scope, [text]))

    took = await seconds(asyncio.gather(*(writer(*one) for one in work)))
    what = f"{WRITERS} writers at once, one record a call, {scopes} scopes"
    return {"what": what, "calls": WRITERS * EACH, "records_per_s": round(WRITERS * EACH / took)}


async def one_scope(dsn: str, texts: Texts, size: int) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """All records in the scope that is asked."""
    name, memories = f"one_{size}", texts.memories(size)
    questions = [texts.question(text) for text in memories[:: max(1, size // CALLS)]][:CALLS]
    async with both(dsn, name) as (store, raw):
        began = time.perf_counter()
        for at in range(0, size, 1000):
            await store.observe(observation("0", memories[at : at + 1000]))
        imported = time.perf_counter() - began
        for at in range(0, size, 1000):
            await raw.write("0", memories[at : at + 1000])
        await settle(raw, name)
        rows = await _verbs(store, raw, questions, texts, size)
        facts = {
            "records": size,
            "import_s": round(imported, 2),
            "records_per_s": round(size / imported),
            "memhub_mb": await _megabytes(raw, f"memhub_{name}"),
            "raw_mb": await _megabytes(raw, f"raw_{name}"),
        }
    return rows, facts


async def _megabytes(raw: Raw, schema: str) -> float:
    sql = (
        "SELECT sum(pg_total_relation_size(oid)) FROM pg_class "
        "WHERE relnamespace = %s::regnamespace AND relkind = 'r'"
    )
    [size] = await (await raw.db.execute(sql, (schema,))).fetchone()
    return round(float(size) / 2**20, 1)


async def _verbs(
    store: MemoryStore, raw: Raw, questions: list[str], texts: Texts, size: int
) -> list[dict[str, Any]]:
    scope = Scope("0")
    page = await store.recall(Query(scope, limit=CALLS))
    ids = [hit.record.id for hit in page.hits]
    plain = [record["id"] for record in await raw.list("0", CALLS)]
    fresh = texts.memories(CALLS)
    verbs = {
        "recall": (questions, lambda q: raw.recall("0", q), lambda q: store.recall(Query(scope, text=q))),
        "list": (range(CALLS), lambda _: raw.list("0"), lambda _: store.recall(Query(scope))),
        "get": (range(CALLS), lambda n: raw.get(plain[n]), lambda n: store.get(ids[n])),
        "update": (
            range(CALLS),
            lambda n: raw.update(plain[n], fresh[n]),
            lambda n: store.update(ids[n], Patch(content=fresh[n])),
        ),
        "delete": (range(CALLS), lambda n: raw.delete(plain[n]), lambda n: store.delete(ids[n])),
    }
    return [await side_by_side(f"{size:,}: {name}", *verb) for name, verb in verbs.items()]


async def foreign(dsn: str, texts: Texts, sizes: list[int], scopes: int) -> list[dict[str, Any]]:
    """A scope of 1,000 records while the others grow; measured at each size."""
    rows: list[dict[str, Any]] = []
    memories = texts.memories(1000)
    questions = [texts.question(text) for text in memories[::5]]
    async with both(dsn, f"foreign_{scopes}") as (store, raw):
        await fill(store, raw, "0", memories)
        held, others = 1000, scopes - 1
        for size in sizes:
            for number in range(1, others + 1):
                share = texts.memories((size - held) // others)
                if share:
                    await fill(store, raw, str(number), share)
            held = size
            await settle(raw, f"foreign_{scopes}")
            row = await side_by_side(
                f"{size:,} records in {scopes:,} scopes",
                questions,
                lambda text: raw.recall("0", text),
                lambda text: store.recall(Query(Scope("0"), text=text)),
            )
            rows.append(row | {"against_first": round(row["memhub_ms"] / (rows or [row])[0]["memhub_ms"], 2)})
    return rows


async def meaning(dsn: str, texts: Texts, count: int) -> list[dict[str, Any]]:
    """Search by meaning: a scope of 1,000 among others, and all in one reach."""
    rows = []
    async with both(dsn, "meaning", embedder=HashEmbedder(DIMENSIONS)) as (store, raw):
        mine = texts.memories(1000)
        for scope in range(count // 1000):
            part = mine if scope == 0 else texts.memories(1000)
            done = Observation(Scope(tenant="t", user=str(scope)), facts=[Fact(text) for text in part])
            await store.observe(done)
        await settle(raw, "meaning")
        questions = [texts.question(text) for text in mine[::10]]
        for name, scope in (("1,000", Scope(tenant="t", user="0")), (f"{count:,}", Scope(tenant="t"))):
            for mode in ("keyword", "semantic", "hybrid"):
                what = f"{mode} among {name} of {count:,}"
                ask = lambda text, s=scope, m=mode: store.recall(Query(s, text=text, mode=m))  # noqa: E731
                rows.append(await side_by_side(what, questions, None, ask))
    return rows


async def langgraph(dsn: str, texts: Texts) -> list[dict[str, Any]]:
    """The same work by LangGraph's store, namespaces for scopes; nothing where it is not installed."""
    try:
        from langgraph.store.postgres import AsyncPostgresStore
    except ImportError:
        return []
    embedder = HashEmbedder(DIMENSIONS)
    index = {"dims": DIMENSIONS, "embed": embedder.embed, "fields": ["content"]}
    memories, fresh = texts.memories(1000), texts.memories(CALLS)
    questions = [texts.question(text) for text in memories[::5]]
    async with (
        AsyncPostgresStore.from_conn_string(dsn, index=index) as theirs,
        both(dsn, "langgraph", embedder=embedder) as (store, _),
    ):
        await theirs.setup()
        for number, text in enumerate(memories):
            await theirs.aput(("0",), str(number), {"content": text})
        done = await store.observe(observation("0", memories))
        ids = [record.id for record in done.records]
        verbs = {
            "one write": (
                range(CALLS),
                lambda n: theirs.aput(("0",), f"new {n}", {"content": fresh[n]}),
                lambda n: store.observe(observation("0", [fresh[n]])),
            ),
            "get": (range(CALLS), lambda n: theirs.aget(("0",), str(n)), lambda n: store.get(ids[n])),
            "list": (
                range(CALLS),
                lambda _: theirs.asearch(("0",), limit=10),
                lambda _: store.recall(Query(Scope("0"))),
            ),
            "by meaning": (
                questions,
                lambda text: theirs.asearch(("0",), query=text, limit=10),
                lambda text: store.recall(Query(Scope("0"), text=text, mode="semantic")),
            ),
            "by meaning there, by both here": (
                questions,
                lambda text: theirs.asearch(("0",), query=text, limit=10),
                lambda text: store.recall(Query(Scope("0"), text=text)),
            ),
        }
        return [await side_by_side(f"LangGraph: {name}", *verb) for name, verb in verbs.items()]


async def run(args: argparse.Namespace, dsn: str) -> dict[str, Any]:
    texts = Texts()
    sizes = [int(size) for size in args.sizes.split(",")]
    async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as db:
        await db.execute("CREATE EXTENSION IF NOT EXISTS vector")
        [server] = await (await db.execute("SHOW server_version")).fetchone()
    found: dict[str, Any] = {
        "versions": {
            "memhub": memhub.__version__,
            "python": platform.python_version(),
            "postgresql": server.split()[0],
            "psycopg": psycopg.__version__,
        }
    }
    show(found, "Writes, durable, scope of 1,000", "writes", await writes(dsn, texts))
    rows, facts = [], []
    for size in sizes:
        some, fact = await one_scope(dsn, texts, size)
        rows += some
        facts.append(fact)
    show(found, "Verbs, all records in one scope", "verbs", rows)
    show(found, "Tables, all records in one scope", "tables", facts)
    grown = [size for size in sizes if size >= 10_000] or [10_000]
    title = "Recall in a scope of 1,000 while 999 others grow"
    show(found, title, "foreign_1000", await foreign(dsn, texts, grown, 1000))
    show(found, "Search by meaning", "meaning", await meaning(dsn, texts, args.vectors))
    show(found, "LangGraph's store", "langgraph", await langgraph(dsn, texts))
    return found


def show(found: dict[str, Any], title: str, name: str, rows: list[dict[str, Any]]) -> None:
    if rows:
        found[name] = rows
        print(table(title, rows), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--dsn", help="a server to measure, whose role may make schemas and extensions")
    parser.add_argument("--sizes", default="1000,10000,100000")
    parser.add_argument("--vectors", type=int, default=10_000)
    parser.add_argument("--json", type=Path, help="keep the figures here")
    args = parser.parse_args()
    server = None if args.dsn else Server(fsync="on", shared_buffers="256MB")
    try:
        found = asyncio.run(run(args, args.dsn or server.dsn))
    finally:
        if server is not None:
            server.remove()
    if args.json:
        args.json.parent.mkdir(parents=True, exist_ok=True)
        args.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
