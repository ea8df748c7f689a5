"""The schema: made by whoever is first, told apart from others', never touched where it is not ours."""

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Iterator

import pytest

from memhub import (
    AccessDenied,
    Fact,
    HubError,
    InvalidConfig,
    MemoryStore,
    Observation,
    Query,
    Scope,
    Unavailable,
)
from memhub_adapters.embedders.hash import HashEmbedder
from memhub_adapters.postgres import PostgresAdapter
from memhub_adapters.postgres import schema as ladder
from memhub_adapters.postgres.session import Session
from postgres_fixture import drop, dsn, dsn_for, new_schema, sql

SCOPE = Scope("shared")


@pytest.fixture
def schema() -> Iterator[str]:
    name = new_schema()
    yield name
    drop(name)


def run(schema: str, use: Callable[[MemoryStore], Awaitable[object]], to: str = "") -> None:
    async def go() -> None:
        async with MemoryStore(PostgresAdapter(to or dsn(), schema=schema)) as store:
            await use(store)

    asyncio.run(go())


def open_it(schema: str, to: str = "") -> HubError | None:
    """Open an adapter; what it is refused with."""

    async def go() -> HubError | None:
        adapter = PostgresAdapter(to or dsn(), schema=schema)
        try:
            await adapter.open()
        except HubError as refused:
            return refused
        finally:
            await adapter.aclose()
        return None

    return asyncio.run(go())


def fact(content: str) -> Observation:
    return Observation(SCOPE, facts=[Fact(content)])


def tables(schema: str) -> list[tuple]:
    return sql("SELECT tablename FROM pg_tables WHERE schemaname = %s ORDER BY 1", schema)


# Making it


def test_several_may_make_a_new_schema_at_the_same_moment(schema):
    async def go() -> None:
        adapters = [PostgresAdapter(dsn(), schema=schema) for _ in range(6)]
        await asyncio.gather(*(adapter.open() for adapter in adapters))
        stores = [MemoryStore(adapter) for adapter in adapters]
        await asyncio.gather(*(store.observe(fact(f"tea {n}")) for n, store in enumerate(stores)))
        assert (await stores[0].stats()).live == 6
        for store in stores:
            await store.aclose()

    asyncio.run(go())


def test_opening_a_current_schema_changes_nothing_and_takes_no_lock(schema):
    run(schema, lambda store: store.observe(fact("green tea")))
    before = sql("SELECT xmin::text, value FROM " + schema + ".meta ORDER BY name")
    assert open_it(schema) is None
    assert sql("SELECT xmin::text, value FROM " + schema + ".meta ORDER BY name") == before


def test_an_empty_schema_that_is_there_is_used(schema):
    sql(f"CREATE SCHEMA {schema}")
    run(schema, lambda store: store.observe(fact("green tea")))
    assert len(tables(schema)) == len(ladder.TABLES)


def test_what_fails_half_way_leaves_no_schema_behind(schema, monkeypatch):
    async def broken(session: Session) -> None:
        await session.ask(("CREATE TABLE half(x int)", ()))
        await session.ask(("SELECT 1 / 0", ()))

    monkeypatch.setattr(ladder, "_STEPS", (broken,))

    async def use(store: MemoryStore) -> None:
        with pytest.raises(Unavailable, match="the adapter failed with DivisionByZero"):
            await store.ping()

    run(schema, use)
    assert tables(schema) == []


# Ours, older, newer, foreign


def test_a_foreign_schema_is_refused_and_left_untouched(schema):
    sql(f"CREATE SCHEMA {schema}")
    sql(f"CREATE TABLE {schema}.meta(name text, value text)")
    refused = open_it(schema)
    assert isinstance(refused, InvalidConfig)
    assert f"schema: '{schema}' holds tables of another program; choose another schema" in str(refused)
    assert tables(schema) == [("meta",)]


def test_a_newer_schema_is_refused_and_left_untouched(schema):
    assert open_it(schema) is None
    sql(f"UPDATE {schema}.meta SET value = '99' WHERE name = 'version'")
    refused = open_it(schema)
    assert isinstance(refused, InvalidConfig)
    assert f"'{schema}' has version 99, newer than {ladder.VERSION}; use a newer Memhub" in str(refused)


def test_an_older_schema_is_brought_up_to_date_by_exactly_one(schema, monkeypatch):
    run(schema, lambda store: store.observe(fact("green tea")))

    async def later(session: Session) -> None:
        await session.ask(("ALTER TABLE record ADD COLUMN later text DEFAULT 'now'", ()))

    monkeypatch.setattr(ladder, "_STEPS", (*ladder._STEPS, later))
    monkeypatch.setattr(ladder, "VERSION", len(ladder._STEPS))

    async def go() -> None:
        adapters = [PostgresAdapter(dsn(), schema=schema) for _ in range(4)]
        await asyncio.gather(*(adapter.open() for adapter in adapters))
        assert (await MemoryStore(adapters[0]).stats()).live == 1
        for adapter in adapters:
            await adapter.aclose()

    asyncio.run(go())
    assert sql(f"SELECT content, later FROM {schema}.record") == [("green tea", "now")]


@pytest.mark.parametrize("name", ["version", "analyzer"])
def test_a_schema_that_another_version_took_over_is_neither_written_nor_searched_by_this_one(schema, name):
    async def use(store: MemoryStore) -> None:
        await store.observe(fact("green tea"))
        [(value,)] = sql(f"SELECT value FROM {schema}.meta WHERE name = %s", name)
        sql(f"UPDATE {schema}.meta SET value = '99' WHERE name = %s", name)
        for call in (
            lambda: store.observe(fact("black tea")),
            lambda: store.recall(Query(SCOPE, text="tea")),
            lambda: store.purge(SCOPE),
        ):
            with pytest.raises(Unavailable, match="in use by another version of Memhub"):
                await call()
        assert len((await store.recall(Query(SCOPE))).hits) == 1
        sql(f"UPDATE {schema}.meta SET value = %s WHERE name = %s", value, name)
        await store.observe(fact("white tea"))

    run(schema, use)


def test_an_index_of_another_analyzer_is_told_by_a_check_and_rebuilt_by_a_reindex(schema):
    async def use(store: MemoryStore) -> None:
        await store.observe(fact("green tea"))
        sql(f"UPDATE {schema}.meta SET value = 'older' WHERE name = 'analyzer'")
        [fault] = await store.upkeep().check()
        assert "the index was made by analyzer older" in fault
        assert await store.upkeep().reindex() == 1
        assert await store.upkeep().check(deep=True) == []
        assert len((await store.recall(Query(SCOPE, text="tea"))).hits) == 1

    run(schema, use)


def test_a_check_names_what_is_missing(schema):
    async def use(store: MemoryStore) -> None:
        assert await store.upkeep().check() == []
        sql(f"DROP INDEX {schema}.record_turns")
        sql(f"DROP TABLE {schema}.ledger")
        assert await store.upkeep().check() == [
            "table ledger is missing",
            "index record_turns is missing",
            "index ledger_pkey is missing",
        ]

    run(schema, use)


def test_a_check_is_the_same_where_nothing_has_been_asked_before(schema):
    async def check() -> list[str]:
        adapter = PostgresAdapter(dsn(), schema=schema, embedder=HashEmbedder(8))
        try:
            return await adapter.upkeep().check()
        finally:
            await adapter.aclose()

    assert asyncio.run(check()) == []
    sql(f"DROP INDEX {schema}.meaning_near")
    assert asyncio.run(check()) == ["index meaning_near is missing"]


def test_a_partitioned_table_serves_as_well(schema):
    parts = "".join(
        f"; CREATE TABLE {schema}.posting_{n} PARTITION OF {schema}.posting "
        f"FOR VALUES WITH (MODULUS 2, REMAINDER {n})"
        for n in range(2)
    )

    async def use(store: MemoryStore) -> None:
        await store.ping()
        sql(
            f"ALTER TABLE {schema}.posting RENAME TO whole; "
            f"ALTER INDEX {schema}.posting_pkey RENAME TO whole_pkey; "
            f"CREATE TABLE {schema}.posting(LIKE {schema}.whole INCLUDING INDEXES) PARTITION BY HASH (scope)"
            f"{parts}; DROP TABLE {schema}.whole"
        )
        for scope in (SCOPE, Scope("other")):
            await store.observe(Observation(scope, facts=[Fact(f"tea {n}") for n in range(40)]))
        assert len((await store.recall(Query(SCOPE, text="tea", limit=50))).hits) == 40
        assert await store.upkeep().reindex() == 80
        await store.upkeep().compact()
        assert await store.upkeep().check(deep=True) == []
        assert await store.purge(SCOPE) == 40
        assert await store.upkeep().check(deep=True) == []

    run(schema, use)


def test_a_schema_removed_while_in_use_is_told_as_such(schema):
    async def use(store: MemoryStore) -> None:
        await store.observe(fact("green tea"))
        drop(schema)
        with pytest.raises(Unavailable, match="tables are missing; they were removed while in use"):
            await store.recall(Query(SCOPE, text="tea"))

    run(schema, use)


def test_compacting_keeps_everything(schema):
    async def use(store: MemoryStore) -> None:
        stored = await store.observe(Observation(SCOPE, facts=[Fact(f"tea {n}") for n in range(40)]))
        for record in stored.records[::2]:
            await store.delete(record.id)
        await store.upkeep().compact()
        assert (await store.stats()).live == 20
        assert await store.upkeep().check(deep=True) == []

    run(schema, use)


# Roles


@pytest.fixture
def role() -> Iterator[str]:
    """A role that may log in and nothing else."""
    name, password = new_schema(), secrets.token_hex(8)
    sql(f"CREATE ROLE {name} LOGIN PASSWORD '{password}'")
    yield dsn_for(name, password)
    sql(f"DROP OWNED BY {name} CASCADE")
    sql(f"DROP ROLE {name}")


def user(role: str) -> str:
    return role.split("//")[1].split(":", maxsplit=1)[0]


def test_a_role_without_any_privilege_is_told_what_it_lacks(schema, role):
    refused = open_it(schema, role)
    assert isinstance(refused, AccessDenied)
    assert "the role lacks a privilege; let the schema's owner grant it" in str(refused)
    assert tables(schema) == []


def test_a_role_that_owns_its_schema_needs_nothing_more(schema, role):
    sql(f"CREATE SCHEMA {schema} AUTHORIZATION {user(role)}")

    async def use(store: MemoryStore) -> None:
        await store.observe(fact("green tea"))
        assert len((await store.recall(Query(SCOPE, text="tea"))).hits) == 1
        assert (await store.stats()).bytes > 0
        assert await store.upkeep().check(deep=True) == []
        await store.upkeep().compact()
        await store.upkeep().reindex()
        assert await store.purge(SCOPE) == 1

    run(schema, use, role)


def test_a_role_that_may_make_schemas_makes_its_own(schema, role):
    sql(f"GRANT CREATE ON DATABASE postgres TO {user(role)}")
    run(schema, lambda store: store.observe(fact("green tea")), role)
    assert len(tables(schema)) == len(ladder.TABLES)


def test_another_roles_schema_is_not_quietly_replaced(schema, role):
    assert open_it(schema) is None
    refused = open_it(schema, role)
    assert isinstance(refused, HubError)
    assert refused.code in ("access_denied", "invalid_config")


def test_a_role_that_may_use_anothers_tables_does_all_but_compact_them(schema, role):
    async def use(store: MemoryStore) -> None:
        await store.observe(fact("green tea"))
        assert len((await store.recall(Query(SCOPE))).hits) == 1
        assert len((await store.recall(Query(SCOPE, text="tea"))).hits) == 1
        assert await store.upkeep().check(deep=True) == []
        assert await store.upkeep().reindex() == 1
        assert await store.purge(SCOPE) == 1
        with pytest.raises(AccessDenied, match=r"may not vacuum table .*; compact as the schema's owner"):
            await store.upkeep().compact()

    run(schema, lambda store: store.ping())
    sql(
        f"GRANT USAGE ON SCHEMA {schema} TO {user(role)}; "
        f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO {user(role)}; "
        f"GRANT SELECT, USAGE ON ALL SEQUENCES IN SCHEMA {schema} TO {user(role)}"
    )
    run(schema, use, role)
