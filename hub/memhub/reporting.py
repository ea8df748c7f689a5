"""What a store tells its observers about each verb; nothing is made while nobody watches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memhub.adapter import Adapter, Read
    from memhub.blocks import RecallBlock
    from memhub.calls import Clock
    from memhub.observers import Observers
    from memhub.records import Observed, Recalled, Record, Restored

__all__ = ["Reporter"]


class Reporter:
    """Turns outcomes into events of one store. Times are in seconds."""

    def __init__(self, observers: Observers, adapter: Adapter, *, store: str, clock: Clock) -> None:
        self._observers = observers
        self._adapter = adapter
        self._store = store
        self._clock = clock

    def observed(self, done: Observed, seconds: float) -> None:
        """An observation was stored, or accepted."""
        if not self._observers:
            return
        if done.operation is not None and done.operation.status == "pending":
            self._tell("OperationPending", "observe", seconds, operation_id=done.operation.id)
            return
        self.written("observe", done.records, seconds, replayed=done.replayed)
        corrected = tuple(record.supersedes for record in done.records if record.supersedes is not None)
        if corrected and not done.replayed:
            self._tell("MemoryInvalidated", "observe", 0.0, count=len(corrected), ids=corrected)

    def recalled(self, read: Read, found: Recalled, seconds: float) -> None:
        """A recall was answered."""
        if self._observers:
            records = tuple(hit.record for hit in found.hits)
            asked = self._observers.content
            self._tell(
                "MemorySearched",
                "recall",
                seconds,
                **_counted(records),
                text=read.text is not None,
                query=read.text if asked else None,
                records=records if asked else None,
            )

    def assembled(self, block: RecallBlock, query: str | None, seconds: float) -> None:
        """A recall block was made."""
        if self._observers:
            asked = self._observers.content
            self._tell(
                "MemoryRecalled",
                "recall_block",
                seconds,
                count=block.count,
                characters=block.characters,
                truncated=block.truncated,
                ids=block.ids,
                query=query if asked else None,
                block=block.text if asked else None,
            )

    def written(
        self, operation: str, records: Sequence[Record], seconds: float, *, replayed: bool = False
    ) -> None:
        """Records were stored."""
        if self._observers:
            given = tuple(records) if self._observers.content else None
            told = _counted(records)
            self._tell("MemoryWritten", operation, seconds, **told, replayed=replayed, records=given)

    def restored(self, given: Sequence[Record], done: Restored, seconds: float) -> None:
        """Complete records were stored, with the ids that they have here."""
        if self._observers:
            here = [replace(record, id=done.ids.get(record.id, record.id)) for record in given]
            self.written("restore", here, seconds)

    def invalidated(self, id: str, seconds: float) -> None:
        """A record was hidden."""
        self._tell("MemoryInvalidated", "invalidate", seconds, ids=(id,))

    def deleted(self, id: str, seconds: float) -> None:
        """A record was forgotten."""
        self._tell("MemoryDeleted", "delete", seconds, ids=(id,))

    def purged(self, count: int, seconds: float) -> None:
        """All that a scope covers was forgotten."""
        self._tell("MemoryDeleted", "purge", seconds, count=count)

    def finished(self, operation_id: str, seconds: float) -> None:
        """A pending operation is done."""
        self._tell("OperationDone", "wait", seconds, operation_id=operation_id)

    def failed(self, operation: str, code: str, seconds: float) -> None:
        """A call of the adapter ended with an error."""
        self._tell("CallFailed", operation, seconds, code=code)

    def _tell(self, kind: str, operation: str, seconds: float, **facts: object) -> None:
        if not self._observers:
            return
        from memhub import events

        self._observers.emit(
            getattr(events, kind)(
                store=self._store,
                provider=self._adapter.capabilities.provider,
                operation=operation,
                at=self._clock(),
                seconds=seconds,
                **facts,
            )
        )


def _counted(records: Sequence[Record]) -> dict[str, object]:
    return {
        "count": len(records),
        "characters": sum(len(record.content) for record in records),
        "ids": tuple(record.id for record in records),
    }
