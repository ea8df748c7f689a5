"""Connections: one pool for each event loop, made when its first call comes.

psycopg's own pool connects in tasks of its own, and these swallow the cancellation by which a loop
ends: `asyncio.run` then never returns while a server does not answer. Here all is done in the calls.
"""

from __future__ import annotations

import asyncio
import os
import select
from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import Lock
from time import monotonic
from typing import Any, Final
from weakref import WeakValueDictionary

import psycopg
from psycopg.adapt import AdaptersMap
from psycopg.pq import PipelineStatus, TransactionStatus
from psycopg.types.numeric import Int8BinaryDumper

from memhub.errors import Closed, Unavailable
from memhub_adapters.postgres.errors import refused
from memhub_adapters.postgres.parameters import where

__all__ = ["Connection", "Pool", "Pools"]

Connection = psycopg.AsyncConnection[tuple[Any, ...]]

IDLE_SECONDS: Final = 300.0
"""A connection unused for so long is closed when the next one comes back."""

_ADAPTERS: Final = AdaptersMap(psycopg.adapters)
# One type for every integer: otherwise each size would be a statement of its own to the server.
_ADAPTERS.register_dumper(int, Int8BinaryDumper)


@dataclass(slots=True)
class _Idle:
    connection: Connection
    since: float


class Pool:
    """The connections of one event loop, at most `size`. `patience` is in seconds."""

    def __init__(self, parameters: Mapping[str, Any], *, size: int, patience: float) -> None:
        self._parameters = parameters
        self._where = where(parameters)
        self._size = size
        self._patience = patience
        self._permits = asyncio.Semaphore(size)
        self._idle: list[_Idle] = []
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._closed = False

    def turn(self, scope: str) -> asyncio.Lock:
        """Held while a scope is written, so that those who wait for its row take no connection meanwhile."""
        return self._turns.setdefault(scope, asyncio.Lock())

    async def take(self) -> Connection:
        """A connection that was sound a moment ago, or a new one; give it back.

        Raises Unavailable when all are in use for longer than the pool's patience.
        """
        try:
            async with asyncio.timeout(self._patience):
                await self._permits.acquire()
        except TimeoutError:
            raise Unavailable(
                f"all {self._size} connections are in use, for more than {self._patience:g} s; raise "
                "pool_size, or send fewer calls at once",
                retryable=True,
                unapplied=True,
            ) from None
        try:
            return self._sound() or await self._connect()
        except BaseException:
            self._permits.release()
            raise

    def give(self, connection: Connection) -> None:
        """Take a connection back; one that is not at rest is closed."""
        if _at_rest(connection) and not self._closed:
            self._idle.append(_Idle(connection, monotonic()))
            self._shrink()
        else:
            _finish(connection)
        self._permits.release()

    def discard(self, connection: Connection) -> None:
        """Close a connection in place of giving it back."""
        _finish(connection)
        self._permits.release()

    def close(self) -> None:
        """Close what is idle now, and the rest as it comes back. From any thread."""
        self._closed = True
        while self._idle:
            _finish(self._idle.pop().connection)

    async def _connect(self) -> Connection:
        try:
            return await psycopg.AsyncConnection.connect(
                autocommit=True, context=_ADAPTERS, **self._parameters
            )
        except psycopg.Error as found:
            error = refused(found, self._where)
        raise error

    def _sound(self) -> Connection | None:
        while self._idle:
            connection = self._idle.pop().connection
            if _quiet(connection):
                return connection
            _finish(connection)
        return None

    def _shrink(self) -> None:
        while self._idle and monotonic() - self._idle[0].since > IDLE_SECONDS:
            _finish(self._idle.pop(0).connection)


@dataclass(slots=True)
class Pools:
    """The pools of one adapter, by event loop."""

    parameters: Mapping[str, Any] = field(repr=False)
    size: int
    patience: float
    _lock: Lock = field(default_factory=Lock, repr=False)
    _pools: dict[asyncio.AbstractEventLoop, Pool] = field(default_factory=dict, repr=False)
    _process: int | None = None
    _closed: bool = False

    def here(self) -> Pool:
        """The pool of the running loop. Raises Closed after `close`, Unavailable after a fork."""
        loop = asyncio.get_running_loop()
        with self._lock:
            if self._closed:
                raise Closed("the store is closed")
            self._claim()
            if loop not in self._pools:
                self._drop_dead()
                self._pools[loop] = Pool(self.parameters, size=self.size, patience=self.patience)
            return self._pools[loop]

    def close(self) -> None:
        """Close every pool. Calls in flight finish."""
        with self._lock:
            self._closed = True
            if self._process not in (None, os.getpid()):
                return
            for pool in self._pools.values():
                pool.close()
            self._pools.clear()

    def _claim(self) -> None:
        if self._process is None:
            self._process = os.getpid()
        elif self._process != os.getpid():
            raise Unavailable(
                "the store was in use when this process was forked; open it anew in each process"
            )

    def _drop_dead(self) -> None:
        for loop in [loop for loop in self._pools if loop.is_closed()]:
            self._pools.pop(loop).close()


def _finish(connection: Connection) -> None:
    """Close a connection, at once and in any thread."""
    connection.pgconn.finish()


def _at_rest(connection: Connection) -> bool:
    """Whether no transaction is open and no answer is missing."""
    pgconn = connection.pgconn
    return (
        pgconn.transaction_status == TransactionStatus.IDLE and pgconn.pipeline_status == PipelineStatus.OFF
    )


def _quiet(connection: Connection) -> bool:
    """Whether the server has sent nothing: a restart shows as the end of the stream."""
    if connection.closed:
        return False
    waiting = select.poll()
    waiting.register(connection.fileno(), select.POLLIN)
    return not waiting.poll(0)
