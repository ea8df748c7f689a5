"""The baseline: what one would write by hand with sqlite3 and FTS5, doing the same work.

The same durability (WAL, synchronous=FULL, secure_delete), the same fields a record, one table and
one FTS5 table with the scope as a column, porter stemming, questions as OR of their words without
stop words, bm25 over the text column. Synchronous, in the caller's thread.
"""

from __future__ import annotations

import json
import re
import secrets
import sqlite3
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from memhub.search.analyzer import STOP_WORDS

FIELDS = (
    "id, scope, kind, content, tags, attributes, created_at, updated_at, observed_at, invalid_at, "
    "expires_at, revision"
)


class Raw:
    def __init__(self, path: Path, *, synchronous: str = "FULL") -> None:
        self.db = sqlite3.connect(path, isolation_level=None)
        self.db.executescript(
            f"PRAGMA journal_mode=WAL; PRAGMA synchronous={synchronous}; PRAGMA secure_delete=ON; "
            "PRAGMA cache_size=-16384; PRAGMA temp_store=MEMORY;"
            f"CREATE TABLE m(key INTEGER PRIMARY KEY, {FIELDS});"
            "CREATE UNIQUE INDEX m_id ON m(id); CREATE INDEX m_listing ON m(scope, observed_at);"
            "CREATE VIRTUAL TABLE f USING fts5(scope, content, tokenize='porter unicode61', content='');"
        )

    def write(self, scope: str, texts: Sequence[str]) -> list[str]:
        self.db.execute("BEGIN IMMEDIATE")
        ids = []
        for text in texts:
            now = datetime.now(UTC).isoformat()
            ids.append(str(uuid.uuid4()))
            row = (ids[-1], scope, "fact", text, "[]", "{}", now, now, now, None, None, secrets.token_hex(8))
            key = self.db.execute(f"INSERT INTO m({FIELDS}) VALUES(?,?,?,?,?,?,?,?,?,?,?,?)", row).lastrowid
            self.db.execute("INSERT INTO f(rowid, scope, content) VALUES(?,?,?)", (key, f"s{scope}", text))
        self.db.execute("COMMIT")
        return ids

    def recall(self, scope: str, question: str, limit: int = 10) -> list[dict]:
        words = [word for word in re.findall(r"\w+", question.lower()) if word not in STOP_WORDS]
        match = f"scope:s{scope} AND content:({' OR '.join(words)})"
        rows = self.db.execute(
            f"SELECT {FIELDS}, bm25(f, 0, 1) AS score FROM f JOIN m ON m.key = f.rowid "
            "WHERE f MATCH ? AND invalid_at IS NULL AND (expires_at IS NULL OR expires_at > ?) "
            "ORDER BY score LIMIT ?".replace(FIELDS, ", ".join(f"m.{name}" for name in FIELDS.split(", "))),
            (match, datetime.now(UTC).isoformat(), limit),
        )
        return [self._record(row) for row in rows]

    def list(self, scope: str, limit: int = 10) -> list[dict]:
        sql = (
            f"SELECT {FIELDS} FROM m WHERE scope = ? AND invalid_at IS NULL ORDER BY observed_at DESC LIMIT ?"
        )
        return [self._record(row) for row in self.db.execute(sql, (scope, limit))]

    def get(self, id: str) -> dict:
        return self._record(self.db.execute(f"SELECT {FIELDS} FROM m WHERE id = ?", (id,)).fetchone())

    def update(self, id: str, text: str) -> None:
        self.db.execute("BEGIN IMMEDIATE")
        key, scope, old = self.db.execute("SELECT key, scope, content FROM m WHERE id = ?", (id,)).fetchone()
        self._forget(key, scope, old)
        change = (text, datetime.now(UTC).isoformat(), secrets.token_hex(8), key)
        self.db.execute("UPDATE m SET content = ?, updated_at = ?, revision = ? WHERE key = ?", change)
        self.db.execute("INSERT INTO f(rowid, scope, content) VALUES(?,?,?)", (key, f"s{scope}", text))
        self.db.execute("COMMIT")

    def delete(self, id: str) -> None:
        self.db.execute("BEGIN IMMEDIATE")
        key, scope, old = self.db.execute("SELECT key, scope, content FROM m WHERE id = ?", (id,)).fetchone()
        self._forget(key, scope, old)
        self.db.execute("DELETE FROM m WHERE key = ?", (key,))
        self.db.execute("COMMIT")

    def close(self) -> None:
        self.db.close()

    def _forget(self, key: int, scope: str, old: str) -> None:
        row = (key, f"s{scope}", old)
        self.db.execute("INSERT INTO f(f, rowid, scope, content) VALUES('delete',?,?,?)", row)

    @staticmethod
    def _record(row: tuple) -> dict:
        found = dict(zip(FIELDS.split(", "), row, strict=False))
        for name in ("tags", "attributes"):
            found[name] = json.loads(found[name])
        for name in ("created_at", "updated_at", "observed_at"):
            found[name] = datetime.fromisoformat(found[name])
        return found
