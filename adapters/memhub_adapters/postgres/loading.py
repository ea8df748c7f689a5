"""What a write needs before it begins: its scopes locked, and the records it names, in one round trip."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from memhub.records import Record
from memhub.scope import Scope
from memhub.search.indexing import Slot, is_turn
from memhub_adapters.postgres.book import Book, Entry
from memhub_adapters.postgres.errors import Raced
from memhub_adapters.postgres.rows import SLOT, SLOTS, Scopes, slot_of
from memhub_adapters.postgres.schema import check_guard
from memhub_adapters.postgres.scopes import Room, held, held_of, made
from memhub_adapters.postgres.session import Row, Session, Statement
from memhub_adapters.postgres.tenants import narrowed

__all__ = ["Needs", "load"]

_NAMED: Final = f"""
WITH named AS MATERIALIZED (
    SELECT key, previous, supersedes, superseded_by FROM record WHERE id = ANY(%s::text[])
)
{SLOTS}
WHERE r.key = ANY(ARRAY(SELECT key FROM named UNION ALL SELECT previous FROM named))
    OR r.previous = ANY(ARRAY(SELECT key FROM named))
    OR r.id = ANY(ARRAY(SELECT supersedes FROM named UNION ALL SELECT superseded_by FROM named))
"""
# Lateral, so that each finds its one turn at the end of an index and no plan looks through the scope.
_LAST_TURNS: Final = f"""
SELECT {SLOT} FROM unnest(%s::text[], %s::text[]) AS given(canonical, conversation)
JOIN scope s ON s.canonical = given.canonical
CROSS JOIN LATERAL (SELECT * FROM record r WHERE r.scope = s.id AND r.conversation = given.conversation
    AND r.role IS NOT NULL ORDER BY r.key DESC LIMIT 1) r
"""
_LAST_LOOSE_TURNS: Final = f"""
SELECT {SLOT} FROM scope s
CROSS JOIN LATERAL (SELECT * FROM record r WHERE r.scope = s.id AND r.conversation IS NULL
    AND r.role IS NOT NULL ORDER BY r.key DESC LIMIT 1) r
WHERE s.canonical = ANY(%s::text[])
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """What to load. `new` are the records to come, whose scopes are made; `ids` name stored ones.

    `ledger` is an idempotency key in its scope.
    """

    new: Sequence[Record] = ()
    ids: Sequence[str] = ()
    ledger: tuple[Scope, str] | None = None


async def load(session: Session, needs: Needs) -> Book:
    """Lock and load. Raises Unavailable where another version of Memhub has taken over the schema."""
    scopes = list(dict.fromkeys(record.scope for record in needs.new))
    found = await _found(session, needs, scopes)
    if len(found["rooms"]) < len(scopes):
        await session.ask(made(scopes))
        found = await _found(session, needs, scopes)
    parsed = Scopes()
    rooms = [_room(row, session.terms.mark) for row in found["rooms"]]
    named = [slot_of(row, parsed) for row in found["named"]]
    if len(rooms) < len(scopes) or not (scopes or _held(named, rooms, needs.ids)):
        raise Raced
    return Book(
        rooms,
        named,
        [slot_of(row, parsed) for row in found["turns"]],
        next((Entry(*needs.ledger, *row) for row in found["seen"] if needs.ledger), None),
    )


def _held(named: Iterable[Slot], rooms: Iterable[Room], ids: Sequence[str]) -> bool:
    """Whether the scopes of these records are held: one may have gone and come back in another meanwhile."""
    numbers = {room.number for room in rooms}
    return all(slot.key >> 32 in numbers for slot in named if slot.record.id in ids)


async def _found(session: Session, needs: Needs, scopes: Sequence[Scope]) -> dict[str, list[Row]]:
    """What is there of it: one round trip, whose later statements see what the lock let in."""
    by_id = session.terms.tenants is not None and not scopes
    parts: dict[str, list[Statement]] = {
        "bound": [narrowed(needs.ids)] if by_id else [],
        "rooms": [held(scopes) if scopes else held_of(needs.ids)],
        "named": [(_NAMED, (list(needs.ids),))] if needs.ids else [],
        "turns": _last_turns(needs.new),
        "seen": [_seen(*needs.ledger)] if needs.ledger else [],
    }
    answers = iter(await session.ask(*(statement for part in parts.values() for statement in part)))
    return {name: [row for _ in part for row in next(answers)] for name, part in parts.items()}


def _last_turns(new: Iterable[Record]) -> list[Statement]:
    """The last stored turn of each session that one of the new records may go on with."""
    turns = [record for record in new if is_turn(record)]
    pairs = {(turn.scope.canonical, turn.provenance.conversation_id) for turn in turns}
    named = sorted((scope, conversation) for scope, conversation in pairs if conversation is not None)
    # Without a conversation a session is one observation, which only begins with position 0.
    first = {
        turn.scope.canonical: turn for turn in reversed(turns) if turn.provenance.conversation_id is None
    }
    loose = sorted(scope for scope, turn in first.items() if turn.position > 0)
    statements: list[Statement] = []
    if named:
        statements.append((_LAST_TURNS, [list(column) for column in zip(*named, strict=True)]))
    if loose:
        statements.append((_LAST_LOOSE_TURNS, (loose,)))
    return statements


def _seen(scope: Scope, key: str) -> Statement:
    sql = (
        "SELECT digest, ids FROM ledger "
        "WHERE scope = (SELECT id FROM scope WHERE canonical = %s) AND key = %s"
    )
    return sql, (scope.canonical, key)


def _room(row: Row, mark: str) -> Room:
    *room, guard = row
    check_guard(guard, mark)
    return Room(*room)
