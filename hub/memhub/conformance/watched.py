"""What a rule did to a store: how many calls reached the adapter, and what is there to remove."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from memhub.adapter import Adapter, Write
from memhub.conformance.proxy import Proxy
from memhub.records import Observed, Record, Restored
from memhub.scope import Scope

__all__ = ["Notes", "Watched"]


@dataclass(slots=True)
class Notes:
    """Calls that reached the adapter, scopes written to, ids of the records written.

    Once the rule is `over`, closing a store no longer reaches its adapter, which others own.
    """

    calls: int = 0
    over: bool = False
    scopes: set[Scope] = field(default_factory=set)
    ids: set[str] = field(default_factory=set)


class Watched(Proxy):
    """Keeps notes of the calls that it passes on. A write is noted before it is made."""

    def __init__(self, inner: Adapter, notes: Notes) -> None:
        super().__init__(inner)
        self.notes = notes

    def next(self) -> Adapter:
        self.notes.calls += 1
        return super().next()

    async def observe(self, write: Write) -> Observed:
        self.notes.scopes.add(write.scope)
        done = await super().observe(write)
        self.notes.ids.update(record.id for record in done.records)
        return done

    async def wait(self, operation_id: str, *, now: datetime) -> Observed:
        done = await super().wait(operation_id, now=now)
        self.notes.ids.update(record.id for record in done.records)
        return done

    async def aclose(self) -> None:
        if not self.notes.over:
            await super().aclose()

    async def restore(self, records: Sequence[Record], *, now: datetime) -> Restored:
        self.notes.scopes.update(record.scope for record in records)
        done = await super().restore(records, now=now)
        self.notes.ids.update(done.ids.values())
        return done
