"""`none`: no persistent memory, on purpose; never chosen in place of a store that fails."""

from __future__ import annotations

from memhub import Adapter
from memhub_config.models import Section
from memhub_config.provider import Parts, Provider

__all__ = ["PROVIDER", "NoneSettings"]


class NoneSettings(Section):
    """Nothing is kept: `none: {}`."""


async def build(_settings: NoneSettings, _parts: Parts) -> Adapter:
    """An adapter that keeps nothing."""
    from memhub_adapters.none import NoneAdapter

    return NoneAdapter()


PROVIDER = Provider("none", NoneSettings, build)
