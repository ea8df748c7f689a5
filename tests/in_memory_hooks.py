"""What the kit may ask of the in-memory adapter: a second one over the same data, and traces of a text."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from memhub_adapters.in_memory import InMemoryAdapter


@asynccontextmanager
async def opened_again(adapter: InMemoryAdapter) -> AsyncIterator[InMemoryAdapter]:
    """An adapter of the same kind that shares what is stored."""
    again = type(adapter)()
    again._lock, again._rooms, again._ledger = adapter._lock, adapter._rooms, adapter._ledger
    yield again


async def traces(adapter: InMemoryAdapter, text: str) -> int:
    """How often a text occurs in records, index, scopes and ledger."""
    rooms = adapter._rooms._rooms
    held = [(scope, room.slots, list(room.postings), room.last_turns) for scope, room in rooms.items()]
    return repr((held, adapter._ledger)).count(text)
