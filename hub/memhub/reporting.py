"""What a store tells its observers about each verb; nothing is made while nobody watches."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memhub.adapter import Adapter, Read
    from memhub.calls import Clock
    from memhub.observers import Observers
    from memhub.records import Observed, Recalled

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
            self._tell("OperationPending", "observe", operation_id=done.operation.id, seconds=seconds)
            return
        characters = sum(len(record.content) for record in done.records)
        self.written("observe", len(done.records), characters, replayed=done.replayed, seconds=seconds)
        corrected = sum(record.supersedes is not None for record in done.records)
        if corrected and not done.replayed:
            self._tell("MemoryInvalidated", "observe", count=corrected)

    def recalled(self, read: Read, found: Recalled, seconds: float) -> None:
        """A recall was answered."""
        if self._observers:
            characters = sum(len(hit.record.content) for hit in found.hits)
            text = read.text is not None
            self._tell(
                "MemorySearched",
                "recall",
                count=len(found.hits),
                characters=characters,
                text=text,
                seconds=seconds,
            )

    def written(
        self, operation: str, count: int, characters: int, *, replayed: bool = False, seconds: float = 0.0
    ) -> None:
        """Records were stored."""
        self._tell(
            "MemoryWritten", operation, count=count, characters=characters, replayed=replayed, seconds=seconds
        )

    def invalidated(self) -> None:
        """A record was hidden."""
        self._tell("MemoryInvalidated", "invalidate")

    def deleted(self, operation: str, count: int = 1) -> None:
        """Records were forgotten."""
        self._tell("MemoryDeleted", operation, count=count)

    def finished(self, operation_id: str) -> None:
        """A pending operation is done."""
        self._tell("OperationDone", "wait", operation_id=operation_id)

    def _tell(self, kind: str, operation: str, **facts: object) -> None:
        if not self._observers:
            return
        from memhub import events

        self._observers.emit(
            getattr(events, kind)(
                store=self._store,
                provider=self._adapter.capabilities.provider,
                operation=operation,
                at=self._clock(),
                **facts,
            )
        )
