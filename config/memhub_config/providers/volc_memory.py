"""`volc_memory`: the Mem0 of Volcengine, with a key, or with what it takes to ask for one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Field, model_validator

from memhub import Adapter
from memhub_config.models import Duration, HeaderSecret, HttpUrl, Section
from memhub_config.provider import Parts, Provider

if TYPE_CHECKING:
    from memhub_adapters.mem0 import remote

__all__ = ["PROVIDER", "DataPlane", "VolcMemorySettings"]

Region = Annotated[str, Field(pattern=r"^[a-z0-9-]{1,40}$")]


class DataPlane(Section):
    """Where the memories are."""

    endpoint: HttpUrl = Field(description="The project's Mem0 address, as the console shows it.")


class VolcMemorySettings(Section):
    """The data plane, and either its key or an access key that can ask for it."""

    mem0: DataPlane
    api_key: HeaderSecret | None = Field(default=None, description="The project's key, where it is known.")
    memory_project_id: str | None = Field(
        default=None, min_length=1, description="The project whose key is asked for."
    )
    api_key_id: str | None = Field(
        default=None, min_length=1, description="Which of its keys; the first that is ready otherwise."
    )
    region: Region = Field(default="cn-beijing", description="Where the project is.")
    control_endpoint: HttpUrl | None = Field(
        default=None, description="The control plane; that of the region unless another is given."
    )
    access_key_id: str | None = Field(
        default=None, pattern="^[!-~]+$", description="Signs the calls for the key."
    )
    access_key_secret: HeaderSecret | None = Field(default=None, description="Signs the calls for the key.")
    session_token: HeaderSecret | None = Field(
        default=None, description="Comes with temporary access keys; sent and signed with each call."
    )
    timeout: Duration = Field(default=20.0, description="How long each step of a request may take.")
    poll_interval: Duration = Field(default=0.5, description="Between two looks at a pending job.")

    @model_validator(mode="after")
    def _authorised(self) -> VolcMemorySettings:
        asked = {
            "memory_project_id": self.memory_project_id,
            "access_key_id": self.access_key_id,
            "access_key_secret": self.access_key_secret,
        }
        missing = [name for name, value in asked.items() if value is None]
        if self.api_key is None and missing:
            raise ValueError(
                f"give api_key, or what it takes to ask for one: {', '.join(missing)} is missing"
            )
        if self.api_key is not None and (
            self.access_key_secret is not None or self.session_token is not None
        ):
            raise ValueError("api_key needs no access key beside it; keep one of the two")
        return self


async def build(settings: VolcMemorySettings, _parts: Parts) -> Adapter:
    """An adapter that has not asked anybody yet."""
    from memhub_adapters.http import Http
    from memhub_adapters.volc_memory import VolcMemoryAdapter

    http = Http(settings.mem0.endpoint, timeout=settings.timeout)
    return VolcMemoryAdapter(http, _key(settings), poll=settings.poll_interval)


def _key(settings: VolcMemorySettings) -> remote.Key:
    from memhub.calls import utc_now
    from memhub_adapters.http import Http
    from memhub_adapters.mem0.remote import FixedKey
    from memhub_adapters.volc_memory.credentials import ResolvedKey
    from memhub_adapters.volc_memory.signing import Credentials

    if settings.api_key is not None:
        return FixedKey(settings.api_key.get_secret_value())
    secret, token = settings.access_key_secret, settings.session_token
    return ResolvedKey(
        Http(
            settings.control_endpoint or f"https://mem0.{settings.region}.volcengineapi.com",
            timeout=settings.timeout,
        ),
        Credentials(
            settings.access_key_id or "",
            secret.get_secret_value() if secret else "",
            token.get_secret_value() if token else None,
        ),
        project_id=settings.memory_project_id or "",
        region=settings.region,
        clock=utc_now,
        api_key_id=settings.api_key_id,
    )


PROVIDER = Provider("volc_memory", VolcMemorySettings, build)
