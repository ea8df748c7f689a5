"""What a configuration may hold: strict, frozen models that never show a value they refuse."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Annotated, Final, Literal
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from memhub import limits
from memhub.calls import Retry

__all__ = ["ROUTING", "Duration", "HeaderSecret", "HttpUrl", "RetrySection", "Section", "StoreOptions"]

ROUTING: Final = frozenset({"scope", "user_id", "agent_id", "app_id", "run_id", "session_id"})
"""Names that say whose memory it is. They are given per call, never in a configuration."""

_SECONDS: Final = {"": 1.0, "ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h)?", re.ASCII)


class Section(BaseModel):
    """Base of every part of a configuration, a provider's settings included.

    Unknown fields are errors. Keys and tokens are `pydantic.SecretStr`. A validator's message
    must not repeat the value that it refuses.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    @field_validator("*", mode="after")
    @classmethod
    def _usable(cls, value: object) -> object:
        if isinstance(value, Path):
            _check_path(value)
        return value


def _check_path(path: Path) -> None:
    """Raises ValueError for what is told late, or as something else, once the path is used."""
    try:
        os.fsencode(path.expanduser())
    except RuntimeError:
        why = "begins with ~, but that home folder is not known; write the path out"
    except UnicodeEncodeError:
        why = "holds a lone surrogate, which is no character"
    else:
        if "\0" not in str(path):
            return
        why = "holds a NUL character; no file name does"
    raise ValueError(why)


def seconds(value: object) -> object:
    """Seconds from `10s`, `500ms`, `2m`, `1h` or a plain number. Raises ValueError."""
    if isinstance(value, str):
        found = _DURATION.fullmatch(value.strip())
        if found is None:
            raise ValueError("must be a duration such as 10s, 500ms or 2m, or a number of seconds")
        value = float(found[1]) * _SECONDS[found[2] or ""]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("must be a duration such as 10s, 500ms or 2m, or a number of seconds")  # noqa: TRY004
    if not 0 < value <= sys.float_info.max:
        raise ValueError("must be longer than nothing, and not without end")
    return float(value)


Duration = Annotated[
    float,
    BeforeValidator(seconds),
    WithJsonSchema(
        {
            "description": "A duration such as 10s, 500ms or 2m, or a number of seconds.",
            "anyOf": [
                {"type": "number", "exclusiveMinimum": 0},
                {"type": "string", "pattern": r"^\s*\d+(\.\d+)?\s*(ms|s|m|h)?\s*$"},
            ],
        }
    ),
]
"""Seconds, written as `10s`, `500ms`, `2m`, `1h` or a plain number."""


_ADDRESS: Final = re.compile(
    r"https?://[^\s/?#@:]+(:\d{1,5})?(/[^\s?#@]*)?|https?://\[[0-9a-fA-F:]+\](:\d{1,5})?(/[^\s?#@]*)?"
)


def _http_url(given: str) -> str:
    if not _is_address(given):
        raise ValueError(
            "must be an address such as http://127.0.0.1:6333 or https://api.example.com/v1; "
            "a key has a field of its own"
        )
    return given.rstrip("/")


def _is_address(given: str) -> bool:
    try:
        return _ADDRESS.fullmatch(given) is not None and urlsplit(given).port != 0
    except ValueError:  # a port beyond 65535
        return False


HttpUrl = Annotated[
    str,
    AfterValidator(_http_url),
    WithJsonSchema({"type": "string", "pattern": r"^https?://[^\s/?#@]+(/[^\s?#@]*)?$"}),
]
"""The address of an HTTP endpoint, without a key in it, and without a slash at its end."""


_HEADER: Final = re.compile("[!-~]([ -~]*[!-~])?")


def _in_a_header(given: SecretStr) -> SecretStr:
    if _HEADER.fullmatch(given.get_secret_value()) is None:
        raise ValueError(
            "must be one line of plain ASCII without spaces around it, since a header holds it; look for "
            "a line break, a quotation mark or another character that was copied along"
        )
    return given


HeaderSecret = Annotated[SecretStr, AfterValidator(_in_a_header)]
"""A key or token that travels in a header of HTTP."""


class RetrySection(Section):
    """How failed calls are repeated: exponential delays with jitter."""

    attempts: int = Field(default=Retry().attempts, ge=1, le=100, description="Calls in all; 1 repeats none.")
    min_delay: Duration = Retry().min_delay
    max_delay: Duration = Retry().max_delay

    @model_validator(mode="after")
    def _ordered(self) -> RetrySection:
        if self.min_delay > self.max_delay:
            raise ValueError("min_delay is longer than max_delay; swap them")
        return self

    def retry(self) -> Retry:
        """What the hub understands."""
        return Retry(attempts=self.attempts, min_delay=self.min_delay, max_delay=self.max_delay)


class StoreOptions(Section):
    """What a store may say beside its one provider."""

    kind: Literal["memory"] = Field(default="memory", description="The only kind today.")
    timeout: Duration = Field(default=limits.TIMEOUT, description="Deadline of one call, retries included.")
    retry: RetrySection = RetrySection()
    requires: tuple[str, ...] = Field(
        default=(), description="Capabilities that the opened store must have; the start fails otherwise."
    )
