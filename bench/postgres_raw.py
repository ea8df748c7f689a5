"""The baseline: what one would write by hand with psycopg and PostgreSQL's own text search.

One table with the same fields, a generated tsvector with its GIN index, questions as OR of their words
without stop words, ts_rank_cd. One connection, asyncio, statements prepared, the server's durability.
"""

from __future__ import annotations

import re
import secrets
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import psycopg

from memhub.search.analyzer import STOP_WORDS

FIELDS = (
    "id, scope, kind, content, tags, attributes, created_at, updated_at, observed_at, invalid_at, "
    "expires_at, revision"
)
MAKE = """
CREATE TABLE m(
    id uuid PRIMARY KEY, scope text NOT NULL, kind text NOT NULL, content text NOT NULL, tags jsonb,
    attributes jsonb, created_at timestamptz NOT NULL, updated_at timestamptz NOT NULL,
    observed_at timestamptz NOT NULL, invalid_at timestamptz, expires_at timestamptz,
    revision text NOT NULL, words tsvector GENERATED ALWAYS AS (to_tsvector('english', content)) STORED
);
CREATE INDEX m_listing ON m(scope, observed_at);
CREATE INDEX m_words ON m USING gin(words)
"""
INSERT = (
    f"INSERT INTO m({FIELDS}) SELECT * FROM unnest(%s::uuid[], %s::text[], %s::text[], %s::text[], "
    "%s::jsonb[], %s::jsonb[], %s::timestamptz[], %s::timestamptz[], %s::timestamptz[], "
    "%s::timestamptz[], %s::timestamptz[], %s::text[])"
)
SHOWN = "invalid_at IS NULL AND (expires_at IS NULL OR expires_at > %s)"


class Raw:
    def __init__(self, connection: psycopg.AsyncConnection[Any]) -> None:
        self.db = connection

    @classmethod
    async def make(cls, dsn: str, schema: str) -> Raw:
        db = await psycopg.AsyncConnection.connect(dsn, autocommit=True, options=f"-c search_path={schema}")
        await db.execute(f"CREATE SCHEMA {schema}")
        for statement in MAKE.split(";"):
            await db.execute(statement)
        return cls(db)

    async def write(self, scope: str, texts: Sequence[str]) -> list[str]:
        now, ids = datetime.now(UTC), [str(uuid.uuid4()) for _ in texts]
        rows = [
            (id, scope, "fact", text, "[]", "{}", now, now, now, None, None, secrets.token_hex(8))
            for id, text in zip(ids, texts, strict=True)
        ]
        await self.db.execute(INSERT, [list(column) for column in zip(*rows, strict=True)])
        return ids

    async def recall(self, scope: str, question: str, limit: int = 10) -> list[dict[str, Any]]:
        words = [word for word in re.findall(r"\w+", question.lower()) if word not in STOP_WORDS]
        sql = (
            f"SELECT {FIELDS}, ts_rank_cd(words, q) AS score FROM m, to_tsquery('english', %s) q "
            f"WHERE scope = %s AND words @@ q AND {SHOWN} ORDER BY score DESC LIMIT %s"
        )
        return await self._records(sql, " | ".join(words), scope, datetime.now(UTC), limit)

    async def list(self, scope: str, limit: int = 10) -> list[dict[str, Any]]:
        sql = f"SELECT {FIELDS} FROM m WHERE scope = %s AND {SHOWN} ORDER BY observed_at DESC LIMIT %s"
        return await self._records(sql, scope, datetime.now(UTC), limit)

    async def get(self, id: str) -> dict[str, Any]:
        return (await self._records(f"SELECT {FIELDS} FROM m WHERE id = %s", id))[0]

    async def update(self, id: str, text: str) -> None:
        sql = "UPDATE m SET content = %s, updated_at = %s, revision = %s WHERE id = %s"
        await self.db.execute(sql, (text, datetime.now(UTC), secrets.token_hex(8), id))

    async def delete(self, id: str) -> None:
        await self.db.execute("DELETE FROM m WHERE id = %s", (id,))

    async def close(self) -> None:
        await self.db.close()

    async def _records(self, sql: str, *values: object) -> list[dict[str, Any]]:
        answer = await self.db.execute(sql, values, binary=True)
        names = FIELDS.split(", ")
        return [dict(zip(names, row, strict=False)) for row in await answer.fetchall()]
