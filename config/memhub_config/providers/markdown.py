"""`markdown`: a folder of files that people read and edit, shared by any number of this machine's processes."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from memhub import Adapter
from memhub_config.models import Duration, Section
from memhub_config.provider import Parts, Provider, once_open

__all__ = ["PROVIDER", "MarkdownSettings"]


class MarkdownSettings(Section):
    """Where the folder is, and whether what it holds may be changed."""

    root: Path = Field(
        description="The folder; made when it is not there. Each scope has a folder of its own in it."
    )
    append_only: bool = Field(
        default=False,
        description="Only add: update, invalidate, delete, purge and supersedes are then unsupported.",
    )
    lock_timeout: Duration = Field(
        default=10.0, description="How long a write waits for the writer of another process."
    )


async def build(settings: MarkdownSettings, parts: Parts) -> Adapter:
    """An adapter with its folder open, and finished with whatever had been interrupted."""
    from memhub_adapters.markdown import MarkdownAdapter

    adapter = MarkdownAdapter(
        parts.path(settings.root), append_only=settings.append_only, lock_timeout=settings.lock_timeout
    )
    return await once_open(adapter, adapter.open())


PROVIDER = Provider("markdown", MarkdownSettings, build)
