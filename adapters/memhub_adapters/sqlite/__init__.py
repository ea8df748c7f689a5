"""Memories in one SQLite file: the embedded default."""

from __future__ import annotations

from memhub_adapters.sqlite.adapter import CAPABILITIES, SqliteAdapter

__all__ = ["CAPABILITIES", "SqliteAdapter"]
