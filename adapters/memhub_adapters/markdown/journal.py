"""Several files change together: all of them or none, whenever the process or the power fails.

New texts are written beside the tree and synced; a list of what is to happen is put in its place;
then the files move. A list that is found was agreed upon, so whoever takes the lock next finishes
it; texts without a list were not, and go.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from memhub.errors import Unavailable
from memhub_adapters.markdown.errors import Stale
from memhub_adapters.markdown.reach import EVERYTHING
from memhub_adapters.markdown.tree import OWN, Stamp, Tree

__all__ = ["Batch", "Journal", "Put"]

FOLDER: Final = f"{OWN}/journal"
LIST: Final = f"{FOLDER}/list.json"


@dataclass(frozen=True, slots=True)
class Put:
    """A file's new text. `expected` is what it must look like until then, None where it is new."""

    data: bytes
    expected: Stamp | None


@dataclass(slots=True)
class Batch:
    """What happens to files, by their path within the root."""

    puts: dict[str, Put] = field(default_factory=dict)
    removes: dict[str, Stamp | None] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.puts or self.removes)

    def __contains__(self, path: object) -> bool:
        return path in self.puts or path in self.removes

    def put(self, path: str, data: bytes, expected: Stamp | None) -> None:
        """Give a file a new text."""
        before = self.puts.get(path)
        self.puts[path] = Put(data, before.expected if before else self.removes.pop(path, expected))

    def remove(self, path: str, expected: Stamp | None) -> None:
        """Remove a file."""
        before = self.puts.pop(path, None)
        if before is None or before.expected is not None:
            self.removes[path] = before.expected if before else expected

    def merge(self, later: Batch) -> None:
        """Go on with what a later write did."""
        for path, stamp in later.removes.items():
            self.remove(path, stamp)
        for path, put in later.puts.items():
            self.put(path, put.data, put.expected)


class Journal:
    """Changes files. Whoever calls holds the tree's lock."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree

    def pending(self) -> bool:
        """Whether a change was agreed upon and not finished."""
        return self._tree.exists(LIST)

    def recover(self) -> None:
        """Finish what was agreed upon, undo what was not. Raises Unavailable for a journal behind a link."""
        self._check_inside(FOLDER)
        if self.pending():
            data = self._read()
            self._apply(data["puts"], data["removes"])
        with suppress(FileNotFoundError):
            for name in os.listdir(self._tree.path(FOLDER)):  # noqa: PTH208 - paths are bytes here
                os.unlink(self._tree.path(FOLDER) + b"/" + name)  # noqa: PTH108

    def publish(self, batch: Batch) -> dict[str, Stamp]:
        """Do it all, or nothing. Returns the stamps of the files that are new.

        Raises Stale where a file is not as the batch expects it; nothing has been changed then.
        """
        folders = {path.rpartition("/")[0] for path in batch.puts}
        try:
            for folder in folders:
                self._make(folder)
            stamps = self._write({self._text(n): put.data for n, put in enumerate(batch.puts.values())})
            self._expect(batch)
            for folder in {path.rpartition("/")[0] for path in batch.removes} - folders:
                self._check_writable(folder)
            moves = list(zip(stamps, batch.puts, strict=True))
            if len(moves) + len(batch.removes) > 1:
                self._agree(moves, list(batch.removes))
        except BaseException:
            if not self.pending():
                self._forget(folders)
            raise
        self._finish(moves, list(batch.removes))
        return {path: stamps[text] for text, path in moves}

    def _expect(self, batch: Batch) -> None:
        expected = {path: put.expected for path, put in batch.puts.items()} | batch.removes
        if any(self._tree.stamp(path) != stamp for path, stamp in expected.items()):
            raise Stale(EVERYTHING)

    def _make(self, folder: str) -> None:
        """A folder, with those above it, on the same disk as the journal, that may be written to."""
        path = self._tree.path(folder)
        self._check_inside(folder)
        if not os.path.isdir(path):  # noqa: PTH112 - paths are bytes here
            above = folder.rpartition("/")[0]
            if above:
                self._make(above)
            os.mkdir(path)  # noqa: PTH102
            _sync(self._tree.path(above) if above else os.fsencode(self._tree.root))
        if os.stat(path).st_dev != os.stat(self._tree.path(OWN)).st_dev:  # noqa: PTH116
            raise Unavailable(f"{os.fsdecode(path)}: is on another disk than its root; keep them together")
        self._check_writable(folder)

    def _check_inside(self, folder: str) -> None:
        if self._tree.is_outside(folder):
            named = os.fsdecode(self._tree.path(folder))
            raise Unavailable(f"{named}: is, or lies behind, a link; put a folder in its place")

    def _check_writable(self, folder: str) -> None:
        path = self._tree.path(folder)
        if not os.access(path, os.W_OK | os.X_OK):
            raise Unavailable(f"{os.fsdecode(path)}: is not writable by this user; make it so")

    def _text(self, number: int) -> str:
        return f"{FOLDER}/{number}.new"

    def _write(self, texts: Mapping[str, bytes]) -> dict[str, Stamp]:
        """Write the files, then sync them: in this order a disk needs fewer rounds."""
        os.makedirs(self._tree.path(FOLDER), exist_ok=True)  # noqa: PTH103
        for name, data in texts.items():
            handle = os.open(self._tree.path(name), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
            with os.fdopen(handle, "wb") as file:
                file.write(data)
        for name in texts:
            _sync(self._tree.path(name))
        return {name: stamp for name in texts if (stamp := self._tree.stamp(name))}

    def _agree(self, moves: Sequence[tuple[str, str]], removes: Sequence[str]) -> None:
        """The moment from which it will happen."""
        data = json.dumps({"puts": moves, "removes": removes}, ensure_ascii=False).encode()
        draft = f"{LIST}.draft"
        self._write({draft: data})
        os.replace(self._tree.path(draft), self._tree.path(LIST))  # noqa: PTH105
        _sync(self._tree.path(FOLDER))

    def _finish(self, moves: Sequence[tuple[str, str]], removes: Sequence[str]) -> None:
        try:
            self._apply(moves, removes)
        except OSError as error:
            if not self.pending():
                raise
            named = os.fsdecode(error.filename or self._tree.path(FOLDER))
            found = Unavailable(
                f"{named}: {error.strerror}; once that is mended, the next call finishes this one"
            )
            found.__cause__ = error
            raise found from None

    def _apply(self, moves: Iterable[Sequence[str]], removes: Iterable[str]) -> None:
        """Move and remove; what has been done already stays done."""
        folders: set[str] = set()
        for text, path in moves:
            folder = path.rpartition("/")[0]
            if folder not in folders:
                self._make(folder)
                folders.add(folder)
            with suppress(FileNotFoundError):
                os.replace(self._tree.path(text), self._tree.path(path))  # noqa: PTH105
        for path in removes:
            folder = path.rpartition("/")[0]
            self._check_inside(folder)
            with suppress(FileNotFoundError):
                os.unlink(self._tree.path(path))  # noqa: PTH108
            folders.add(folder)
        for folder in folders:
            self._settle(folder)
        with suppress(FileNotFoundError):
            os.unlink(self._tree.path(LIST))  # noqa: PTH108
            _sync(self._tree.path(FOLDER))

    def _settle(self, folder: str) -> None:
        """Sync a folder, or remove it and those above it as far as they are empty."""
        try:
            while folder and folder != OWN:
                os.rmdir(self._tree.path(folder))  # noqa: PTH106
                folder = folder.rpartition("/")[0]
        except FileNotFoundError:
            folder = ""
        except OSError:
            # It holds something.
            pass
        _sync(self._tree.path(folder) if folder else os.fsencode(self._tree.root))

    def _forget(self, folders: Iterable[str]) -> None:
        self.recover()
        for folder in folders:
            self._settle(folder)

    def _read(self) -> dict[str, list[Any]]:
        path = self._tree.path(LIST)
        try:
            with open(path, "rb") as file:  # noqa: PTH123 - paths are bytes here
                return _listed(json.load(file))
        except (ValueError, TypeError, KeyError, AttributeError):
            raise Unavailable(
                f"{os.fsdecode(path)} is damaged, so a write that was interrupted cannot be finished; "
                "restore the folder from a backup, or move this file away to give up that write"
            ) from None


def _listed(data: Any) -> dict[str, list[Any]]:  # noqa: ANN401 - any JSON value
    """What a list holds. Raises ValueError for one that leads out of the root: a folder may come from anywhere."""
    puts, removes = data["puts"], data["removes"]
    named = [path for text, target in puts for path in (text, target)]
    for path in (*named, *removes):
        if {"", ".", ".."} & set(path.split("/")):
            raise ValueError(path)
    return {"puts": puts, "removes": removes}


def _sync(path: bytes) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
