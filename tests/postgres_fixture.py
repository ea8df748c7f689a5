"""The server that the tests of PostgreSQL share in one process, and schemas of their own on it."""

import atexit
import itertools
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from postgres_server import Server

_NUMBERS = itertools.count(1)


@cache
def server() -> Server:
    """A server of this process, started when first asked for, removed at its end."""
    started = Server()
    atexit.register(started.remove)
    return started


@cache
def dsn() -> str:
    """How tests connect: to `MEMHUB_TEST_POSTGRES_DSN`, else to a server of their own; as a superuser."""
    found = os.environ.get("MEMHUB_TEST_POSTGRES_DSN") or server().dsn
    with psycopg.connect(found, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
    return found


def new_schema() -> str:
    """The name of a schema that nobody else uses; it is made when it is first opened."""
    return f"t{os.getpid()}_{next(_NUMBERS)}"


def sql(statement: str, *values: object, to: str = "") -> list[tuple]:
    """The rows of a statement, run by the server's owner."""
    with psycopg.connect(to or dsn(), autocommit=True) as connection:
        found = connection.execute(statement, values or None)
        return found.fetchall() if found.description else []


def drop(schema: str) -> None:
    sql(f'DROP SCHEMA IF EXISTS "{schema}" CASCADE')


def empty(schema: str) -> None:
    """Take everything out of a schema, as if it were new."""
    found = sql("SELECT tablename FROM pg_tables WHERE schemaname = %s AND tablename <> 'meta'", schema)
    if found:
        deletions = "; ".join(f"DELETE FROM {schema}.{table}" for (table,) in found)
        sql(f"{deletions}; ALTER SEQUENCE {schema}.scope_id_seq RESTART")


def connections(schema: str) -> list[tuple]:
    """State and query of the connections that look into a schema, found by their application's name."""
    return sql("SELECT state, query FROM pg_stat_activity WHERE application_name = %s", schema)


def until(found: Callable[[], object]) -> None:
    """Ask the server until it says so; what it says decides, not how long it takes."""
    while not found():
        pass


def dsn_named(name: str) -> str:
    """A connection string whose connections the server lists under this name."""
    return make_conninfo(dsn(), application_name=name)


def dsn_for(user: str, password: str) -> str:
    """How another role of the same server connects."""
    parts = conninfo_to_dict(dsn()) | {"user": user, "password": password}
    host, port, database = parts["host"], parts.get("port", 5432), parts.get("dbname", "postgres")
    return f"postgresql://{user}:{password}@{host}:{port}/{database}"


@contextmanager
def owner_of(schema: str) -> Iterator[str]:
    """How a role connects that owns a new schema and may nothing else; both go in the end."""
    name, password = f"{schema}_owner", secrets.token_hex(8)
    sql(f"CREATE ROLE {name} LOGIN PASSWORD '{password}'")
    sql(f"CREATE SCHEMA {schema} AUTHORIZATION {name}")
    yield dsn_for(name, password)
    drop(schema)
    sql(f"DROP ROLE {name}")
