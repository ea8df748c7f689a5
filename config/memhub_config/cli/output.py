"""What the command prints: data on stdout, everything else on stderr, and nothing that can fail halfway."""

from __future__ import annotations

import io
import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO

from memhub import InvalidInput
from memhub.records import Json

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

__all__ = [
    "GonePipe",
    "console",
    "fancy",
    "note",
    "note_json",
    "on_terminal",
    "open_streams",
    "print_json",
    "progress",
    "show",
    "show_line",
    "stdout_bytes",
    "visible",
]

WIDEST: Final = 100
"""Lines longer than this many columns are hard to read, however wide the terminal is."""

_UNSAFE: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


class GonePipe(Exception):
    """Whoever read stdout or stderr has gone: there is nobody left to tell."""


def print_json(value: Json) -> None:
    """Data for machines, on stdout."""
    plain = not _unicode(sys.stdout)
    _write(sys.stdout, json.dumps(value, ensure_ascii=plain, indent=2, allow_nan=False) + "\n")


def show(*parts: RenderableType) -> None:
    """Data for people, on stdout."""
    screen = console(sys.stdout)
    # At its end a capture writes as well, though nothing.
    with _writing(sys.stdout), screen.capture() as captured:
        for part in parts:
            screen.print(part)
    _write(sys.stdout, "\n".join(line.rstrip() for line in captured.get().split("\n")))


def show_line(text: str, *, spelled: bool = True) -> None:
    """Data on stdout, its lines left whole; `spelled` keeps it from steering a terminal."""
    _write(sys.stdout, f"{visible(text) if spelled else text}\n")


def note(text: str) -> None:
    """A message beside the data, on stderr. Its lines stay whole, so that a token can be copied."""
    _write(sys.stderr, f"{visible(text)}\n")


def note_json(value: Json) -> None:
    """A message for machines, on stderr, in one line."""
    _write(sys.stderr, json.dumps(value) + "\n")


def open_streams() -> None:
    """Stand-ins for the standard streams that the caller has closed: nothing to read, nobody who reads."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115 - stays open


@contextmanager
def stdout_bytes() -> Iterator[Callable[[bytes], object]]:
    """Writes bytes to stdout as they are, whatever its encoding; for data of its own form."""
    stream = sys.stdout
    with _writing(stream):
        yield stream.buffer.write
        stream.flush()


@contextmanager
def progress(what: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """A bar on stderr, for a person who waits; nothing elsewhere. Yields what advances it."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console(sys.stderr), transient=True) as bar:
        task = bar.add_task("", total=total)
        yield lambda count: bar.advance(task, count)


def visible(text: str) -> str:
    """Text that cannot steer a terminal: control and direction characters are spelled out."""
    return _UNSAFE.sub(lambda found: found[0].encode("unicode_escape", "surrogatepass").decode(), text)


def on_terminal() -> bool:
    """Whether a person types what stdin gives."""
    return sys.stdin.isatty()


def fancy() -> bool:
    """Whether stdout takes more than ASCII."""
    return _unicode(sys.stdout)


def console(stream: TextIO) -> Console:
    """A console that adds nothing to the texts it is given, for this stream's width and colours."""
    from rich.console import Console

    found = Console(file=stream, markup=False, emoji=False, highlight=False)
    found.width = min(found.width, WIDEST)
    return found


def _write(stream: TextIO, text: str) -> None:
    encoding = stream.encoding or "utf-8"
    with _writing(stream):
        stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
        stream.flush()


@contextmanager
def _writing(stream: TextIO) -> Iterator[None]:
    """Tells of a stream that takes no more; where that is stderr, there is no way left to tell it."""
    try:
        yield
    except OSError as found:
        _silence(stream)
        told = isinstance(found, BrokenPipeError) or stream is sys.stderr
        error = GonePipe() if told else InvalidInput(f"stdout: cannot be written: {found.strerror}")
    else:
        return
    raise error


def _silence(stream: TextIO) -> None:
    """Keep the interpreter from trying again, and complaining, when it exits."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    except (OSError, io.UnsupportedOperation):
        return


def _unicode(stream: TextIO) -> bool:
    return (stream.encoding or "utf-8").lower().replace("-", "") == "utf8"
