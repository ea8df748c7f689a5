"""An adapter as another package would write it: facts in one JSON file, by public names only.

The hub has validated and completed every request and refused what `capabilities` does not declare,
so nothing here checks, retries or wraps. The tests hold it to the whole conformance kit.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from threading import Lock
from typing import Any

import memhub
from memhub import Record
from memhub.capabilities import FACT_FIELDS, PATCH_FIELDS
from memhub.changes import check_revision, expired, new_records, patched
from memhub.filters import in_scope
from memhub.interchange import record_from_json, record_to_json
from memhub.threads import threaded
from memhub.unindexed import listed, searched


class JsonFileAdapter(memhub.Adapter):
    """Reads the file for every call and replaces it for every write. For one process at a time."""

    capabilities = memhub.Capabilities(
        provider="json_file", modes=("keyword",), default_mode="keyword", scopes="subset", union=True,
        fact_fields=FACT_FIELDS, atomic_facts=1_000, filters=memhub.FILTERS_ALL, patch=PATCH_FIELDS,
        delete=True, revisions=True, expiry=True, listing=1_000, scan=True, purge=True, erasure="complete",
        reasons={"turns": "it keeps facts only", "supersede": "it keeps no history"},
    )  # fmt: skip

    def __init__(self, path: Path) -> None:
        self._path, self._lock, self._written = path, Lock(), 0

    @contextmanager
    def _rows(self, *, save: bool = False) -> Iterator[dict[str, tuple[int, Record]]]:
        """Records by id, each with its number in the order written; no number is used twice."""
        with self._lock:
            held: Any = json.loads(self._path.read_text("utf-8")) if self._path.exists() else [0, []]
            self._written = held[0]
            rows = {row["id"]: (number, record_from_json(row)) for number, row in held[1]}
            yield rows
            if save:
                table = [(number, record_to_json(record)) for number, record in rows.values()]
                fresh = self._path.with_suffix(".new")
                fresh.write_text(json.dumps([self._written, table]), "utf-8")
                fresh.replace(self._path)

    @threaded
    def observe(self, write: memhub.Write) -> memhub.Observed:
        records = new_records(write)
        with self._rows(save=True) as rows:
            rows |= {record.id: (n, record) for n, record in enumerate(records, self._written + 1)}
            self._written += len(records)
        return memhub.Observed(records=tuple(records))

    @threaded
    def recall(self, read: memhub.Read) -> memhub.Recalled:
        with self._rows() as rows:
            reached = [row for row in rows.values() if in_scope(row[1], read)]
            if read.text is None:
                return listed(reached, read, newest=self._written)
            return searched([record for _, record in reached], read)

    @threaded
    def get(self, ids: Sequence[str], *, now: datetime) -> list[Record]:
        with self._rows() as rows:
            return [rows[id][1] for id in ids if id in rows and not expired(rows[id][1], now)]

    @threaded
    def update(self, id: str, patch: memhub.Patch, *, revision: str | None, now: datetime) -> Record:
        with self._rows(save=True) as rows:
            if id not in rows or expired(rows[id][1], now):
                raise memhub.NotFound(f"no record {id!r}")
            number, record = rows[id]
            check_revision(record, revision)
            rows[id] = (number, patched(record, patch, now=now))
            return rows[id][1]

    @threaded
    def delete(self, id: str, *, revision: str | None, now: datetime) -> None:
        with self._rows(save=True) as rows:
            if id not in rows:
                raise memhub.NotFound(f"no record {id!r}")
            check_revision(rows.pop(id)[1], revision)

    @threaded
    def scan(self, cursor: str | None, limit: int, *, now: datetime) -> memhub.Page:
        if cursor is not None and not cursor.isdecimal():
            raise memhub.InvalidInput("cursor: is not one that scan gave; pass it back unchanged")
        with self._rows() as rows:
            left = [row for row in rows.values() if row[0] > int(cursor or 0)]
        more = str(left[limit - 1][0]) if len(left) > limit else None
        return memhub.Page(tuple(record for _, record in left[:limit]), more)

    @threaded
    def purge(self, scope: memhub.Scope, *, exact: bool, now: datetime) -> int:
        with self._rows(save=True) as rows:
            covered = [r for _, r in rows.values() if (scope == r.scope if exact else scope.covers(r.scope))]
            for record in covered:
                del rows[record.id]
        return len(covered)

    @threaded
    def ping(self) -> None:
        with self._rows():
            return

    async def aclose(self) -> None:
        """Nothing stays open between calls."""

    def translate(self, error: Exception) -> memhub.HubError | None:
        known = isinstance(error, OSError | ValueError)
        return memhub.Unavailable("the file cannot be used") if known else None
