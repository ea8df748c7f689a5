"""`mem0`: the Platform, a Mem0 server of one's own, or mem0ai inside this process."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from pydantic import Field, model_validator

from memhub import Adapter
from memhub_config.models import Duration, HeaderSecret, HttpUrl, Section
from memhub_config.provider import Parts, Provider, once_open

if TYPE_CHECKING:
    from memhub_adapters.mem0.model import Model

__all__ = ["PROVIDER", "Mem0Settings", "ModelSettings"]

PLATFORM: Final = "https://api.mem0.ai"

_REMOTE: Final = ("endpoint", "api_key")
_EMBEDDED: Final = ("path", "embedder", "llm")


class ModelSettings(Section):
    """The model that makes facts of turns, at any endpoint that speaks OpenAI's chat completions."""

    base_url: HttpUrl = Field(
        description="The address before /chat/completions, such as https://api.openai.com/v1."
    )
    model: str = Field(min_length=1, description="The model, by the endpoint's name for it.")
    api_key: HeaderSecret | None = Field(default=None, description="Sent as a bearer token; some need none.")
    timeout: Duration = Field(default=60.0, description="How long each step of a request may take.")


class Mem0Settings(Section):
    """Which flavor of Mem0, and where it is."""

    flavor: Literal["platform", "self_hosted", "embedded"] = Field(
        default="platform",
        description="platform: the service of mem0.ai. self_hosted: Mem0's own server. "
        "embedded: the package mem0ai in this process.",
    )
    endpoint: HttpUrl | None = Field(
        default=None, description=f"The service; for the platform {PLATFORM} unless another is given."
    )
    api_key: HeaderSecret | None = Field(
        default=None, description="The service's key; sent in a header only."
    )
    path: Path | None = Field(
        default=None, description="embedded: the folder of all its files, used by one process at a time."
    )
    embedder: str | None = Field(default=None, description="embedded: one of the section `embedders`.")
    llm: ModelSettings | None = Field(
        default=None, description="embedded: what makes facts of turns; without it turns are refused."
    )
    timeout: Duration = Field(default=20.0, description="How long each step of a request may take.")
    poll_interval: Duration = Field(default=0.5, description="Between two looks at a pending operation.")

    @model_validator(mode="after")
    def _fitting(self) -> Mem0Settings:
        for field in _REMOTE if self.flavor == "embedded" else _EMBEDDED:
            if getattr(self, field) is not None:
                raise ValueError(f"{field} is not for flavor {self.flavor}; leave it out")
        needed = {"platform": ("api_key",), "self_hosted": ("endpoint",), "embedded": ("path", "embedder")}
        for field in needed[self.flavor]:
            if getattr(self, field) is None:
                raise ValueError(f"{field} is required for flavor {self.flavor}")
        return self


async def build(settings: Mem0Settings, parts: Parts) -> Adapter:
    """An adapter; the embedded one with its files open, the others without having asked anybody."""
    from memhub_adapters import mem0
    from memhub_adapters.http import Http

    if settings.flavor == "embedded":
        return await _embedded(settings, parts)
    http = Http(settings.endpoint or PLATFORM, timeout=settings.timeout)
    key = None if settings.api_key is None else settings.api_key.get_secret_value()
    if settings.flavor == "self_hosted":
        return mem0.self_hosted(http, key)
    return mem0.platform(http, key or "", poll=settings.poll_interval)


async def _embedded(settings: Mem0Settings, parts: Parts) -> Adapter:
    from memhub_adapters.mem0 import embedded

    adapter = embedded(
        parts.path(settings.path or ""),
        await parts.embedder(settings.embedder or ""),
        None if settings.llm is None else _model(settings.llm),
        reembedding=parts.reembedding,
    )
    return await once_open(adapter, adapter.open())


def _model(settings: ModelSettings) -> Model:
    from memhub_adapters.mem0.model import ChatModel

    return ChatModel(
        base_url=settings.base_url,
        model=settings.model,
        api_key=None if settings.api_key is None else settings.api_key.get_secret_value(),
        timeout=settings.timeout,
    )


PROVIDER = Provider("mem0", Mem0Settings, build, extra="mem0")
