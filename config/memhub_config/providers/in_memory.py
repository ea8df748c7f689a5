"""`in_memory`: records in this process, gone when it ends."""

from __future__ import annotations

from memhub import Adapter
from memhub_config.models import Section
from memhub_config.provider import Parts, Provider

__all__ = ["PROVIDER", "InMemorySettings"]


class InMemorySettings(Section):
    """Nothing to say: `in_memory: {}`."""


async def build(_settings: InMemorySettings, _parts: Parts) -> Adapter:
    """A new, empty adapter."""
    from memhub_adapters.in_memory import InMemoryAdapter

    return InMemoryAdapter()


PROVIDER = Provider("in_memory", InMemorySettings, build)
