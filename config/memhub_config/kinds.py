"""What a kind of embedder gives the composition root: its YAML model, and what opens one."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any

from memhub.embedding import Embedder
from memhub_config.models import Section
from memhub_config.provider import Parts

__all__ = ["EmbedderKind"]


@dataclass(frozen=True, slots=True)
class EmbedderKind:
    """One kind of embedder. `open` may raise ModuleNotFoundError; `extra` is what then is missing."""

    name: str
    settings: type[Section]
    open: Callable[[Any, Parts], AbstractAsyncContextManager[Embedder]]
    extra: str | None = None
