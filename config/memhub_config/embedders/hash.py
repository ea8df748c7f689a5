"""`hash`: no model at all, for tests and demonstrations."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager, nullcontext

from pydantic import Field

from memhub.embedding import Embedder
from memhub_config.kinds import EmbedderKind
from memhub_config.models import Section
from memhub_config.provider import Parts

__all__ = ["KIND", "HashSettings"]


class HashSettings(Section):
    """Words hashed to directions: the same on every machine, and nothing is understood."""

    dimensions: int = Field(default=256, ge=8, le=65_536, description="Length of every vector.")


def opened(settings: HashSettings, _parts: Parts) -> AbstractAsyncContextManager[Embedder]:
    """An embedder that needs no closing."""
    from memhub_adapters.embedders.hash import HashEmbedder

    return nullcontext(HashEmbedder(settings.dimensions))


KIND = EmbedderKind("hash", HashSettings, opened)
