"""Making every vector anew, beside those that are in use; stopped, it goes on later."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Final, Protocol, TypeVar

from memhub.upkeep import Progress
from memhub_adapters.postgres.meaning import Meaning, literal
from memhub_adapters.postgres.session import READ, WRITE, Row, Session
from memhub_adapters.postgres.tenants import protected

__all__ = ["reembed"]

T = TypeVar("T")

BATCH: Final = 64
"""Records whose vectors are made and stored together."""

_MISSING: Final = (
    "FROM record r LEFT JOIN meaning_next n ON n.key = r.key "
    "WHERE r.key > %s AND (n.key IS NULL OR n.revision <> r.revision)"
)
_NOTE: Final = "INSERT INTO meta VALUES(%s, %s) ON CONFLICT (name) DO UPDATE SET value = excluded.value"


class Runs(Protocol):
    """Runs transactions, as the adapter does."""

    async def __call__(self, work: Callable[[Session], Awaitable[T]], *, begin: str | None) -> T: ...


async def reembed(run: Runs, meaning: Meaning, progress: Progress | None = None) -> int:
    """Give every record a vector of this embedder, then put them in the place of the former ones.

    A record that has one already is passed over, so a run that was stopped goes on where it was.
    Meanwhile the schema serves those who have it open as before; once this has ended, those with
    another embedder must open it anew. Returns how many records were embedded.
    """
    await run(partial(_make_room, meaning=meaning), begin=WRITE)
    done = 0
    while True:
        done = await _fill(run, meaning, done, progress)
        await run(partial(_index, meaning=meaning), begin=WRITE)
        if await run(partial(_swap, meaning=meaning), begin=WRITE):
            return done


async def _make_room(session: Session, meaning: Meaning) -> None:
    """The table of new vectors, empty unless it was begun with the same embedder."""
    lock = ("SELECT pg_advisory_xact_lock(hashtextextended(current_schema() || ' vectors', 0))", ())
    _, rows = await session.ask(lock, ("SELECT value FROM meta WHERE name = 'reembedding'", ()))
    if rows != [(meaning.identity,)]:
        await session.ask(
            ("DROP TABLE IF EXISTS meaning_next", ()),
            meaning.table("meaning_next"),
            *(protected("meaning_next") if session.terms.tenants is not None else []),
            (_NOTE, ("reembedding", meaning.identity)),
            commit=True,
        )


async def _fill(run: Runs, meaning: Meaning, done: int, progress: Progress | None) -> int:
    """Embed what lacks a vector or has changed since; returns how many that makes in all."""
    after = -1
    while True:
        rows, total = await run(partial(_missing, after=after), begin=READ)
        if not rows:
            return done
        vectors = await meaning.embedder.embed([content for _, content, _ in rows])
        await run(partial(_store, meaning=meaning, rows=rows, vectors=vectors), begin=WRITE)
        after = rows[-1][0]
        done += len(rows)
        if progress is not None:
            progress(done, done + total - len(rows))


async def _missing(session: Session, after: int) -> tuple[list[Row], int]:
    rows, [(total,)] = await session.ask(
        (f"SELECT r.key, r.content, r.revision {_MISSING} ORDER BY r.key LIMIT {BATCH}", (after,)),
        (f"SELECT count(*) {_MISSING}", (after,)),
    )
    return rows, total


async def _store(
    session: Session, meaning: Meaning, rows: Sequence[Row], vectors: Sequence[Sequence[float]]
) -> None:
    sql = (
        f"INSERT INTO meaning_next SELECT key, key >> 32, embedding::{meaning.type}, revision "
        "FROM unnest(%s::bigint[], %s::text[], %s::text[]) AS given(key, embedding, revision) "
        # Some may have gone meanwhile, and their scopes with them.
        "WHERE EXISTS (SELECT FROM record r WHERE r.key = given.key) "
        "ON CONFLICT (key) DO UPDATE SET embedding = excluded.embedding, revision = excluded.revision"
    )
    keys, _, revisions = map(list, zip(*rows, strict=True))
    await session.ask((sql, (keys, list(map(literal, vectors)), revisions)), commit=True)


async def _index(session: Session, meaning: Meaning) -> None:
    """Index the new vectors once they are there: that is far quicker than to do it with each."""
    [[(there,)]] = await session.ask(("SELECT to_regclass('meaning_next_near') IS NOT NULL", ()))
    if not there:
        slow = ("SET LOCAL statement_timeout = 0", ())
        await session.ask(slow, *meaning.indexes("meaning_next"), commit=True)


async def _swap(session: Session, meaning: Meaning) -> bool:
    """Put the new vectors in place while nobody writes; False where some are missing again."""
    *_, missing = await session.ask(
        ("SET LOCAL statement_timeout = 0", ()),
        ("LOCK TABLE scope IN EXCLUSIVE MODE", ()),
        (f"SELECT r.key {_MISSING} LIMIT 1", (-1,)),
    )
    if missing:
        return False
    renamed = (
        ("ALTER TABLE meaning_next RENAME TO meaning", ()),
        *(
            (f"ALTER INDEX meaning_next_{name} RENAME TO meaning_{name}", ())
            for name in ("pkey", "scope", "near")
        ),
    )
    await session.ask(
        ("DELETE FROM meaning_next n WHERE NOT EXISTS (SELECT FROM record r WHERE r.key = n.key)", ()),
        ("DROP TABLE IF EXISTS meaning", ()),
        *renamed,
        (_NOTE, ("embedder", meaning.identity)),
        ("DELETE FROM meta WHERE name = 'reembedding'", ()),
        commit=True,
    )
    return True
