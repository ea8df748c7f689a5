"""The three flavors, put together from ready-made parts."""

from __future__ import annotations

from pathlib import Path

from memhub.embedding import Embedder
from memhub_adapters.http import Http
from memhub_adapters.mem0.adapter import CAPABILITIES, POLL, Mem0Adapter
from memhub_adapters.mem0.capabilities import without_turns
from memhub_adapters.mem0.embedded import EmbeddedGateway
from memhub_adapters.mem0.model import Model
from memhub_adapters.mem0.platform import PlatformDialect
from memhub_adapters.mem0.remote import FixedKey, RemoteGateway
from memhub_adapters.mem0.self_hosted import SelfHostedDialect

__all__ = ["embedded", "platform", "self_hosted"]


def platform(http: Http, api_key: str, *, poll: float = POLL) -> Mem0Adapter:
    """Mem0's Platform. `poll` is the seconds between two looks at an extraction."""
    dialect = PlatformDialect()
    gateway = RemoteGateway(http, dialect, FixedKey(api_key))
    return Mem0Adapter(gateway, CAPABILITIES["platform"], most_found=dialect.most_found, poll=poll)


def self_hosted(http: Http, api_key: str | None) -> Mem0Adapter:
    """A Mem0 server of one's own; without a key where it asks for none."""
    gateway = RemoteGateway(http, SelfHostedDialect(), FixedKey(api_key))
    return Mem0Adapter(gateway, CAPABILITIES["self_hosted"])


def embedded(
    folder: Path, embedder: Embedder, model: Model | None = None, *, reembedding: bool = False
) -> Mem0Adapter:
    """`mem0ai` in this process, its files in `folder`. Without a model it takes facts alone.

    Another embedder than the one it was filled with is InvalidConfig, on first use, unless
    `reembedding` is what it is opened for.
    """
    declared = CAPABILITIES["embedded"]
    if model is None:
        declared = without_turns(declared, "no model is configured to make facts of turns; give one as llm")
    return Mem0Adapter(EmbeddedGateway(folder, embedder, model, reembedding=reembedding), declared)
