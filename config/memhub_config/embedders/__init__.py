"""The `embedders` section: models by name, each of one kind, shared by the stores that name them."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Final

from memhub import InvalidConfig
from memhub.embedding import Embedder
from memhub_config.expand import Expanded
from memhub_config.kinds import EmbedderKind
from memhub_config.models import Section
from memhub_config.problems import Place, Problems, listed, nearest
from memhub_config.provider import Parts
from memhub_config.refusals import given_or_empty, validated

__all__ = ["KINDS", "EmbedderConfig", "load", "read_embedders"]

KINDS: Final = ("openai", "fastembed", "hash")
"""Each a module here with a `KIND`."""


@dataclass(frozen=True, slots=True)
class EmbedderConfig:
    """One embedder: its kind, and that kind's validated settings."""

    name: str
    kind: EmbedderKind
    settings: Section

    def opened(self, parts: Parts) -> AbstractAsyncContextManager[Embedder]:
        """The embedder itself. InvalidConfig where a module that it needs is not installed."""
        try:
            return self.kind.open(self.settings, parts)
        except ModuleNotFoundError as found:
            module = found.name or "a module"
        extra = self.kind.extra
        remedy = f"pip install 'memhub[{extra}]'" if extra else "install it"
        raise InvalidConfig(
            f"embedders.{self.name}: needs the module {module}, which is not installed; {remedy}"
        )


def load(name: str) -> EmbedderKind:
    """The kind of a known name."""
    kind: EmbedderKind = importlib.import_module(f"{__name__}.{name}").KIND
    return kind


def read_embedders(expanded: Expanded, problems: Problems) -> dict[str, EmbedderConfig]:
    """The embedders by name. What is wrong becomes a problem; those that are then stay out."""
    given = given_or_empty(expanded.data.get("embedders"))
    if not isinstance(given, Mapping):
        problems.add(("embedders",), "must hold embedders by name")
        return {}
    found = {name: _read(name, section, expanded, problems) for name, section in given.items()}
    return {name: one for name, one in found.items() if one is not None}


def _read(name: str, section: object, expanded: Expanded, problems: Problems) -> EmbedderConfig | None:
    place: Place = ("embedders", name)
    if not isinstance(section, Mapping) or len(section) != 1:
        problems.add(place, f"must hold one of {listed(KINDS)}")
        return None
    ((key, settings),) = section.items()
    if key not in KINDS:
        problems.add((*place, key), f"no such embedder{nearest(key, KINDS)}; there are {listed(KINDS)}")
        return None
    kind = load(key)
    checked: Any = validated(kind.settings, given_or_empty(settings), (*place, key), problems, expanded.unset)
    return None if checked is None else EmbedderConfig(name, kind, checked)
