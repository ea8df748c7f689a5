"""`qdrant`: one collection, on a server or inside this process."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import Field, model_validator

from memhub import Adapter
from memhub_config.models import Duration, HeaderSecret, HttpUrl, Section
from memhub_config.provider import Parts, Provider, once_open

if TYPE_CHECKING:
    from memhub.embedding import Embedder
    from memhub_adapters.qdrant import QdrantAdapter

__all__ = ["PROVIDER", "QdrantSettings"]

Collection = Annotated[str, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,254}$")]


class QdrantSettings(Section):
    """Where Qdrant is, a `url` or a `path`, and which of its collections is ours."""

    url: HttpUrl | None = Field(
        default=None,
        description="A server, such as http://127.0.0.1:6333; the port is 6333 where none is given.",
    )
    api_key: HeaderSecret | None = Field(default=None, description="The server's key; sent in a header only.")
    path: Path | None = Field(
        default=None,
        description="A folder for the embedded engine, of this process alone; `:memory:` for nowhere lasting.",
    )
    collection: Collection = Field(default="memories", description="Ours alone; made where it is missing.")
    embedder: str | None = Field(
        default=None,
        description="One of the section `embedders`. Without it the store searches by words only.",
    )
    timeout: Duration = Field(default=10.0, description="How long each step of a request may take.")

    @model_validator(mode="after")
    def _placed(self) -> QdrantSettings:
        if (self.url is None) is (self.path is None):
            raise ValueError("give a url or a path, one of the two")
        if self.api_key is not None and self.url is None:
            raise ValueError("api_key is for a server; leave it out beside a path")
        return self


async def build(settings: QdrantSettings, parts: Parts) -> Adapter:
    """An adapter whose collection is there, and made by the embedder that is named."""
    embedder = None if settings.embedder is None else await parts.embedder(settings.embedder)
    adapter = _adapter(settings, parts, embedder)
    return await once_open(adapter, adapter.open(reembedding=parts.reembedding))


def _adapter(settings: QdrantSettings, parts: Parts, embedder: Embedder | None) -> QdrantAdapter:
    from memhub_adapters.qdrant import MEMORY, QdrantAdapter

    if settings.path is not None:
        path = settings.path if str(settings.path) == MEMORY else parts.path(settings.path)
        return QdrantAdapter.embedded(path, collection=settings.collection, embedder=embedder)
    return QdrantAdapter.remote(
        settings.url or "",
        collection=settings.collection,
        api_key=None if settings.api_key is None else settings.api_key.get_secret_value(),
        timeout=settings.timeout,
        embedder=embedder,
    )


PROVIDER = Provider("qdrant", QdrantSettings, build, extra="qdrant")
