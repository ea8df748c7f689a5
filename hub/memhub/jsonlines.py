"""Events as JSON Lines: one object a line, appended to a file that any number of processes share."""

from __future__ import annotations

import json
import os
from dataclasses import fields
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from memhub.interchange import record_to_json, time_to_json
from memhub.records import Record

if TYPE_CHECKING:
    from memhub.events import Event
    from memhub.records import Json

__all__ = ["JsonLines", "event_to_json"]


_FLAGS: Final = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK
"""Not blocking, since a pipe that nobody reads would hold up whoever opens the stores."""


def event_to_json(event: Event) -> dict[str, Json]:
    """The event's name as `event`, then its fields; `records`, `query` and `block` where it has them."""
    found: dict[str, Json] = {"event": type(event).__name__}
    for field in fields(event):
        value = getattr(event, field.name)
        if value is not None:
            found[field.name] = _plain(value)
    return found


class JsonLines:
    """An observer that appends each event to a file, which only its owner may read.

    The file is opened for each event, so it may be moved or removed meanwhile. A line is written at
    once: lines of several processes do not mix. OSError when the file cannot be written.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)

    def __call__(self, event: Event) -> None:
        self._append((json.dumps(event_to_json(event), ensure_ascii=False) + "\n").encode())

    def open(self) -> None:
        """Make the file, and its folder, where they are not there yet."""
        self._append(b"")

    def _append(self, line: bytes) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        number = os.open(self.path, _FLAGS, 0o600)
        with open(number, "ab", buffering=0) as file:  # noqa: PTH123 - by number
            file.write(line)


def _plain(value: object) -> Json:
    if isinstance(value, datetime):
        return time_to_json(value)
    if isinstance(value, Record):
        return record_to_json(value)
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, str | int | float):
        return value
    return str(value)
