"""Writing what a book has worked out, and ending the transaction with it."""

from __future__ import annotations

import json
from typing import Final

from memhub_adapters.postgres import postings
from memhub_adapters.postgres.book import Book, Entry
from memhub_adapters.postgres.meaning import Meant
from memhub_adapters.postgres.rows import UPDATE, inserted, row_of
from memhub_adapters.postgres.scopes import Room
from memhub_adapters.postgres.session import Session, Statement

__all__ = ["save"]

_ROOM: Final = "UPDATE scope SET next = %s, count = %s, length = %s, turns = %s, fresh = %s WHERE id = %s"


async def save(session: Session, book: Book, meant: Meant | None) -> None:
    """Write the difference and commit: one round trip, two where postings must be read before."""
    statements = _records(book)
    if meant is not None:
        statements += _vectors(book, meant)
    for scope, change in book.changes.items():
        room = book.rooms[scope]
        before = await postings.stored(session, scope, room.fresh, change)
        written, more = postings.changes(scope, change, before)
        room.fresh += more
        statements += [*written, _counted(room)]
    if book.noted is not None:
        statements.append(_noted(book, book.noted))
    await session.ask(*statements, commit=True)


def _records(book: Book) -> list[Statement]:
    statements: list[Statement] = []
    # Deleted first, so that a turn may take over the place before it.
    if book.deleted:
        statements.append(("DELETE FROM record WHERE key = ANY(%s::bigint[])", (book.deleted,)))
    statements += [(UPDATE, (*row_of(slot), slot.key)) for slot in book.updated]
    if book.inserted:
        statements.append(inserted(book.inserted))
    return statements


def _vectors(book: Book, meant: Meant) -> list[Statement]:
    changed = [*book.inserted, *book.updated]
    texts = {slot.key: slot.record.content for slot in changed}
    vectors = {key: meant.vectors[text] for key, text in texts.items() if text in meant.vectors}
    statements: list[Statement] = [meant.meaning.stored(vectors)] if vectors else []
    if book.deleted:
        statements.append(("DELETE FROM meaning WHERE key = ANY(%s::bigint[])", (book.deleted,)))
    return statements


def _counted(room: Room) -> Statement:
    return _ROOM, (room.next, room.count, room.length, room.turns, room.fresh, room.number)


def _noted(book: Book, noted: Entry) -> Statement:
    sql = "INSERT INTO ledger VALUES(%s, %s, %s, %s::json)"
    return sql, (book.room(noted.scope).number, noted.key, noted.digest, json.dumps(noted.ids))
