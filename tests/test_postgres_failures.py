"""When the server fails, restarts or is not there: the right error, nothing half-written, and on it goes."""

import asyncio
import socket
import threading
from collections.abc import Iterator

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from memhub import (
    AccessDenied,
    Fact,
    HubError,
    InvalidConfig,
    MemoryStore,
    Observation,
    Observed,
    Patch,
    Query,
    Retry,
    Scope,
    Turn,
    Unavailable,
)
from memhub_adapters.postgres import PostgresAdapter
from memhub_adapters.postgres.session import READ, Session
from postgres_fixture import drop, dsn, new_schema, sql, until
from postgres_server import Server

SCOPE, OTHER = Scope("shared"), Scope("other")
ONCE = Retry(attempts=1)


@pytest.fixture
def schema() -> Iterator[str]:
    name = new_schema()
    yield name
    drop(name)


@pytest.fixture(scope="module")
def own_server() -> Iterator[Server]:
    """A server to be stopped and started, which others are spared."""
    server = Server()
    yield server
    server.remove()


def fact(content: str, scope: Scope = SCOPE) -> Observation:
    return Observation(scope, facts=[Fact(content)])


async def contents(store: MemoryStore) -> list[str]:
    return sorted(hit.record.content for hit in (await store.recall(Query(SCOPE, limit=1000))).hits)


def fail(schema: str, state: str, *, times: int = 1_000, table: str = "fresh") -> None:
    """Let the next writes to a table fail with this SQLSTATE, as the server itself would."""
    sql(f"CREATE SEQUENCE {schema}.failures")
    sql(
        f"CREATE FUNCTION {schema}.fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        f"IF nextval('{schema}.failures') <= {times} THEN "
        f"RAISE EXCEPTION 'green tea is quoted here' USING ERRCODE = '{state}'; END IF; RETURN NEW; END $$"
    )
    sql(f"CREATE TRIGGER fail BEFORE INSERT ON {schema}.{table} EXECUTE FUNCTION {schema}.fail()")


def mend(schema: str) -> None:
    sql(f"DROP FUNCTION {schema}.fail CASCADE")


# Refused by the server


@pytest.mark.parametrize(
    ("state", "kind", "text", "retryable"),
    [
        ("53100", Unavailable, "the server's disk is full, so nothing was written; free some space", False),
        ("53200", Unavailable, "the server is out of memory, so nothing was written", True),
        ("55P03", Unavailable, "another transaction holds the lock, so nothing was written", True),
        ("25006", Unavailable, "the server is a read-only standby", False),
        ("42501", AccessDenied, "the role lacks a privilege", False),
        ("XX001", Unavailable, "the server reports a defect of its own; see its log", False),
        ("57014", Unavailable, "statement_timeout", True),
        ("22012", Unavailable, "the adapter failed with DivisionByZero", False),
    ],
)
def test_a_refused_write_says_why_changes_nothing_and_the_next_one_works(
    schema, state, kind, text, retryable
):
    async def use() -> None:
        async with MemoryStore(PostgresAdapter(dsn(), schema=schema), retry=ONCE) as store:
            await store.observe(fact("black tea"))
            fail(schema, state)
            for _ in range(3):
                with pytest.raises(kind, match=text) as refused:
                    await store.observe(Observation(SCOPE, turns=[Turn("user", "green tea")] * 3))
                assert refused.value.retryable == retryable
                assert "green tea" not in repr(refused.value) + str(refused.value.__cause__)
                assert await contents(store) == ["black tea"]
            mend(schema)
            await store.observe(fact("white tea"))
            assert await contents(store) == ["black tea", "white tea"]
            assert await store.upkeep().check(deep=True) == []

    asyncio.run(use())


@pytest.mark.parametrize("state", ["40001", "40P01"])
def test_serialisation_failures_and_deadlocks_are_repeated_inside(schema, state):
    async def use() -> None:
        async with MemoryStore(PostgresAdapter(dsn(), schema=schema), retry=ONCE) as store:
            await store.observe(fact("black tea"))
            fail(schema, state, times=3)
            await store.observe(fact("green tea"))
            assert await contents(store) == ["black tea", "green tea"]
            mend(schema)
            sql(f"DROP SEQUENCE {schema}.failures")
            fail(schema, state)
            with pytest.raises(Unavailable, match="other transactions kept") as refused:
                await store.observe(fact("lost tea"))
            assert refused.value.retryable
            assert await contents(store) == ["black tea", "green tea"]

    asyncio.run(use())


def test_a_real_deadlock_is_one_that_the_caller_never_sees(schema):
    # A wait looks for a deadlock once, so the store's must be the last to begin: the other never looks.
    quick = make_conninfo(dsn(), options="-c deadlock_timeout=100ms", application_name=schema)
    patient = make_conninfo(dsn(), options="-c deadlock_timeout=1h", application_name=f"{schema}_other")

    async def use() -> None:
        async with MemoryStore(PostgresAdapter(quick, schema=schema), retry=ONCE) as store:
            held = (await store.observe(fact("green tea"))).records[0]
            await store.observe(fact("black tea", OTHER))
            await store.observe(fact("white tea", Scope("third")))
            page = (await store.scan()).records
            with psycopg.connect(dsn()) as gate, psycopg.connect(patient) as other:
                gate.execute(f"SELECT FROM {schema}.scope WHERE id = 2 FOR UPDATE")
                other.execute(f"SELECT FROM {schema}.scope WHERE id = 3 FOR UPDATE")
                later = [_copy(record, number) for number, record in enumerate(page)]
                writing = asyncio.create_task(store.restore(later))
                await asyncio.to_thread(until, lambda: _waits(schema))
                wants = f"SELECT FROM {schema}.scope WHERE id = 1 FOR UPDATE"
                wanting = asyncio.create_task(asyncio.to_thread(other.execute, wants))
                await asyncio.to_thread(until, lambda: _waits(f"{schema}_other"))
                gate.rollback()
                await wanting
                other.rollback()
                await writing
            assert (await store.stats()).live == 6
            assert (await store.get(held.id)) == held
            assert await store.upkeep().check(deep=True) == []

    asyncio.run(use())


def _copy(record, number: int):
    from dataclasses import replace

    return replace(record, id=f"copy {number}")


def _waits(name: str) -> list[tuple]:
    return sql(
        "SELECT pid FROM pg_stat_activity WHERE application_name = %s AND wait_event_type = 'Lock'", name
    )


# Lost connections


def end_connections(name: str) -> None:
    """End those that are there now; others may follow them at once."""
    ended = sql(
        "SELECT pid, pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = %s", name
    )
    pids = [pid for pid, _ in ended]
    until(lambda: not sql("SELECT FROM pg_stat_activity WHERE pid = ANY(%s)", pids))


def test_a_connection_lost_while_idle_is_replaced_without_an_error(schema):
    async def use() -> None:
        adapter = PostgresAdapter(make_conninfo(dsn(), application_name=schema), schema=schema)
        async with MemoryStore(adapter, retry=ONCE) as store:
            await asyncio.gather(*(store.observe(fact(f"tea {n}")) for n in range(4)))
            end_connections(schema)
            await store.observe(fact("tea 4"))
            assert await contents(store) == [f"tea {n}" for n in range(5)]

    asyncio.run(use())


def test_a_connection_lost_during_a_write_is_repeated_where_nothing_was_committed(schema):
    async def use() -> None:
        adapter = PostgresAdapter(make_conninfo(dsn(), application_name=schema), schema=schema)
        async with MemoryStore(adapter, retry=ONCE) as store:
            await store.observe(fact("black tea"))
            with psycopg.connect(dsn()) as holder:
                holder.execute(f"SELECT FROM {schema}.scope FOR UPDATE")
                writing = asyncio.create_task(store.observe(fact("green tea")))
                await asyncio.to_thread(until, lambda: _waits(schema))
                await asyncio.to_thread(end_connections, schema)
            await writing
            assert await contents(store) == ["black tea", "green tea"]

    asyncio.run(use())


def test_a_connection_that_ends_half_way_through_its_answers_is_lost_and_its_work_repeated(schema):
    """What libpq then says has no SQLSTATE, and it has not yet seen the end of the stream."""
    runs: list[int] = []

    async def work(session: Session) -> list[list[tuple]]:
        runs.append(len(runs))
        if len(runs) == 1:
            libpq = session._connection.pgconn
            libpq.enter_pipeline_mode()
            libpq.send_query_params(b"SELECT 1", None)
            libpq.exit_pipeline_mode()
        return await session.ask(("SELECT 2", ()))

    async def use() -> None:
        adapter = PostgresAdapter(dsn(), schema=schema, pool_size=1)
        assert await adapter._access.perform(work, begin=READ) == [[(2,)]]
        assert runs == [0, 1]
        await adapter.aclose()

    asyncio.run(use())


def test_a_failure_within_a_failure_is_not_written_to_any_log(schema, caplog):
    """psycopg would, with what the server said, which may quote what was given."""

    async def use() -> None:
        adapter = PostgresAdapter(dsn(), schema=schema)
        statements = (("SELECT 'green tea'::int", ()), ("SELECT %s", ("no text of PostgreSQL's: \0",)))
        with pytest.raises(psycopg.DataError, match="NUL"):
            await adapter._access.perform(lambda session: session.ask(*statements), begin=READ)
        await adapter.ping()
        await adapter.aclose()

    asyncio.run(use())
    assert caplog.records == []


def break_at_commit(schema: str) -> None:
    """Let the next commit of a write end its connection, once."""
    sql(f"CREATE SEQUENCE {schema}.breaks")
    sql(
        f"CREATE FUNCTION {schema}.break() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        f"IF nextval('{schema}.breaks') = 1 THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF; "
        "RETURN NULL; END $$"
    )
    sql(
        f"CREATE CONSTRAINT TRIGGER break AFTER INSERT ON {schema}.record DEFERRABLE INITIALLY DEFERRED "
        f"FOR EACH ROW EXECUTE FUNCTION {schema}.break()"
    )


def test_a_connection_lost_during_the_commit_is_told_and_not_repeated(schema):
    async def use() -> None:
        async with MemoryStore(PostgresAdapter(dsn(), schema=schema)) as store:
            await store.observe(fact("black tea"))
            break_at_commit(schema)
            with pytest.raises(Unavailable, match="lost during the commit") as unknown:
                await store.observe(fact("green tea"))
            assert not unknown.value.retryable
            assert await contents(store) == ["black tea"]
            await store.observe(fact("white tea"))

    asyncio.run(use())


def test_a_keyed_write_whose_commit_was_lost_is_repeated_and_stored_once(schema):
    async def use() -> None:
        async with MemoryStore(PostgresAdapter(dsn(), schema=schema)) as store:
            await store.observe(fact("black tea"))
            break_at_commit(schema)
            keyed = Observation(SCOPE, facts=[Fact("green tea")], idempotency_key="k")
            await store.observe(keyed)
            assert (await store.observe(keyed)).replayed
            assert await contents(store) == ["black tea", "green tea"]

    asyncio.run(use())


# A server that stops, and one that is not there


def test_a_restarted_server_is_found_again_and_holds_all_that_was_acknowledged(own_server):
    async def use() -> None:
        async with MemoryStore(PostgresAdapter(own_server.dsn), retry=ONCE) as store:
            record = (await store.observe(fact("green tea"))).records[0]
            await asyncio.to_thread(own_server.restart)
            await store.update(record.id, Patch(content="oolong"), revision=record.revision)
            await asyncio.to_thread(own_server.stop)
            with pytest.raises(Unavailable, match="nothing listens there") as down:
                await store.observe(fact("lost tea"))
            assert down.value.retryable
            assert down.value.unapplied
            await asyncio.to_thread(own_server.start)
            assert await contents(store) == ["oolong"]
            await store.purge(SCOPE)

    asyncio.run(use())


def test_calls_in_flight_when_the_server_crashes_fail_or_succeed_and_are_never_half_done(own_server):
    async def use() -> None:
        store = MemoryStore(PostgresAdapter(own_server.dsn), retry=ONCE)
        async with store:
            await store.observe(fact("first"))
            for turn in range(2):
                writes = [Observation(SCOPE, turns=[Turn("user", f"{turn} {n}")] * 3) for n in range(30)]
                calls = asyncio.gather(*map(store.observe, writes), return_exceptions=True)
                await asyncio.to_thread(own_server.stop, "immediate")
                done = await calls
                await asyncio.to_thread(own_server.start)
                assert [one for one in done if not isinstance(one, Unavailable | Observed)] == []
                found = await contents(store)
                for write, one in zip(writes, done, strict=True):
                    count = found.count(write.turns[0].content)
                    assert count in ((0, 3) if isinstance(one, BaseException) else (3,))
            assert await store.upkeep().check(deep=True) == []

    asyncio.run(use())


def refused(*, patience: float = 60, **changed: object) -> HubError:
    """What opening comes to where the connection string is changed so."""

    async def go() -> HubError:
        adapter = PostgresAdapter(make_conninfo(dsn(), **changed), connect_timeout=patience)
        with pytest.raises(HubError) as error:
            await adapter.open()
        await adapter.aclose()
        return error.value

    return asyncio.run(go())


@pytest.mark.parametrize(
    ("changed", "kind", "text"),
    [
        ({"password": "wrong"}, AccessDenied, "the server refuses the user or the password"),
        ({"user": "nobody"}, AccessDenied, "the server refuses the user or the password"),
        ({"dbname": "nowhere"}, InvalidConfig, "/nowhere: the server has no such database"),
        ({"port": 1}, Unavailable, "127.0.0.1:1/postgres: nothing listens there"),
        ({"host": "nowhere.invalid"}, Unavailable, "nowhere.invalid:"),
        ({"sslmode": "require"}, InvalidConfig, "do not agree on TLS"),
    ],
)
def test_a_connection_that_cannot_be_made_says_why_and_shows_no_secret(changed, kind, text):
    error = refused(**changed)
    assert type(error) is kind
    assert text in str(error)
    assert "wrong" not in str(error)


def test_a_server_that_never_answers_is_given_up(schema):
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        error = refused(patience=2, host="127.0.0.1", port=silent.getsockname()[1])
    assert type(error) is Unavailable
    assert "it does not answer" in str(error)


def test_a_server_that_goes_while_tls_is_agreed_on_is_away_and_not_misconfigured():
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()

        def hang_up() -> None:
            with listening.accept()[0] as connection:
                connection.recv(8)
                connection.sendall(b"S")
                connection.recv(1)

        server = threading.Thread(target=hang_up)
        server.start()
        error = refused(host="127.0.0.1", port=listening.getsockname()[1], sslmode="require")
        server.join()
    assert type(error) is Unavailable
    assert error.retryable
    assert "it closed the connection" in str(error)
