"""PostgreSQL in a configuration: a line of YAML, its mistakes named, its password nowhere."""

import asyncio
import logging
from collections.abc import Iterator

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from command import Command
from memhub import AccessDenied, Fact, InvalidConfig, MemoryStore, Observation, Query, Scope
from memhub_adapters.postgres import PostgresAdapter
from memhub_config import load_config, open_hub
from memhub_config.providers.postgres import PostgresSettings
from postgres_fixture import drop, dsn, new_schema, sql

SECRET = "Sup3r-S3cret-Value"
P = ("--scope", "p")


@pytest.fixture
def schema() -> Iterator[str]:
    name = new_schema()
    yield name
    drop(name)


def message(**section: object) -> str:
    with pytest.raises(InvalidConfig) as caught:
        load_config({"stores": {"a": {"postgres": section}}}, environ={})
    return str(caught.value)


def settings(**given: object) -> PostgresSettings:
    config = load_config({"stores": {"a": {"postgres": given}}}, environ={})
    return config.stores[0].settings


# What the YAML says


def test_a_store_of_the_configuration_remembers_on_the_server(schema):
    source = {"stores": {"shared": {"postgres": {"dsn": "${DSN}", "schema": schema}, "requires": ["as_of"]}}}

    async def use() -> None:
        async with open_hub(source, environ={"DSN": dsn()}) as hub:
            await hub["shared"].observe(Observation(Scope("p"), facts=[Fact("green tea")]))
            found = await hub["shared"].recall(Query(Scope("p"), text="tea"))
            assert [hit.record.content for hit in found.hits] == ["green tea"]

    asyncio.run(use())
    assert sql(f"SELECT content FROM {schema}.record") == [("green tea",)]


def test_fields_say_what_a_dsn_says():
    fields = settings(
        host="db", port=5433, database="d", user="u", password="p w@", sslmode="verify-full", sslrootcert="c"
    )
    assert conninfo_to_dict(fields.conninfo()) == {
        "host": "db",
        "port": "5433",
        "dbname": "d",
        "user": "u",
        "password": "p w@",
        "sslmode": "verify-full",
        "sslrootcert": "c",
    }
    given = settings(dsn="postgresql://u:p%20w%40@db:5433/d?connect_timeout=3", sslmode="require")
    assert conninfo_to_dict(given.conninfo())["password"] == "p w@"
    assert conninfo_to_dict(given.conninfo())["sslmode"] == "require"


@pytest.mark.parametrize(
    ("section", "expected"),
    [
        ({"dsn": "x", "host": "db"}, "stores.a.postgres: dsn and host say the same; give the one or the others"),
        ({"schema": "My Memories"}, "stores.a.postgres.schema: must be lower-case letters, digits and underscores"),
        ({"schema": "pg_memories"}, "stores.a.postgres.schema: must be lower-case letters, digits and underscores"),
        ({"schemas": "m"}, "stores.a.postgres.schemas: no such field; did you mean 'schema'?"),
        ({"pool_size": 0}, "stores.a.postgres.pool_size: must be greater than or equal to 1"),
        ({"sslmode": "on"}, "stores.a.postgres.sslmode: must be 'disable'"),
    ],
)  # fmt: skip
def test_a_mistake_is_named_with_its_place_and_remedy(section, expected):
    assert expected in message(**section)


@pytest.mark.parametrize(
    "given", [f"postgresql://u:{SECRET}%zz@db/d", f"user=u passwrd={SECRET}", f"u:{SECRET}@db"]
)
def test_a_dsn_that_libpq_cannot_read_is_refused_without_showing_it(given):
    async def use() -> None:
        async with open_hub({"stores": {"a": {"postgres": {"dsn": given}}}}, environ={}):
            raise AssertionError

    with pytest.raises(
        InvalidConfig, match="dsn: is no connection string of libpq; write postgresql://"
    ) as refused:
        asyncio.run(use())
    assert SECRET not in str(refused.value) + repr(refused.value.__context__)


@pytest.mark.parametrize(
    "given", [f"postgresql://u:{SECRET}%zz@db/d", f"user=u passwrd={SECRET}", f"u:{SECRET}@db"]
)
def test_nor_does_the_adapter_show_it_when_it_is_made_from_python(given):
    with pytest.raises(InvalidConfig, match="dsn: is no connection string of libpq") as refused:
        PostgresAdapter(given)
    assert SECRET not in str(refused.value) + repr(refused.value.__context__)


@pytest.mark.parametrize(
    "password",
    [f"p@{SECRET}", f"12/{SECRET}", f"{SECRET}/x@y", f"@{SECRET}", f"p@x/{SECRET}", f"p?x@y/{SECRET}"],
)
def test_a_password_that_libpq_would_take_for_host_or_database_is_shown_in_no_message(password):
    for scheme in ("postgresql", "postgres"):
        with pytest.raises(InvalidConfig, match="write %40 and %2F") as refused:
            PostgresAdapter(f"{scheme}://u:{password}@127.0.0.1:1/d?connect_timeout=2")
        assert SECRET not in str(refused.value)


@pytest.mark.parametrize(
    ("given", "host", "password"),
    [
        ("postgresql:///d?host=@abstract&user=u@corp", "@abstract", None),
        ("postgresql://u:p%40%2F%3F@h1,h2:5433/d%40x", "h1,h2", "p@/?"),
        ("postgresql://u:a?b:c#d@h/d?application_name=me@home", "h", "a?b:c#d"),
        ("postgresql://h/d?user=u@corp/x", "h", None),
        (r"host=h password='a @/\'\\ b' dbname=d", "h", "a @/'\\ b"),
    ],
)
def test_odd_but_sound_connection_strings_are_taken_as_libpq_takes_them(given, host, password):
    assert conninfo_to_dict(settings(dsn=given).conninfo())["host"] == host
    assert conninfo_to_dict(settings(dsn=given).conninfo()).get("password") == password
    PostgresAdapter(given)


@pytest.mark.parametrize("name", ["Memhub", "a b", "pg_memhub", 'a"; --', "", "a" * 64])
def test_a_schema_that_needs_quotes_is_refused(name):
    with pytest.raises(InvalidConfig, match="schema: must be lower-case letters"):
        PostgresAdapter("", schema=name)


@pytest.mark.parametrize(
    ("given", "own", "shown"),
    [
        ({}, {}, "30s"),
        ({"timeout": "2m"}, {}, "2min"),
        ({"timeout": "2m"}, {"statement_timeout": "45s"}, "45s"),
    ],
)
def test_the_server_ends_statements_at_the_stores_deadline_unless_told_otherwise(schema, given, own, shown):
    source = {"stores": {"a": {"postgres": {"dsn": dsn(), "schema": schema} | own} | given}}

    async def use() -> None:
        async with open_hub(source, environ={}) as hub:
            adapter = hub["a"]._adapter
            found = await adapter._access.perform_bare(
                lambda session: session.ask(("SHOW statement_timeout", ()))
            )
            assert found == [[(shown,)]]

    asyncio.run(use())


@pytest.mark.parametrize("encoding", ["latin1", "sql_ascii"])
def test_another_encoding_of_the_client_changes_nothing(schema, monkeypatch, encoding):
    monkeypatch.setenv("PGCLIENTENCODING", encoding)

    async def use() -> None:
        adapter = PostgresAdapter(make_conninfo(dsn(), client_encoding=encoding), schema=schema)
        async with MemoryStore(adapter) as store:
            await store.observe(Observation(Scope("日本"), facts=[Fact("緑茶 é")]))
            found = await store.recall(Query(Scope("日本"), text="緑茶"))
            assert [hit.record.content for hit in found.hits] == ["緑茶 é"]

    asyncio.run(use())


# The password


@pytest.fixture
def memhub(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("MEMHUB_LOG_LEVEL", "debug")
    return Command(tmp_path, capsys, monkeypatch)


@pytest.mark.parametrize("port", [None, 1])
@pytest.mark.parametrize("whole", [True, False])
def test_no_output_holds_a_password_that_is_refused(memhub, caplog, port, whole):
    caplog.set_level(logging.DEBUG)
    parts = conninfo_to_dict(dsn())
    host, port = parts["host"], port or parts["port"]
    section = (
        f"dsn: postgresql://postgres:{SECRET}@{host}:{port}/postgres"
        if whole
        else f"{{host: {host}, port: {port}, user: postgres, password: {SECRET}}}"
    )
    memhub.configure(f"stores:\n  cloud:\n    postgres:\n      {section}\n")
    told = ""
    for arguments in (["check"], ["check", "--json"], ["stores", "--json"], ["observe", "x", *P]):
        ended = memhub(*arguments)
        assert ended.code in (0, 1)
        told += ended.out + ended.err
    assert "cloud" in told
    assert SECRET not in told + caplog.text
    assert "Traceback" not in told


def test_no_repr_log_or_cause_holds_the_password(schema, caplog):
    caplog.set_level(logging.DEBUG)
    source = {"stores": {"a": {"postgres": {"dsn": dsn(), "schema": schema}}}}
    password = conninfo_to_dict(dsn())["password"]
    seen: list[object] = []

    async def use() -> None:
        async with open_hub(source, environ={}, observers=[seen.append]) as hub:
            store = hub["a"]
            await store.observe(Observation(Scope("p"), facts=[Fact("green tea")]))
            shown = [repr(one) for one in (store, store._adapter, vars(store._adapter), store.capabilities)]
            sql(f"DROP TABLE {schema}.record")
            with pytest.raises(Exception, match="tables are missing") as failed:
                await store.recall(Query(Scope("p")))
            shown += [repr(failed.value), repr(failed.value.__cause__), str(failed.value.__cause__)]
            assert not isinstance(failed.value.__cause__, psycopg.Error)
            assert not [text for text in shown if password in text]

    asyncio.run(use())
    assert password not in caplog.text + repr(seen)


def test_a_wrong_password_is_refused_as_such(schema):
    parts = conninfo_to_dict(dsn())
    section = {"host": parts["host"], "port": parts["port"], "user": "postgres", "password": SECRET}

    async def use() -> None:
        async with open_hub({"stores": {"a": {"postgres": section}}}, environ={}):
            raise AssertionError

    with pytest.raises(AccessDenied, match="the server refuses the user or the password") as refused:
        asyncio.run(use())
    assert refused.value.store == "a"
    assert SECRET not in str(refused.value) + repr(refused.value.__context__)


def test_an_embedder_of_the_configuration_gives_search_by_meaning(schema):
    source = {
        "embedders": {"small": {"hash": {"dimensions": 64}}},
        "stores": {"a": {"postgres": {"dsn": dsn(), "schema": schema, "embedder": "small"}}},
    }

    async def use() -> None:
        async with open_hub(source, environ={}) as hub:
            store = hub["a"]
            assert store.capabilities.default_mode == "hybrid"
            await store.observe(Observation(Scope("p"), facts=[Fact("green tea"), Fact("violin")]))
            found = await store.recall(Query(Scope("p"), text="green tea", mode="semantic"))
            assert [hit.record.content for hit in found.hits] == ["green tea", "violin"]

    asyncio.run(use())
