"""The thread that writes: a group of writes is one commit of the files, and one of the index behind it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Any, TypeVar, cast

from memhub.scope import Scope
from memhub_adapters.markdown import files
from memhub_adapters.markdown.book import TreeBook, TreeTransaction
from memhub_adapters.markdown.errors import Stale
from memhub_adapters.markdown.home import Home
from memhub_adapters.markdown.lock import Taken
from memhub_adapters.sqlite.file import Connection
from memhub_adapters.sqlite.threads import Job, Writer
from memhub_adapters.sqlite.transaction import Transaction

__all__ = ["TreeWriter"]

T = TypeVar("T")


class TreeWriter(Writer):
    """Holds the tree's lock from a group's first look at the files until its index is committed.

    A write counts once its files are synced. The index follows; where it cannot, the mark in the
    lock tells the next one to compare before it trusts.
    """

    def __init__(self, home: Home, now: Callable[[], int]) -> None:
        super().__init__(home, book=TreeBook)
        self._home = home
        self._now = now
        self._taken: Taken | None = None
        self._trusted: set[Scope] = set()
        self._trusted_in: object = None

    async def write(self, work: Callable[[TreeBook], T], *, erases: bool = False) -> T:
        """The result of `work`, once what it changed is on the disk."""
        return await self.run(cast("Callable[[Any], T]", work), erases=erases)

    def _handle(
        self, db: Connection | None, job: Job[Any, Any]
    ) -> tuple[Connection | None, list[Job[Any, Any]]]:
        try:
            return super()._handle(db, job)
        finally:
            if self._taken is not None:
                self._taken.release()
                self._taken = None

    def _begin(self, db: Connection) -> Transaction:
        self._taken = self._home.take()
        super()._begin(db)
        if self._trusted_in != db.identity:
            self._trusted, self._trusted_in = set(), db.identity
        marked = self._taken.marked
        return TreeTransaction(db, self._home.tree, self._now, trusted=self._trusted, marked=marked)

    def _commit(self, transaction: Transaction) -> None:
        own = cast("TreeTransaction", transaction)
        own.flush()
        if own.batch:
            self._publish(own)
        else:
            own.db.execute("COMMIT")
            self._settle(own)

    def _publish(self, transaction: TreeTransaction) -> None:
        taken = self._held()
        known = not taken.marked
        taken.mark()
        try:
            stamps = self._home.journal.publish(transaction.batch)
        except Stale:
            if known:
                taken.clear()
            raise
        try:
            seen, pending = self._now(), transaction.rows
            rows = [
                pending[path]._replace(stamp=stamps[path], seen=seen) for path in stamps if path in pending
            ]
            files.put(transaction.db, rows, change=transaction.change)
            transaction.db.execute("COMMIT")
        except sqlite3.Error:
            # The files hold it all. The mark stays, so that the index is compared before it is trusted.
            if transaction.db.in_transaction:
                transaction.db.execute("ROLLBACK")
            return
        self._settle(transaction)
        if known:
            taken.clear()

    def _settle(self, transaction: TreeTransaction) -> None:
        """Draw the conclusions of a commit."""
        self._trusted |= transaction.compared
        self.erasure_pending = self.erasure_pending or transaction.erases
        if transaction.complete:
            self._held().clear()

    def _held(self) -> Taken:
        if self._taken is None:
            raise RuntimeError("the tree's lock is not held")
        return self._taken
