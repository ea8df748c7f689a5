"""`tail`: the events of running processes, as they happen."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Final

import typer

from memhub import InvalidConfig
from memhub_config.cli.options import AsJson, ConfigPath
from memhub_config.cli.output import note, show_line
from memhub_config.reading import Config, load_config
from memhub_config.watching import events_file

__all__ = ["add_to"]

PAUSE: Final = 0.2
"""Seconds between two looks at the file."""

BLOCK: Final = 65_536
"""Bytes that are read at once from the file's end, when looking for its last lines."""

Lines = Annotated[int, typer.Option("--lines", metavar="N", min=0, help="Begin with the last N events.")]
NoFollow = Annotated[
    bool, typer.Option("--no-follow", metavar="", help="End with what is there; else wait for more.")
]


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command(rich_help_panel="Look around")(tail)


def tail(
    *, lines: Lines = 10, no_follow: NoFollow = False, config: ConfigPath = None, as_json: AsJson = False
) -> None:
    """Print what happens in the stores, until Ctrl-C, from the events file that processes write.

    The configuration names it: `events: {file: events.jsonl}`. With --json, a JSON object a line.
    """
    path = _path(load_config(config))
    follow = not no_follow
    if follow and not path.exists():
        note(f"{path} is not there yet; waiting for it.")
    for line in _lines(path, lines, follow=follow):
        text = line.decode(errors="replace")
        show_line(text if as_json else _told(text), spelled=not as_json)


def _path(config: Config) -> Path:
    if config.events.file is None:
        raise InvalidConfig(
            f"{config.document.source}: events.file: is not set; name the file that events are written to, "
            "such as events: {file: events.jsonl}"
        )
    return events_file(config.events.file, config.document)


def _lines(path: Path, last: int, *, follow: bool) -> Iterator[bytes]:
    """The last lines of the file; then every further one, also of a file that takes its place."""
    while True:
        try:
            with path.open("rb") as file:
                _rewind(file, last)
                yield from _whole(file, path, follow=follow)
        except FileNotFoundError:
            pass
        except OSError as found:
            raise InvalidConfig(f"events.file: {path} cannot be read: {found.strerror}") from None
        if not follow:
            return
        last = -1
        time.sleep(PAUSE)


def _whole(file: BinaryIO, path: Path, *, follow: bool) -> Iterator[bytes]:
    """Lines from here on, each once it is whole, until another file stands at the path."""
    begun = b""
    while True:
        begun += file.readline()
        if begun.endswith(b"\n"):
            yield begun.rstrip(b"\n")
            begun = b""
        elif not follow or _replaced(file, path):
            return
        else:
            time.sleep(PAUSE)


def _replaced(file: BinaryIO, path: Path) -> bool:
    try:
        now = path.stat()
    except FileNotFoundError:
        return True
    return now.st_ino != os.fstat(file.fileno()).st_ino or now.st_size < file.tell()


def _rewind(file: BinaryIO, last: int) -> None:
    """Stand before the last lines; at the beginning where `last` is negative or there are fewer."""
    if last < 0:
        return
    end = start = file.seek(0, os.SEEK_END)
    tail = b""
    while start and tail.count(b"\n") <= last:
        start = max(0, start - BLOCK)
        file.seek(start)
        tail = file.read(end - start)
    kept = tail.split(b"\n")[-last - 1 :]
    file.seek(end - len(b"\n".join(kept)))


def _told(line: str) -> str:
    """An event for people: when, where, what, and how long it took; texts below, where it has them."""
    try:
        event = json.loads(line)
        rows = [_head(event), *_texts(event)]
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError):
        return line
    return "\n".join(rows)


def _head(event: Mapping[str, Any]) -> str:
    when = str(event["at"])[:19].replace("T", " ")
    took = f"  {event['seconds'] * 1000:.1f} ms" if event["seconds"] else ""
    return f"{when}  {event['store']}  {event['operation']}: {_what(event)}{took}"


def _what(event: Mapping[str, Any]) -> str:
    told = _WHAT.get(event["event"])
    return str(event["event"]) if told is None else told(event)


def _counted(event: Mapping[str, Any]) -> str:
    marks = [word for word in ("replayed", "truncated") if event.get(word)]
    return ", ".join([_records(event["count"]), f"{event['characters']:,} characters", *marks])


def _records(count: int) -> str:
    return f"{count:,} record" + ("" if count == 1 else "s")


def _texts(event: Mapping[str, Any]) -> Iterator[str]:
    if "query" in event:
        yield f"    asked: {_line(event['query'])}"
    for record in event.get("records", ()):
        yield f"    {record['kind']}: {_line(record['content'])}"


def _line(text: str) -> str:
    return " ".join(text.split())


_WHAT: Final[Mapping[str, Callable[[Mapping[str, Any]], str]]] = {
    "MemoryWritten": _counted,
    "MemorySearched": _counted,
    "MemoryRecalled": _counted,
    "MemoryInvalidated": lambda event: f"{_records(event['count'])} invalidated",
    "MemoryDeleted": lambda event: f"{_records(event['count'])} forgotten",
    "OperationPending": lambda event: f"pending as {event['operation_id']}",
    "OperationDone": lambda event: f"{event['operation_id']} is done",
    "RetryScheduled": lambda event: (
        f"attempt {event['attempt']} failed ({event['code']}), again in {event['delay']:.1f} s"
    ),
    "CallFailed": lambda event: f"failed ({event['code']})",
}
