"""Records as JSON Lines, the form in which a store leaves and enters: see docs/export-format.md.

The first line is `{"memhub_export": 1}`; each line after it is one record. Both directions stream:
neither holds more than a page of records, and an index of those that supersede each other.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import BinaryIO, Final

from memhub.errors import InvalidInput
from memhub.interchange import record_from_json, record_to_json
from memhub.migration.chains import links
from memhub.migration.digests import digest
from memhub.migration.sources import PAGE, checked_scopes, pages
from memhub.records import Page, Record
from memhub.scope import Scope
from memhub.store import MemoryStore

__all__ = ["VERSION", "ExportFile", "export_lines", "is_export"]

VERSION: Final = 1
"""The version of the format that this release writes, and the newest that it reads."""

LINE_BYTES: Final = 16 * 1024 * 1024
"""Longest line that is read, in bytes: more than the longest record takes."""

_KEY: Final = "memhub_export"
_BREAKS: Final = {ord(mark): f"\\u{ord(mark):04x}" for mark in "\x85\u2028\u2029"}


async def export_lines(
    store: MemoryStore, *, scope: Scope | Iterable[Scope] | None = None
) -> AsyncIterator[str]:
    """The lines of an export of what `scope` covers (one, several, or everything), each with its newline.

    Every record is there, invalidated and expired ones too. Raises Unsupported where the store
    cannot be read through (`scan`).
    """
    scopes = checked_scopes(scope)
    store.capabilities.require("scan", operation="export")
    yield json.dumps({_KEY: VERSION}) + "\n"
    async for page in pages(store, scopes):
        for record in page.records:
            yield _line(record)


def is_export(first: bytes) -> bool:
    """Whether a file whose first line this is holds records, rather than a conversation."""
    try:
        header: object = json.loads(first.removeprefix(b"\xef\xbb\xbf"))
    except (ValueError, RecursionError):
        return False
    return isinstance(header, dict) and _KEY in header


class ExportFile:
    """The records of an export, read from a seekable binary file, as a source of `memhub.migration.move`.

    Raises InvalidInput that names file, line and field for whatever is wrong.
    """

    steady = True

    def __init__(self, file: BinaryIO, name: str) -> None:
        self.name = name
        self._file = file
        self._linked: dict[str, tuple[int, int]] = {}

    async def pages(self, cursor: str | None = None) -> AsyncIterator[Page]:
        """The records in the order of the file. Reading it through once also finds its chains."""
        place = _place(cursor)
        while place is not None:
            records, place = await asyncio.to_thread(self._page, *place)
            yield Page(tuple(records), None if place is None else f"{place[0]}:{place[1]}")

    async def fetch(self, ids: Sequence[str]) -> list[Record]:
        """Those records of the file that supersede another, or are superseded, with these ids."""
        return await asyncio.to_thread(self._fetch, ids)

    def version(self, record: Record) -> str:
        """All that the record says: a file that was put together by hand may hold an id twice."""
        return digest(record, ignoring=()).hex()

    def _page(self, offset: int, number: int) -> tuple[list[Record], tuple[int, int] | None]:
        """A page of records from this byte and line on, and where the next one begins."""
        self._file.seek(offset)
        records: list[Record] = []
        while len(records) < PAGE:
            start = self._file.tell()
            number += 1
            raw = self._file.readline(LINE_BYTES)
            if number == 1:
                self._check_header(raw)
            elif not raw:
                return records, None
            elif raw.strip():
                record = self._record(raw, number)
                records.append(record)
                if links(record):
                    self._linked[record.id] = (start, number)
        return records, (self._file.tell(), number)

    def _fetch(self, ids: Sequence[str]) -> list[Record]:
        found = []
        for start, number in (self._linked[id] for id in ids if id in self._linked):
            self._file.seek(start)
            found.append(self._record(self._file.readline(LINE_BYTES), number))
        return found

    def _check_header(self, raw: bytes) -> None:
        version = _version(raw)
        if version is None:
            raise self._wrong(1, f'is no header of an export; it must be {{"{_KEY}": {VERSION}}}')
        if version > VERSION:
            raise self._wrong(
                1, f"{_KEY}: is version {version}, and this release reads up to {VERSION}; upgrade Memhub"
            )

    def _record(self, raw: bytes, number: int) -> Record:
        try:
            return record_from_json(_parsed(raw))
        except InvalidInput as found:
            problem = found.message.removeprefix("record.").removeprefix("record: ")
        raise self._wrong(number, problem)

    def _wrong(self, number: int, problem: str) -> InvalidInput:
        return InvalidInput(f"{self.name}, line {number}: {problem}")


def _version(raw: bytes) -> int | None:
    """The version that a first line names."""
    try:
        header = _parsed(raw.removeprefix(b"\xef\xbb\xbf"))
    except InvalidInput:
        return None
    version = header.get(_KEY) if isinstance(header, dict) else None
    return version if type(version) is int and version > 0 else None


def _parsed(raw: bytes) -> object:
    if len(raw) >= LINE_BYTES:
        raise InvalidInput(f"is longer than {LINE_BYTES:,} bytes")
    try:
        return json.loads(raw.decode(), object_pairs_hook=_once)
    except UnicodeDecodeError as found:
        problem = f"is not UTF-8 (byte {found.start + 1})"
    except json.JSONDecodeError as found:
        problem = f"is not JSON: {found.msg}, column {found.colno}"
    except ValueError:
        problem = "holds a number of too many digits"
    except RecursionError:
        problem = "is nested too deeply"
    raise InvalidInput(problem)


def _line(record: Record) -> str:
    # Some readers take these for the end of a line; JSON lets them be escaped.
    return json.dumps(record_to_json(record), ensure_ascii=False).translate(_BREAKS) + "\n"


def _place(cursor: str | None) -> tuple[int, int] | None:
    offset, _, number = (cursor or "0:0").partition(":")
    return int(offset), int(number)


def _once(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise InvalidInput(f"record.{next(name for name in names if names.count(name) > 1)}: is given twice")
    return found
