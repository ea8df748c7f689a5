"""The folder on disk: which scopes it holds, which files they hold, what each looks like.

Paths go to the operating system as UTF-8 bytes, so that the process's locale has no say in them.
Links are not followed, and whatever begins with a dot is not looked at.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from memhub.scope import Scope
from memhub_adapters.markdown.names import CONTINUED, SUFFIX, folder_of, scope_of
from memhub_adapters.markdown.reach import EVERYTHING, Reach

__all__ = ["OWN", "Files", "Place", "Stamp", "Tree", "decoded"]

OWN: Final = ".memhub"
"""The folder in the root that holds what is ours alone: index, journal, lock, spent keys."""

_DOT: Final = ord(".")
_SIGNED: Final = 2**63 - 1
"""SQLite's integers are signed; some disks' inodes are not."""


class Stamp(NamedTuple):
    """What tells a changed file: its time in nanoseconds, its size, its inode."""

    mtime: int
    size: int
    inode: int


Files = dict[bytes, tuple[int, int, int]]
"""The files of a scope: their names in UTF-8, and what a Stamp holds, as plain as it is compared."""


class Place(NamedTuple):
    """A file of a scope: `name` is its path within the scope's folder, with `/` between folders."""

    scope: Scope
    name: str

    def __str__(self) -> str:
        """The path within the root."""
        return "/".join((*folder_of(self.scope), self.name))


class Tree:
    """Everything below one root: in each scope's folder, the files whose names end with `suffix`."""

    def __init__(self, root: Path, *, suffix: str = SUFFIX) -> None:
        self.root = root.absolute()
        self._root = os.fsencode(self.root)
        self._suffix = suffix.encode()

    def path(self, name: str) -> bytes:
        """What the operating system calls a path within the root."""
        return self._root + b"/" + name.encode()

    def scopes(self, reach: Reach = EVERYTHING) -> Iterator[Scope]:
        """The scopes of a reach that have a folder; those it names, whether they have one or not."""
        if reach.scopes is not None and not reach.listed:
            yield from reach.scopes
            return
        for _, scope in self._folders((), self._root):
            if scope is not None and reach.covers(scope):
                yield scope

    def strangers(self) -> Iterator[str]:
        """Folders that are no scope's, memories outside of any scope's folder, names that are not UTF-8."""
        for folders, scope in self._folders((), self._root):
            if scope is None:
                yield "/".join(folders) + "/"
        for entry, file in _named(self._root):
            if entry.name.lower().endswith(self._suffix) and entry.is_file(follow_symlinks=False):
                yield file
        for path, inner, files in os.walk(self._root):
            for name in (*inner, *files):
                if decoded(name) is None:
                    yield (path + b"/" + name)[len(self._root) + 1 :].decode(errors="replace")

    def files(self, scope: Scope) -> Files:
        """The scope's files, each name in UTF-8 with what its Stamp holds: one look at each file."""
        found: Files = {}
        if not self.is_outside("/".join(folder_of(scope))):
            self._walk(b"", self.path("/".join(folder_of(scope))), found)
        return found

    def is_outside(self, folder: str) -> bool:
        """Whether a folder within the root is reached by a link, which may lead anywhere."""
        parts = folder.split("/")
        return any(os.path.islink(self.path("/".join(parts[:n]))) for n in range(1, len(parts) + 1))  # noqa: PTH114

    def stamp(self, name: str) -> Stamp | None:
        """The stamp of one file, None where there is none."""
        try:
            found = os.lstat(self.path(name))
        except (FileNotFoundError, NotADirectoryError):
            return None
        return _stamp(found) if stat.S_ISREG(found.st_mode) else None

    def read(self, name: str, most: int) -> tuple[bytes, Stamp]:
        """At most `most` bytes of a file, and its stamp before it was read."""
        handle = os.open(self.path(name), os.O_RDONLY | getattr(os, "O_BINARY", 0))
        try:
            found = os.fstat(handle)
            data = os.read(handle, min(most, found.st_size + 1))
            while len(data) < most and (more := os.read(handle, most - len(data))):
                data += more
        finally:
            os.close(handle)
        return data, _stamp(found)

    def exists(self, name: str) -> bool:
        """Whether anything has this path."""
        return os.path.lexists(self.path(name))

    def _folders(self, above: tuple[str, ...], path: bytes) -> Iterator[tuple[tuple[str, ...], Scope | None]]:
        """Every folder that may be a scope's, with its scope."""
        for entry, name in _named(path):
            if not entry.is_dir(follow_symlinks=False):
                continue
            folders = (*above, name)
            if name.endswith(CONTINUED):
                yield from self._folders(folders, entry.path)
            else:
                yield folders, scope_of(folders) or self._folded(folders, entry)

    def _folded(self, folders: tuple[str, ...], entry: os.DirEntry[bytes]) -> Scope | None:
        """The scope of a folder whose letters' case a disk has changed that ignores it."""
        small = tuple(folder.casefold() for folder in folders)
        scope = scope_of(small)
        if scope is None:
            return None
        try:
            same = os.path.samestat(entry.stat(follow_symlinks=False), os.lstat(self.path("/".join(small))))
        except OSError:
            return None
        return scope if same else None

    def _walk(self, above: bytes, path: bytes, into: Files) -> None:
        # Once for each file in every read: calls are spelled out here.
        suffix = self._suffix
        for entry in _entries(path):
            name = entry.name
            if (name.endswith(suffix) or name.lower().endswith(suffix)) and entry.is_file(
                follow_symlinks=False
            ):
                try:
                    found = entry.stat(follow_symlinks=False)
                except FileNotFoundError:
                    continue
                into[above + name] = found.st_mtime_ns, found.st_size, found.st_ino & _SIGNED
            elif entry.is_dir(follow_symlinks=False):
                self._walk(above + name + b"/", entry.path, into)


def _named(path: bytes) -> Iterator[tuple[os.DirEntry[bytes], str]]:
    """What a folder holds, with its name; names that are not UTF-8 left out."""
    for entry in _entries(path):
        name = decoded(entry.name)
        if name is not None:
            yield entry, name


def _entries(path: bytes) -> list[os.DirEntry[bytes]]:
    """What a folder holds, hidden things left out."""
    try:
        with os.scandir(path) as entries:
            return [entry for entry in entries if entry.name[0] != _DOT]
    except (FileNotFoundError, NotADirectoryError):
        return []


def decoded(name: bytes) -> str | None:
    """A name as text, None where it is not UTF-8."""
    try:
        return name.decode()
    except UnicodeDecodeError:
        return None


def _stamp(found: os.stat_result) -> Stamp:
    return Stamp(found.st_mtime_ns, found.st_size, found.st_ino & _SIGNED)
