"""`fastembed`: a small model on this machine, through ONNX."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager, nullcontext
from pathlib import Path

from pydantic import Field

from memhub.embedding import Embedder
from memhub_config.kinds import EmbedderKind
from memhub_config.models import Section
from memhub_config.provider import Parts

__all__ = ["KIND", "FastembedSettings"]


class FastembedSettings(Section):
    """Which model, and the folder it is in; without a folder fastembed downloads it once."""

    model: str = Field(min_length=1, description="The model, by fastembed's name for it.")
    dimensions: int = Field(ge=1, le=65_536, description="Length of the model's vectors; checked.")
    path: Path | None = Field(
        default=None, description="Folder of the model's files: with it nothing is ever downloaded."
    )
    batch: int = Field(default=64, ge=1, le=2_048, description="Texts embedded together.")
    threads: int | None = Field(
        default=None, ge=1, le=1_024, description="Threads of the model; all, if unset."
    )


def opened(settings: FastembedSettings, parts: Parts) -> AbstractAsyncContextManager[Embedder]:
    """An embedder that loads its model on first use."""
    from memhub_adapters.embedders.fastembed import FastembedEmbedder

    return nullcontext(
        FastembedEmbedder(
            settings.model,
            dimensions=settings.dimensions,
            path=None if settings.path is None else parts.path(settings.path),
            batch=settings.batch,
            threads=settings.threads,
        )
    )


KIND = EmbedderKind("fastembed", FastembedSettings, opened, extra="fastembed")
