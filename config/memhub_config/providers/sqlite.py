"""`sqlite`: one file on this machine, shared by any number of its processes."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field

from memhub import Adapter
from memhub_config.models import Duration, Section
from memhub_config.provider import Parts, Provider, once_open

__all__ = ["PROVIDER", "SqliteSettings"]


class SqliteSettings(Section):
    """Where the file is, and what a commit waits for."""

    path: Path = Field(description="The database file; made, with its folders, when it is not there.")
    durability: Literal["full", "normal"] = Field(
        default="full",
        description="full: what a call has returned for survives a power cut. "
        "normal: it survives a crash of the process; a power cut may take the last writes.",
    )
    busy_timeout: Duration = Field(
        default=10.0, description="How long a write waits for the writer of another process."
    )


async def build(settings: SqliteSettings, parts: Parts) -> Adapter:
    """An adapter with its file open and up to date."""
    from memhub_adapters.sqlite import SqliteAdapter

    adapter = SqliteAdapter(
        parts.path(settings.path), durability=settings.durability, busy_timeout=settings.busy_timeout
    )
    return await once_open(adapter, adapter.open())


PROVIDER = Provider("sqlite", SqliteSettings, build)
