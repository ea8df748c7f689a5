"""`openai`: any endpoint that speaks OpenAI's embeddings API."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager, aclosing
from typing import cast

from pydantic import Field

from memhub.embedding import Embedder
from memhub_config.kinds import EmbedderKind
from memhub_config.models import Duration, HeaderSecret, HttpUrl, RetrySection, Section
from memhub_config.provider import Parts

__all__ = ["KIND", "OpenAISettings"]


class OpenAISettings(Section):
    """Where the endpoint is, and which of its models to ask."""

    base_url: HttpUrl = Field(
        description="The address before /embeddings, such as https://api.openai.com/v1."
    )
    api_key: HeaderSecret | None = Field(default=None, description="Sent as a bearer token; some need none.")
    model: str = Field(min_length=1, description="The model, by the endpoint's name for it.")
    dimensions: int = Field(ge=1, le=65_536, description="Length of the model's vectors; checked.")
    shorten: bool = Field(
        default=False, description="Ask the endpoint to cut vectors to `dimensions`; only some models can."
    )
    batch: int = Field(default=64, ge=1, le=2_048, description="Texts in one request.")
    timeout: Duration = Field(default=30.0, description="How long each step of a request may take.")
    retry: RetrySection = RetrySection()


def opened(settings: OpenAISettings, _parts: Parts) -> AbstractAsyncContextManager[Embedder]:
    """An embedder whose connections are closed with the hub."""
    from memhub_adapters.embedders.openai import OpenAIEmbedder

    embedder = OpenAIEmbedder(
        base_url=settings.base_url,
        model=settings.model,
        dimensions=settings.dimensions,
        api_key=None if settings.api_key is None else settings.api_key.get_secret_value(),
        shorten=settings.shorten,
        batch=settings.batch,
        timeout=settings.timeout,
        retry=settings.retry.retry(),
    )
    return cast("AbstractAsyncContextManager[Embedder]", aclosing(embedder))


KIND = EmbedderKind("openai", OpenAISettings, opened)
