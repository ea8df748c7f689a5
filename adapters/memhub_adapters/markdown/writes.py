"""The verbs that change files, each as one job of the writer.

Each first makes sure that the index knows the files that it is about, else it raises Stale.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from memhub.adapter import Write
from memhub.records import Observed, Patch, Record, Restored
from memhub.scope import Scope
from memhub_adapters.markdown import files
from memhub_adapters.markdown.book import TreeBook
from memhub_adapters.markdown.reach import Reach
from memhub_adapters.markdown.spent import spent_digest, spent_files, spent_path
from memhub_adapters.markdown.tree import Place
from memhub_adapters.sqlite import writes

__all__ = ["delete", "invalidate", "observe", "purge", "restore", "update"]


def observe(book: TreeBook, write: Write) -> Observed:
    """Store an observation, or answer a key that was seen before."""
    book.expect(write.scope)
    for fact in write.facts:
        if fact.supersedes is not None:
            book.expect_record(fact.supersedes)
    if write.idempotency_key is not None:
        _recall_spent(book, write.scope, write.idempotency_key)
        book.key = write.idempotency_key, write.digest
    return writes.observe(book, write)


def update(book: TreeBook, id: str, patch: Patch, *, revision: str | None, now: datetime) -> Record:
    """Apply a patch."""
    book.expect_record(id)
    return writes.update(book, id, patch, revision=revision, now=now)


def invalidate(book: TreeBook, id: str, reason: str | None, *, revision: str | None, now: datetime) -> Record:
    """Hide a record and keep it."""
    book.expect_record(id)
    return writes.invalidate(book, id, reason, revision=revision, now=now)


def delete(book: TreeBook, id: str, *, revision: str | None) -> None:
    """Forget a record, with every copy of its file, wherever it lies."""
    book.expect_everywhere()
    book.expect_record(id)
    writes.delete(book, id, revision=revision)


def restore(book: TreeBook, records: Sequence[Record]) -> Restored:
    """Write complete records under their own ids."""
    book.expect_everywhere()
    return writes.restore(book, records)


def purge(book: TreeBook, scope: Scope, *, exact: bool) -> int:
    """Remove whole scopes: files, copies and files with faults too, and spent keys."""
    reach = Reach((scope,), exact)
    look = book.transaction.look()
    look.at(book.db, reach)
    for found, number in look.scopes(book.db, reach).items():
        if number is not None:
            for row in files.by_scope(book.db, number):
                book.discard(str(Place(found, row.name)), row.stamp)
            book.db.execute("DELETE FROM file WHERE scope = ?", (number,))
    for path, stamp in spent_files(book.transaction.tree, reach, book.transaction.batch.puts):
        book.discard(path, stamp)
    return writes.purge(book, scope, exact=exact)


def _recall_spent(book: TreeBook, scope: Scope, key: str) -> None:
    """Enter a key into the ledger whose records are gone, and with them what the files knew of it."""
    if spent_path(scope, key) in book.transaction.batch:
        # The ledger has what this transaction has done to it.
        return
    digest = spent_digest(book.transaction.tree, scope, key)
    if digest is not None:
        entry = (book.number(scope), key, digest, "[]")
        book.db.execute("INSERT OR IGNORE INTO ledger VALUES(?, ?, ?, ?)", entry)
