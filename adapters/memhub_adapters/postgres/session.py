"""Transactions: what is asked together travels together, and what may be repeated is."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import psycopg
from psycopg.pq import ExecStatus, TransactionStatus

from memhub_adapters.postgres.errors import Dropped, Raced, Unfinished, lost, repeats
from memhub_adapters.postgres.pool import Connection, Pools

__all__ = ["READ", "WRITE", "Row", "Session", "Statement", "Terms", "perform"]

T = TypeVar("T")
Row = tuple[Any, ...]
Statement = tuple[str, Sequence[object]]
"""SQL and its parameters."""

_BIND: Final = "SELECT set_config('memhub.tenants', array_to_string(%s::text[], chr(31)), true)"

READ: Final = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
WRITE: Final = "BEGIN ISOLATION LEVEL READ COMMITTED"

ATTEMPTS: Final = 8
"""Most runs of one transaction that meets deadlocks, lost races or lost connections."""

PAUSE: Final = 0.02
"""Longest pause before the first repeat, in seconds; each further one may be as much longer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """How a transaction is begun: by a statement, or not at all where there is one statement only.

    `mark` is what the schema must say of who may use it. `tenants` are those that it is bound to,
    None where no policy keeps tenants apart.
    """

    begin: str | None
    mark: str
    tenants: Sequence[str] | None = None

    def statements(self) -> list[Statement]:
        """What comes before the first question."""
        begin: list[Statement] = [(self.begin, ())] if self.begin else []
        return begin if self.tenants is None else [*begin, (_BIND, (list(self.tenants),))]


class Session:
    """One transaction on one connection, begun with its first question."""

    def __init__(self, connection: Connection, terms: Terms) -> None:
        self.terms = terms
        self._connection = connection
        self._begin = terms.statements()
        self.committing = False

    async def ask(self, *statements: Statement, commit: bool = False) -> list[list[Row]]:
        """The rows of each statement. All of them go to the server in one round trip.

        With `commit` the transaction ends there: applied whole, or not at all.
        """
        begin, self._begin = self._begin, []
        end = [("COMMIT", ())] if commit else []
        self.committing = commit and self.terms.begin == WRITE
        whole = [*begin, *statements, *end]
        answers = [await self._execute(*whole[0])] if len(whole) == 1 else await self._together(whole)
        wanted = answers[len(begin) : len(begin) + len(statements)]
        return [await answer.fetchall() if _has_rows(answer) else [] for answer in wanted]

    async def _together(self, statements: Sequence[Statement]) -> list[psycopg.AsyncCursor[Row]]:
        """The answers of a pipeline. Where it fails twice, psycopg would write the second error to its log."""
        answers: list[psycopg.AsyncCursor[Row]] = []
        first: Exception | None = None
        try:
            async with self._connection.pipeline():
                try:
                    answers += [await self._execute(*statement) for statement in statements]
                except Exception as error:  # noqa: BLE001 - raised below
                    first = error
        except psycopg.Error as error:
            first = first or error
        if first is not None:
            raise first
        return answers

    async def _execute(self, sql: str, values: Sequence[object]) -> psycopg.AsyncCursor[Row]:
        return await self._connection.execute(sql, values, binary=True)


def _has_rows(answer: psycopg.AsyncCursor[Row]) -> bool:
    return answer.pgresult is not None and answer.pgresult.status == ExecStatus.TUPLES_OK


async def perform(pools: Pools, work: Callable[[Session], Awaitable[T]], terms: Terms) -> T:
    """Run `work` in a transaction; anew where that cannot apply it twice.

    Raises Unfinished when the connection was lost during the commit: it may be applied or not.
    """
    attempt = 0
    while True:
        try:
            return await _once(pools, work, terms)
        except (Raced, Dropped, psycopg.Error) as error:
            attempt += 1
            if attempt == ATTEMPTS or not repeats(error):
                raise
        await asyncio.sleep(random.uniform(0, PAUSE * attempt))  # noqa: S311 - keeps two apart


async def _once(pools: Pools, work: Callable[[Session], Awaitable[T]], terms: Terms) -> T:
    pool = pools.here()
    connection = await pool.take()
    session = Session(connection, terms)
    error: Exception | None = None
    try:
        done = await work(session)
    except Exception as found:  # noqa: BLE001 - raised below
        error = found
    except BaseException:
        # A cancelled call may leave anything on its connection. psycopg has told the server to stop.
        pool.discard(connection)
        raise
    if isinstance(error, psycopg.Error) and lost(error, connection):
        pool.discard(connection)
        raise Unfinished if session.committing else Dropped
    try:
        await _settle(connection)
    finally:
        pool.give(connection)
    if error is not None:
        raise error
    return done


async def _settle(connection: Connection) -> None:
    """End a transaction that is still open; where that fails, the pool closes the connection."""
    status = connection.pgconn.transaction_status
    if status in (TransactionStatus.INTRANS, TransactionStatus.INERROR):
        with suppress(psycopg.Error):
            await connection.execute("ROLLBACK")
