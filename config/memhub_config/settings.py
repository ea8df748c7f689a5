"""The process's own settings, from environment variables that begin with MEMHUB_."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from memhub import InvalidConfig
from memhub_config.models import HeaderSecret

__all__ = ["ProcessSettings", "process_settings"]


class ProcessSettings(BaseSettings):
    """`MEMHUB_CONFIG`, `MEMHUB_LOG_LEVEL`, `MEMHUB_MCP_TOKEN`. An empty variable counts as unset."""

    model_config = SettingsConfigDict(
        env_prefix="MEMHUB_", env_ignore_empty=True, frozen=True, hide_input_in_errors=True
    )

    config: Path | None = Field(default=None, description="The configuration file, where none is named.")
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="warning", description="What the command's log tells on stderr."
    )
    mcp_token: HeaderSecret | None = Field(
        default=None, description="What clients of `memhub mcp --http` must bear."
    )


def process_settings(environ: Mapping[str, str] = os.environ) -> ProcessSettings:
    """The settings in `environ`. InvalidConfig names the variable that is wrong."""

    class Given(ProcessSettings):
        @classmethod
        def settings_customise_sources(
            cls, settings_cls: type[BaseSettings], *_: object, **__: object
        ) -> tuple[PydanticBaseSettingsSource, ...]:
            source = EnvSettingsSource(settings_cls)
            source.env_vars = {name.lower(): value for name, value in environ.items() if value}
            return (source,)

    try:
        return Given()
    except ValidationError as found:
        wrong = found.errors(include_input=False, include_url=False)[0]
    name, message = (
        wrong["loc"][0],
        wrong["msg"].removeprefix("Value error, ").replace("Input should be", "must be"),
    )
    raise InvalidConfig(f"MEMHUB_{str(name).upper()}: {message}")
