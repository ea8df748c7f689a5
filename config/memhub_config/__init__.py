"""The composition root: YAML to models, builds, owns and closes; and the command."""

from __future__ import annotations

from memhub_config.compose import open_blocking_hub, open_hub
from memhub_config.models import Duration, Section
from memhub_config.provider import Parts, Provider
from memhub_config.reading import Config, load_config

__all__ = [
    "Config",
    "Duration",
    "Parts",
    "Provider",
    "Section",
    "load_config",
    "open_blocking_hub",
    "open_hub",
]
