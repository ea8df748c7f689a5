"""The `events` section: who is told what happens in the stores."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pydantic import Field

from memhub import InvalidConfig
from memhub.observers import Observer
from memhub_config.loader import Document
from memhub_config.models import Section

__all__ = ["EventsSection", "events_file", "watchers"]


class EventsSection(Section):
    """Where events go. They hold counts and ids; texts only with `content`."""

    file: Path | None = Field(
        default=None, description="A JSON Lines file to append events to; `memhub tail` prints it."
    )
    otel: bool = Field(
        default=False, description="Spans and metrics through the process's own OpenTelemetry providers."
    )
    content: bool = Field(
        default=False, description="Whether events hold what is remembered and asked, not only counts."
    )


def watchers(section: EventsSection, document: Document) -> Sequence[Observer]:
    """The observers that it names. InvalidConfig when the file cannot be written."""
    found: list[Observer] = []
    if section.file is not None:
        found.append(_file(events_file(section.file, document), document))
    if section.otel:
        found.append(_otel(document))
    return found


def events_file(given: Path, document: Document) -> Path:
    """The file's path; a relative one starts at the configuration's folder."""
    return document.folder / given.expanduser()


def _file(path: Path, document: Document) -> Observer:
    from memhub.jsonlines import JsonLines

    sink = JsonLines(path)
    try:
        sink.open()
    except OSError as found:
        why = found.strerror
    else:
        return sink
    raise _refused(document, "file", f"cannot be written: {why}")


def _otel(document: Document) -> Observer:
    try:
        from memhub.telemetry import OpenTelemetryObserver
    except ModuleNotFoundError:
        pass
    else:
        return OpenTelemetryObserver()
    raise _refused(
        document, "otel", "needs OpenTelemetry, which is not installed; pip install 'memhub[otel]'"
    )


def _refused(document: Document, field: str, message: str) -> InvalidConfig:
    problems = document.problems()
    problems.add(("events", field), message)
    return problems.error()
