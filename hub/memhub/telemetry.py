"""Events as OpenTelemetry spans and metrics, by the GenAI conventions for memory (extra `otel`).

A span a verb, named by its operation: `search_memory`, `create_memory`, `update_memory`,
`delete_memory`. It is a child of the span that was current when the verb was called. Texts are in
it only for a subscription with `content=True`: `gen_ai.memory.query.text`, `gen_ai.memory.records`.
Metrics: `gen_ai.client.operation.duration` in seconds, and `memhub.retries`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Final

from opentelemetry import metrics, trace
from opentelemetry.trace import SpanKind, Status, StatusCode

from memhub._version import __version__
from memhub.events import (
    CallFailed,
    Event,
    MemoryDeleted,
    MemoryInvalidated,
    MemorySearched,
    MemoryWritten,
    OperationPending,
    RetryScheduled,
)
from memhub.records import Record

__all__ = ["OpenTelemetryObserver"]

Value = str | int

OPERATIONS: Final[Mapping[str, str]] = {
    "observe": "create_memory",
    "restore": "create_memory",
    "recall": "search_memory",
    "update": "update_memory",
    "invalidate": "update_memory",
    "delete": "delete_memory",
    "purge": "delete_memory",
}
"""The convention's operation for each verb; other verbs have none."""

BUCKETS: Final = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_TOLD: Final = (MemoryWritten, MemorySearched, MemoryInvalidated, MemoryDeleted, OperationPending, CallFailed)


class OpenTelemetryObserver:
    """An observer for `MemoryStore.subscribe`. Without providers it uses the process's own."""

    def __init__(
        self,
        *,
        tracer_provider: trace.TracerProvider | None = None,
        meter_provider: metrics.MeterProvider | None = None,
    ) -> None:
        self._tracer = trace.get_tracer("memhub", __version__, tracer_provider)
        meter = metrics.get_meter("memhub", __version__, meter_provider)
        self._duration = meter.create_histogram(
            "gen_ai.client.operation.duration",
            unit="s",
            description="How long memory operations take, repetitions included.",
            explicit_bucket_boundaries_advisory=BUCKETS,
        )
        self._retries = meter.create_counter(
            "memhub.retries", unit="{call}", description="Calls of a provider that failed and were repeated."
        )

    def __call__(self, event: Event) -> None:
        operation = OPERATIONS.get(event.operation)
        if isinstance(event, RetryScheduled):
            self._retries.add(1, {**_place(event, operation or event.operation), "error.type": event.code})
        elif operation is not None and isinstance(event, _TOLD) and not _corrected(event):
            self._tell(event, operation)

    def _tell(self, event: Event, operation: str) -> None:
        place = _place(event, operation)
        if isinstance(event, CallFailed):
            place["error.type"] = event.code
        self._duration.record(event.seconds, place)
        end = _nanoseconds(event.at)
        span = self._tracer.start_span(
            operation,
            kind=SpanKind.CLIENT,
            attributes=place | _counts(event) | _texts(event),
            start_time=end - int(event.seconds * 1e9),
        )
        if isinstance(event, CallFailed):
            span.set_status(Status(StatusCode.ERROR, event.code))
        span.end(end)


def _place(event: Event, operation: str) -> dict[str, Value]:
    return {
        "gen_ai.operation.name": operation,
        "gen_ai.memory.store.id": event.store,
        "gen_ai.provider.name": event.provider,
    }


def _counts(event: Event) -> dict[str, Value]:
    found: dict[str, Value] = {}
    if isinstance(event, MemoryWritten | MemorySearched | MemoryInvalidated | MemoryDeleted):
        found["gen_ai.memory.record.count"] = event.count
        if len(event.ids) == 1 and not isinstance(event, MemorySearched):
            found["gen_ai.memory.record.id"] = event.ids[0]
    return found


def _texts(event: Event) -> dict[str, Value]:
    found: dict[str, Value] = {}
    if isinstance(event, MemorySearched) and event.query is not None:
        found["gen_ai.memory.query.text"] = event.query
    if isinstance(event, MemorySearched | MemoryWritten) and event.records is not None:
        found["gen_ai.memory.records"] = json.dumps([_shown(record) for record in event.records])
    return found


def _shown(record: Record) -> dict[str, object]:
    return {"id": record.id, "content": record.content, "metadata": {"kind": record.kind}}


def _corrected(event: Event) -> bool:
    """Whether it tells of what a correction superseded, which is part of the write told before it."""
    return isinstance(event, MemoryInvalidated) and event.operation == "observe"


def _nanoseconds(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(microseconds=1) * 1_000
