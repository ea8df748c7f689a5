"""For targets that merge equal texts: each text of a scope goes there once, a live one before history."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from hashlib import sha256

from memhub.migration.checkpoint import Checkpoint, Moved
from memhub.records import Record

__all__ = ["Merger", "text_key"]


def text_key(record: Record) -> bytes:
    """Equal for records whose texts such a target takes for one."""
    return sha256(f"{record.scope.canonical}\0{record.content}".encode()).digest()


class Merger:
    """Chooses which of several records with one text is moved."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        self._checkpoint = checkpoint

    async def chosen(self, records: Sequence[Record]) -> tuple[list[Record], list[Moved]]:
        """Those that are to be moved, and what was moved before and has to make room for them."""
        best: dict[bytes, Record] = {}
        for record in records:
            rival = best.get(text_key(record))
            if rival is None or (_live(record) and not _live(rival)):
                best[text_key(record)] = record
        there = await asyncio.to_thread(self._checkpoint.saying, list(best))
        winners = {
            record.id for text, record in best.items() if text not in there or _wins(record, there[text])
        }
        room = [row for text, row in there.items() if _wins(best[text], row)]
        return [record for record in records if record.id in winners], room


def _wins(record: Record, row: Moved) -> bool:
    return _live(record) and not row.live


def _live(record: Record) -> bool:
    return record.invalid_at is None
