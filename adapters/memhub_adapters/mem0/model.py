"""The model that makes facts of turns in process: any endpoint that speaks OpenAI's chat completions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from memhub_adapters.http import Http, HttpFailure

__all__ = ["ChatModel", "Model"]

_OK = range(200, 300)


class Model(Protocol):
    """Answers messages with a JSON text."""

    async def complete(self, messages: Sequence[Mapping[str, str]]) -> str:
        """The model's answer. Raises Failure."""

    async def aclose(self) -> None:
        """Close what was opened."""


class ChatModel:
    """Posts to `base_url`/chat/completions. `timeout` is in seconds, of each step of a request."""

    def __init__(
        self, *, base_url: str, model: str, api_key: str | None = None, timeout: float = 60.0
    ) -> None:
        self._http = Http(base_url, timeout=timeout)
        self._model = model
        self._headers = {"content-type": "application/json"}
        if api_key is not None:
            self._headers["authorization"] = f"Bearer {api_key}"

    async def complete(self, messages: Sequence[Mapping[str, str]]) -> str:
        asked = {"model": self._model, "messages": list(messages), "response_format": {"type": "json_object"}}
        body = json.dumps(asked, ensure_ascii=False).encode()
        try:
            answer = await self._http.send("POST", "/chat/completions", headers=self._headers, body=body)
            if answer.status not in _OK:
                raise answer.failure("none")
            return _content(answer.json())
        except HttpFailure as failure:
            # A model changes nothing, and what it was asked for has not been stored.
            failure.effect = "none"
            raise

    async def aclose(self) -> None:
        await self._http.aclose()

    def __repr__(self) -> str:
        return f"<ChatModel {self._model!r}>"


def _content(body: Any) -> str:  # noqa: ANN401 - any JSON value
    try:
        content = body["choices"][0]["message"]["content"]
    except (TypeError, KeyError, IndexError):
        content = None
    if not isinstance(content, str):
        raise HttpFailure("UnexpectedBody", "none")
    return content
