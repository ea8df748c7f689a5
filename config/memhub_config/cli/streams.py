"""Files that commands read and write: an input that can be read twice, an output that appears whole."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, BinaryIO, cast

from memhub import InvalidInput
from memhub_config.cli.output import stdout_bytes

__all__ = ["new_file", "output", "seekable"]

Write = Callable[[str], object]


@contextmanager
def seekable(file: str) -> Iterator[BinaryIO]:
    """A file, or stdin for `-`, from its beginning. What cannot be read twice is kept on disk meanwhile."""
    with ExitStack() as stack:
        try:
            given = sys.stdin.buffer if file == "-" else stack.enter_context(Path(file).open("rb"))
            if file == "-" or not given.seekable():
                given = _copied(given, stack.enter_context(TemporaryFile()))
        except (OSError, ValueError) as found:
            why = found.strerror if isinstance(found, OSError) else "it is no file name"
        else:
            yield given
            return
    raise InvalidInput(f"{file}: cannot be read: {why}")


@contextmanager
def output(file: str | None) -> Iterator[Write]:
    """Writes text as UTF-8 to a new file, or to stdout for None and `-`."""
    if file is None or file == "-":
        with stdout_bytes() as write:
            yield lambda text: write(text.encode())
    else:
        with new_file(Path(file)) as handle:
            yield lambda text: handle.write(text.encode())


@contextmanager
def new_file(path: Path) -> Iterator[BinaryIO]:
    """A file that is there, whole and on the disk, once the block ends well; else it never was."""
    if os.path.lexists(path):
        raise InvalidInput(f"{path}: is there already; name a new file, or move it away")
    partial = path.with_name(f"{path.name}.partial")
    try:
        with partial.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except OSError as found:
        why = found.strerror
    else:
        return
    finally:
        # Where it could not be made, neither can it be removed.
        with suppress(OSError):
            partial.unlink(missing_ok=True)
    raise InvalidInput(f"{path}: cannot be written: {why}")


def _copied(given: BinaryIO, kept: IO[bytes]) -> BinaryIO:
    shutil.copyfileobj(given, kept)
    kept.seek(0)
    return cast("BinaryIO", kept)
