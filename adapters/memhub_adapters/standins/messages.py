"""A request and a response, as stand-ins see them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

__all__ = ["Request", "Response"]


@dataclass(frozen=True)
class Request:
    """What a client sent. `path` is decoded; header names are lower case."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""

    @cached_property
    def json(self) -> Any:  # noqa: ANN401 - whatever the client sent
        """The body as JSON; None where it is empty or none."""
        try:
            return json.loads(self.body)
        except ValueError:
            return None


@dataclass(frozen=True, slots=True)
class Response:
    """What goes back: `body` as it is where it is bytes, otherwise as JSON."""

    status: int = 200
    body: object = None
    headers: Mapping[str, str] = field(default_factory=dict)

    def content(self) -> bytes:
        """The bytes of the body."""
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()
