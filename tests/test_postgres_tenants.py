"""Row-level security: whatever is asked, a tenant's transaction sees and changes that tenant's rows alone."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator

import psycopg
import pytest

from memhub import (
    Fact,
    InvalidConfig,
    MemoryStore,
    Observation,
    Patch,
    Provenance,
    Query,
    Scope,
    Turn,
    Unavailable,
    Unsupported,
)
from memhub_adapters.embedders.hash import HashEmbedder
from memhub_adapters.postgres import PostgresAdapter, reads, search, writes
from memhub_adapters.postgres.loading import Needs, load
from memhub_adapters.postgres.session import WRITE, Session
from postgres_fixture import dsn, new_schema, owner_of, sql

ACME, ZENITH = Scope(tenant="acme", user="u"), Scope(tenant="zenith", user="u")
TABLES = ("scope", "record", "posting", "fresh", "ledger", "meaning")


@pytest.fixture
def schema() -> str:
    return new_schema()


@pytest.fixture
def role(schema) -> Iterator[str]:
    with owner_of(schema) as connects:
        yield connects


def run(role: str, schema: str, use: Callable[[MemoryStore], Awaitable[object]], **options: object) -> None:
    async def go() -> None:
        given = {"rls": "tenant", "embedder": HashEmbedder(32)} | options
        async with MemoryStore(PostgresAdapter(role, schema=schema, **given)) as store:
            await use(store)

    asyncio.run(go())


async def fill(store: MemoryStore) -> None:
    """The same in both tenants: facts that are packed, turns, a keyed observation."""
    for scope in (ACME, ZENITH):
        facts = [Fact(f"green tea {n} of {scope.canonical}") for n in range(40)]
        await store.observe(Observation(scope, facts=facts, idempotency_key="k"))
        turns = [Turn("user", "where is my tea"), Turn("assistant", "on the table")]
        await store.observe(Observation(scope, turns=turns, provenance=Provenance("c")))


# A hostile query


def seen(role: str, schema: str, table: str, tenants: str) -> set[int]:
    """The scopes of which a transaction that is bound so sees rows, when it asks for all there is."""
    column = "id" if table == "scope" else "scope"
    with psycopg.connect(role, options=f"-c search_path={schema}") as connection:
        connection.execute("SELECT set_config('memhub.tenants', %s, true)", (tenants,))
        return {number for (number,) in connection.execute(f"SELECT {column} FROM {table}").fetchall()}


@pytest.mark.parametrize("table", TABLES)
def test_a_query_for_everything_shows_the_tenant_that_it_is_bound_to_and_nothing_else(role, schema, table):
    run(role, schema, fill)
    assert seen(role, schema, table, '["tenant","acme"]') == {1}
    assert seen(role, schema, table, '["tenant","zenith"]') == {2}
    assert seen(role, schema, table, '["tenant","acme"]\x1f["tenant","zenith"]') == {1, 2}
    for nobody in ("", '["tenant","Acme"]', "acme", "acme' OR '1'='1"):
        assert seen(role, schema, table, nobody) == set()
    with (
        psycopg.connect(role, options=f"-c search_path={schema}") as unbound,
        pytest.raises(psycopg.errors.UndefinedObject),
    ):
        unbound.execute(f"SELECT FROM {table}")


@pytest.mark.parametrize("table", TABLES)
def test_nor_can_it_change_or_add_rows_of_another(role, schema, table):
    run(role, schema, fill)
    with psycopg.connect(role, options=f"-c search_path={schema}") as connection:
        connection.execute("SELECT set_config('memhub.tenants', %s, true)", ('["tenant","acme"]',))
        column, other = ("id", "next") if table == "scope" else ("scope", "scope")
        assert connection.execute(f"UPDATE {table} SET {other} = 2 WHERE {column} = 2").rowcount == 0
        assert connection.execute(f"DELETE FROM {table} WHERE {column} = 2").rowcount == 0
        if table == "ledger":
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute("INSERT INTO ledger VALUES(2, 'x', 'x', '[]')")


# A bug above the server


@pytest.fixture
def bug(monkeypatch) -> None:
    """Every query reaches every scope."""
    for module in (reads, search, writes):
        monkeypatch.setattr(module, "reached", lambda scopes, *, exact: ("true", []))


@pytest.mark.parametrize("mode", ["keyword", "semantic", "hybrid", None])
def test_a_query_that_reaches_too_far_still_finds_its_own_tenant_alone(role, schema, bug, mode):
    async def use(store: MemoryStore) -> None:
        await fill(store)
        query = Query(ACME, text="tea" if mode else None, mode=mode, limit=100)
        hits = (await store.recall(query)).hits
        assert len(hits) > 40
        assert {hit.record.scope for hit in hits} == {ACME}

    run(role, schema, use)


def test_a_purge_and_counts_that_reach_too_far_stay_within_the_tenant(role, schema, bug):
    async def use(store: MemoryStore) -> None:
        await fill(store)
        assert (await store.stats(ACME)).live == 42
        assert await store.purge(ACME) == 42
        assert (await store.stats(ZENITH)).live == 42
        assert (await store.stats()).live == 42

    run(role, schema, use)


def test_a_write_that_names_an_id_is_bound_to_its_tenant(role, schema):
    async def use(store: MemoryStore) -> None:
        await fill(store)
        record = (await store.recall(Query(ACME, limit=1))).hits[0].record

        async def too_much(session: Session) -> list[list[tuple]]:
            await load(session, Needs(ids=[record.id]))
            return await session.ask(("DELETE FROM record RETURNING scope", ()))

        [rows] = await store._adapter._access.perform(too_much, begin=WRITE)
        assert {number for (number,) in rows} == {1}
        updated = await store.update(record.id, Patch(content="oolong"))
        await store.delete(updated.id)
        assert (await store.stats()).live == 83
        assert await store.upkeep().check(deep=True) == []

    run(role, schema, use)


# Turning it on


def tables(schema: str) -> list[tuple]:
    return sql("SELECT tablename FROM pg_tables WHERE schemaname = %s", schema)


def left(schema: str) -> list[tuple]:
    """Vectors that a reembedding has stored so far."""
    return sql(f"SELECT key FROM {schema}.meaning_next")


def test_a_scope_of_pairs_without_its_tenant_is_refused_before_anything_is_done(role, schema):
    async def use(store: MemoryStore) -> None:
        nobody = Scope(user="u")
        for call in (
            lambda: store.observe(Observation(nobody, facts=[Fact("x")])),
            lambda: store.recall(Query(nobody)),
            lambda: store.recall(Query([ACME, nobody], text="x")),
            lambda: store.stats(nobody),
            lambda: store.purge(nobody),
        ):
            with pytest.raises(
                Unsupported, match="every scope of pairs names its tenant, the label 'tenant'"
            ):
                await call()
        await store.observe(Observation(Scope("player:42"), facts=[Fact("x")]))
        assert (await store.stats()).live == 1

    run(role, schema, use)


async def none_unprotected(store: MemoryStore) -> None:
    assert await store.upkeep().check() == []


def test_a_process_that_knows_of_no_tenants_yet_is_told_rather_than_shown_nothing(role, schema):
    async def use(before: MemoryStore) -> None:
        await fill(before)
        adapter = PostgresAdapter(role, schema=schema, rls="tenant", embedder=HashEmbedder(32))
        async with MemoryStore(adapter) as store:
            await store.ping()
            for call in (
                lambda: before.recall(Query(ACME)),
                lambda: before.recall(Query(ACME, text="tea")),
                lambda: before.observe(Observation(ACME, facts=[Fact("x")])),
                lambda: before.purge(ACME),
                before.stats,
                before.scan,
            ):
                with pytest.raises(Unavailable, match="kept apart by rls; configure it alike in all"):
                    await call()
            assert (await store.stats()).live == 84

    run(role, schema, use, rls=None)


def test_vectors_that_are_being_made_anew_are_under_it_from_the_start(role, schema):
    run(role, schema, fill)

    class Stopped(HashEmbedder):
        async def embed(self, texts):
            if "meaning_next" in (table for (table,) in tables(schema)) and left(schema):
                raise Unavailable("stopped")
            return await super().embed(texts)

    async def use(store: MemoryStore) -> None:
        with pytest.raises(Unavailable, match="stopped"):
            await store.reembed()
        assert seen(role, schema, "meaning_next", '["tenant","zenith"]') == {2}
        await none_unprotected(store)

    run(role, schema, use, embedder=Stopped(32))
    run(role, schema, lambda store: store.reembed())
    run(role, schema, none_unprotected)


def test_it_can_be_turned_on_for_a_schema_in_use_and_stays_on(role, schema):
    run(role, schema, fill, rls=None)
    run(role, schema, none_unprotected)
    for table in TABLES:
        assert seen(role, schema, table, '["tenant","acme"]') == {1}
    for other in (None, "user"):
        with pytest.raises(
            InvalidConfig, match="keeps tenants apart by the label 'tenant'; configure rls: tenant"
        ):
            run(role, schema, lambda store: store.ping(), rls=other)


def test_it_is_not_turned_on_where_a_scope_has_no_tenant(role, schema):
    async def use(store: MemoryStore) -> None:
        await store.observe(Observation(Scope(user="u"), facts=[Fact("x")]))

    run(role, schema, use, rls=None)
    with pytest.raises(InvalidConfig, match="1 stored scopes have no label 'tenant'"):
        run(role, schema, lambda store: store.ping())
    run(role, schema, lambda store: store.ping(), rls=None)


def test_a_superuser_whom_no_policy_binds_is_refused(role, schema):
    with pytest.raises(InvalidConfig, match="the role is a superuser or has BYPASSRLS"):
        run(dsn(), schema, lambda store: store.ping())


def test_vectors_made_anew_are_under_it_too_and_a_check_tells_what_is_not(role, schema):
    run(role, schema, fill)

    async def use(store: MemoryStore) -> None:
        assert await store.reembed() == 84
        await store.upkeep().compact()
        assert await store.upkeep().reindex() == 84
        assert await store.upkeep().check(deep=True) == []
        sql(f"ALTER TABLE {schema}.posting NO FORCE ROW LEVEL SECURITY")
        assert await store.upkeep().check() == ["table posting is not under row-level security"]

    run(role, schema, use)
    assert seen(role, schema, "meaning", '["tenant","acme"]') == {1}
