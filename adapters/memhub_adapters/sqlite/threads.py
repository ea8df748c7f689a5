"""The threads that touch the file: one that writes, in groups, and a few that read.

A group is every write that waits when the writer is free: one transaction, a savepoint each, one
sync. A write is acknowledged only after the commit that holds it, and fails alone.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from contextlib import suppress
from copy import copy
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Any, Final, Generic, TypeVar

from memhub.errors import Closed, HubError
from memhub_adapters.sqlite.book import Book
from memhub_adapters.sqlite.file import Connection, File
from memhub_adapters.sqlite.transaction import Transaction

__all__ = ["Readers", "Writer"]

T = TypeVar("T")
C = TypeVar("C")

GROUP: Final = 256
"""Most writes in one transaction."""

GROUP_SECONDS: Final = 0.1
"""After this long a transaction takes no more writes, so that other processes get their turn."""

ERASE_MILLISECONDS: Final = 100
"""How long a delete waits for readers, to empty the log; while it cannot, later writes only try."""

READERS: Final = 4
"""Most reads at a time; a slow one then holds up none of the others."""


class Job(Generic[C, T]):
    """One call: what to do, and the future of the loop that waits for it."""

    __slots__ = ("erases", "error", "future", "loop", "result", "work")

    def __init__(self, work: Callable[[C], T], *, erases: bool = False) -> None:
        self.work = work
        self.erases = erases
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[T] = self.loop.create_future()
        self.result: Any = None
        self.error: Exception | None = None

    def settle(self) -> None:
        """Hand over the outcome, in the loop's own thread; nobody may be waiting any more."""
        if self.future.done():
            return
        if self.error is None:
            self.future.set_result(self.result)
        else:
            self.future.set_exception(self.error)


def _settle(jobs: list[Job[Any, Any]]) -> None:
    for job in jobs:
        job.settle()


def _deliver(jobs: list[Job[Any, Any]]) -> None:
    """Wake each loop once for all of its jobs."""
    for loop in dict.fromkeys(job.loop for job in jobs):
        mine = [job for job in jobs if job.loop is loop]
        # A loop that has closed meanwhile has nobody left who waits.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(_settle, mine)


class _Threads(Generic[C]):
    """Daemon threads that serve one queue, each with a connection of its own, started on use."""

    def __init__(self, file: File, *, most: int, name: str) -> None:
        self._file = file
        self._most = most
        self._name = name
        self._queue: SimpleQueue[Job[Any, Any] | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()
        self._closed = False

    async def run(self, work: Callable[[C], T], *, erases: bool = False) -> T:
        """The result of `work`, run with a connection. A call cancelled while it waits never runs."""
        job = Job(work, erases=erases)
        self._submit(job)
        return await job.future

    def close(self) -> None:
        """Finish what is queued, close the connections, end the threads."""
        with self._lock:
            self._closed = True
            threads, self._threads = self._threads, []
        for _ in threads:
            self._queue.put(None)
        for thread in threads:
            thread.join()

    def _submit(self, job: Job[Any, Any]) -> None:
        """Queue a job where a thread will find it: before `close`, and in the process of the threads."""
        self._file.claim()
        with self._lock:
            if self._closed:
                raise Closed("the store is closed")
            if len(self._threads) < self._most and (not self._threads or self._queue.qsize()):
                self._grow()
            self._queue.put(job)

    def _grow(self) -> None:
        thread = threading.Thread(target=self._serve, name=self._name, daemon=True)
        thread.start()
        self._threads.append(thread)

    def _serve(self) -> None:
        db: Connection | None = None
        while (job := self._queue.get()) is not None:
            db, done = self._handle(db, job)
            _deliver(done)
        if db is not None:
            db.close()

    def _handle(
        self, db: Connection | None, job: Job[Any, Any]
    ) -> tuple[Connection | None, list[Job[Any, Any]]]:
        """Do this job, perhaps more; return the connection, None where it must be reopened."""
        raise NotImplementedError


class Readers(_Threads[sqlite3.Connection]):
    """Runs reads, each in a snapshot of its own, beside whatever is written."""

    def __init__(self, file: File) -> None:
        super().__init__(file, most=READERS, name="memhub-sqlite-read")

    def _handle(
        self, db: Connection | None, job: Job[Any, Any]
    ) -> tuple[Connection | None, list[Job[Any, Any]]]:
        if job.future.cancelled():
            return db, []
        try:
            db = db or self._file.connect(writable=False)
            self._file.check(db)
            db.execute("BEGIN")
            job.result = job.work(db)
            db.execute("COMMIT")
        except Exception as error:  # noqa: BLE001 - handed to the caller
            job.error = error
            db = _after(db, error)
        return db, [job]


class Writer(_Threads[Book]):
    """Runs writes in groups. `erasure_pending`: deleted text may still be in the log.

    `book` makes what each write works with. A store that keeps more than this file overrides
    how a group begins and how it is committed.
    """

    def __init__(self, file: File, *, book: Callable[[Transaction], Book] = Book) -> None:
        super().__init__(file, most=1, name="memhub-sqlite-write")
        self._book = book
        self.erasure_pending = False
        self.commits = 0

    def _handle(
        self, db: Connection | None, job: Job[Any, Any]
    ) -> tuple[Connection | None, list[Job[Any, Any]]]:
        jobs = [job]
        try:
            db = db or self._connect()
            self._file.check(db)
            transaction = self._begin(db)
            self._perform(transaction, job)
            self._fill(transaction, jobs)
            self._commit(transaction)
            self.commits += 1
            self._file.check(db, committed=True)
            self._erase(db, fresh=any(job.erases and job.error is None for job in jobs))
        except Exception as error:  # noqa: BLE001 - handed to every caller of the group
            for failed in jobs:
                # A copy each, since the hub writes into an error where it happened.
                failed.error = failed.error or copy(error)
            db = _after(db, error)
        return db, jobs

    def _begin(self, db: Connection) -> Transaction:
        db.execute("BEGIN IMMEDIATE")
        self._file.check_version(db)
        return Transaction(db)

    def _commit(self, transaction: Transaction) -> None:
        transaction.flush()
        transaction.db.execute("COMMIT")

    def _fill(self, transaction: Transaction, jobs: list[Job[Any, Any]]) -> None:
        """Run the jobs that wait behind the first, for as long as a group may take."""
        latest = monotonic() + GROUP_SECONDS
        while len(jobs) < GROUP and monotonic() < latest:
            try:
                job = self._queue.get_nowait()
            except Empty:
                return
            if job is None:
                self._queue.put(None)
                return
            jobs.append(job)
            self._attempt(transaction, job)

    def _perform(self, transaction: Transaction, job: Job[Any, Any]) -> None:
        """Run the first write of a group: when it fails, nothing else is undone with it."""
        if not job.future.cancelled():
            book = self._book(transaction)
            job.result = job.work(book)
            book.finish()

    def _attempt(self, transaction: Transaction, job: Job[Any, Any]) -> None:
        """Run a further write so that its failure undoes it alone."""
        if job.future.cancelled():
            return
        db = transaction.db
        if job.erases:
            transaction.flush()
        db.execute("SAVEPOINT job")
        book = self._book(transaction)
        try:
            job.result = job.work(book)
            book.finish()
        except Exception as error:
            job.error = error
            if not db.in_transaction:
                # A full disk or an I/O error has made SQLite undo the whole group.
                raise
            db.execute("ROLLBACK TO job")
            book.undo()
        db.execute("RELEASE job")

    def _connect(self) -> Connection:
        # What a killed process deleted may still stand in the log that it left.
        self.erasure_pending = self.erasure_pending or self._file.logged() > 0
        return self._file.connect(writable=True)

    def _erase(self, db: Connection, *, fresh: bool) -> None:
        """Empty the log, where deleted text still stands; a reader of an older snapshot may prevent it."""
        if not (fresh or self.erasure_pending):
            return
        try:
            db.execute(f"PRAGMA busy_timeout = {ERASE_MILLISECONDS if fresh else 0}")
            (busy, _, _) = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            self.erasure_pending = bool(busy)
        except sqlite3.Error:
            self.erasure_pending = True
        finally:
            db.execute(f"PRAGMA busy_timeout = {int(self._file.busy_timeout * 1000)}")


def _after(db: Connection | None, error: Exception) -> Connection | None:
    """The connection after a failure, rolled back; None where only a new one can be trusted."""
    if db is None:
        return None
    try:
        if db.in_transaction:
            db.execute("ROLLBACK")
    except sqlite3.Error:
        db.close()
        return None
    if isinstance(error, sqlite3.Error) or (isinstance(error, HubError) and error.code == "unavailable"):
        db.close()
        return None
    return db
