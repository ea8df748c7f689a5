"""The schema: its tables, its version ladder, and what makes a schema ours.

A record's key is scope number << 32 | its number in the scope, so that one scope's records lie
together. Postings are packed as `memhub.search.documents` says, block = number >> 7; a scope's newest
documents lie in `fresh`, see `memhub.search.fresh`. A row for every posting would take eight times
the room in small scopes and the time of a question tenfold; to rewrite packed rows at each write
would double what goes to the log, since PostgreSQL writes a new version of every row it changes.

The turn after a turn is the one whose `previous` it is, so that a new turn changes no other row.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from memhub.errors import InvalidConfig, Unavailable
from memhub.search.analyzer import fingerprint
from memhub_adapters.postgres.session import Session

__all__ = ["INDEXES", "OLDEST_SERVER", "TABLES", "VERSION", "check_guard", "locked", "mark", "prepare"]

OLDEST_SERVER: Final = 14
"""Major version of the oldest server that has all that is used here."""

TABLES: Final = ("meta", "scope", "record", "posting", "fresh", "ledger")
INDEXES: Final = (
    *(
        "meta_pkey",
        "scope_pkey",
        "scope_canonical_key",
        "scope_tenant",
        "scope_labels",
        "record_pkey",
        "record_id",
    ),
    *("record_listing", "record_turns", "record_previous", "record_hidden", "posting_pkey", "fresh_pkey"),
    "ledger_pkey",
)

_OWNER: Final = "memhub"
_V1: Final = """
CREATE TABLE meta(name text PRIMARY KEY, value text NOT NULL);
CREATE TABLE scope(
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    canonical text COLLATE "C" NOT NULL UNIQUE, labels jsonb NOT NULL, tenant text COLLATE "C",
    next bigint NOT NULL DEFAULT 0, count bigint NOT NULL DEFAULT 0, length bigint NOT NULL DEFAULT 0,
    turns bigint NOT NULL DEFAULT 0, fresh integer NOT NULL DEFAULT 0
) WITH (fillfactor = 50);
CREATE INDEX scope_tenant ON scope(tenant);
CREATE INDEX scope_labels ON scope USING gin(labels) WITH (fastupdate = off);
CREATE SEQUENCE record_seq;
CREATE TABLE record(
    key bigint PRIMARY KEY, scope integer NOT NULL, seq bigint NOT NULL DEFAULT nextval('record_seq'),
    id text COLLATE "C" NOT NULL, kind text NOT NULL, content text NOT NULL, tags jsonb, attributes json,
    conversation text COLLATE "C", run text, author text, role text,
    created_at timestamptz NOT NULL, updated_at timestamptz NOT NULL, observed_at timestamptz NOT NULL,
    invalid_at timestamptz, invalid_reason text, supersedes text COLLATE "C",
    superseded_by text COLLATE "C", expires_at timestamptz,
    revision text NOT NULL, position bigint NOT NULL, target text, payload json, supports json,
    session bigint, previous bigint
) WITH (fillfactor = 90);
CREATE UNIQUE INDEX record_id ON record(id);
CREATE INDEX record_listing ON record(scope, observed_at, created_at, position);
CREATE INDEX record_turns ON record(scope, conversation, key) WHERE role IS NOT NULL;
CREATE UNIQUE INDEX record_previous ON record(previous) WHERE previous IS NOT NULL;
CREATE INDEX record_hidden ON record(scope) INCLUDE (invalid_at, expires_at)
    WHERE invalid_at IS NOT NULL OR expires_at IS NOT NULL;
CREATE TABLE posting(
    scope integer, term text COLLATE "C", block integer, entries bytea NOT NULL,
    PRIMARY KEY(scope, term, block)
) WITH (fillfactor = 85);
CREATE TABLE fresh(scope integer, number bigint, entries bytea NOT NULL, PRIMARY KEY(scope, number));
CREATE TABLE ledger(
    scope integer, key text COLLATE "C", digest text NOT NULL, ids json NOT NULL, PRIMARY KEY(scope, key)
)
"""


async def _create(session: Session) -> None:
    await session.ask(*((statement, ()) for statement in _V1.split(";")))
    named = [("owner", _OWNER), ("analyzer", fingerprint()), ("version", "0")]
    await session.ask(*(("INSERT INTO meta VALUES(%s, %s)", pair) for pair in named))


_STEPS: Final[tuple[Callable[[Session], Awaitable[None]], ...]] = (_create,)
"""Step n takes a schema from version n to n + 1, inside one transaction."""

VERSION: Final = len(_STEPS)

_FOUND: Final = """
SELECT current_setting('server_version_num')::int / 10000, current_setting('server_encoding'),
    (SELECT count(*) FROM pg_class WHERE relnamespace = to_regnamespace(%s)),
    to_regclass(%s || '.meta') IS NOT NULL AND has_schema_privilege(%s, 'USAGE')
"""
_META: Final = "SELECT name, value FROM meta WHERE name IN ('owner', 'version')"


async def prepare(session: Session, schema: str) -> None:
    """Make the schema, or bring it to VERSION; returns at once where it is there. Runs in one transaction.

    Raises InvalidConfig for a foreign schema, one that a newer Memhub wrote, or a server that cannot
    hold it; nothing is then changed. Safe when several processes try at once.
    """
    if await _version(session, schema) == VERSION:
        return
    await locked(session, schema)
    version = await _version(session, schema)
    if version == VERSION:
        return
    if version is None:
        await _make(session, schema)
    else:
        # Waits for every write in flight, and keeps new ones out until the commit.
        await session.ask(("LOCK TABLE scope IN EXCLUSIVE MODE", ()))
    for number in range(version or 0, VERSION):
        await _STEPS[number](session)
    now = ("UPDATE meta SET value = %s WHERE name = 'version'", (str(VERSION),))
    await session.ask(now, commit=True)


async def locked(session: Session, schema: str) -> None:
    """Let nobody else make or change the schema until this transaction ends."""
    await session.ask(
        ("SET LOCAL statement_timeout = 0", ()),
        ("SELECT pg_advisory_xact_lock(hashtextextended('memhub ' || %s, 0))", (schema,)),
    )


def mark(embedder: str | None) -> str:
    """What GUARD says of a schema that this version may use, with vectors of this embedder."""
    return " ".join(part for part in (fingerprint(), embedder, str(VERSION)) if part)


def check_guard(guard: str, mark: str) -> None:
    """Raise Unavailable unless the schema was written by the like of us.

    Two versions at once would write into one index by two rules, and find by one what the other wrote.
    """
    if guard != mark:
        raise Unavailable(
            "the schema is in use by another version of Memhub, or with another embedder; let all its "
            "processes be alike, then run `memhub reindex` where only the index is older"
        )


async def _make(session: Session, schema: str) -> None:
    [[(there,)]] = await session.ask(("SELECT to_regnamespace(%s) IS NOT NULL", (schema,)))
    if not there:
        # Only where it is missing: with IF NOT EXISTS PostgreSQL would still ask for the privilege.
        await session.ask((f'CREATE SCHEMA "{schema}"', ()))


async def _version(session: Session, schema: str) -> int | None:
    """The version of the schema, None where there is nothing in it."""
    [[(server, encoding, tables, known)]] = await session.ask((_FOUND, (schema, schema, schema)))
    if server < OLDEST_SERVER:
        raise InvalidConfig(f"dsn: the server is PostgreSQL {server}; use {OLDEST_SERVER} or newer")
    if encoding != "UTF8":
        raise InvalidConfig(f"dsn: the database's encoding is {encoding}; make one with encoding UTF8")
    if not tables:
        return None
    rows = (await session.ask((_META, ())))[0] if known else []
    meta: dict[str, str] = dict(rows)
    if meta.get("owner") != _OWNER:
        raise InvalidConfig(f"schema: {schema!r} holds tables of another program; choose another schema")
    version = int(meta["version"])
    if version > VERSION:
        raise InvalidConfig(
            f"schema: {schema!r} has version {version}, newer than {VERSION}; use a newer Memhub"
        )
    return version
