"""Memory on a PostgreSQL server, for many processes on many machines. Needs the extra `postgres`."""

from __future__ import annotations

from memhub_adapters.postgres.adapter import PostgresAdapter

__all__ = ["PostgresAdapter"]
