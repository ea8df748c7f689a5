"""Any endpoint that speaks OpenAI's embeddings API, over httpx."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

from memhub.calls import Retry
from memhub.errors import (
    AccessDenied,
    HubError,
    InvalidConfig,
    InvalidInput,
    RateLimited,
    TimedOut,
    Unavailable,
)
from memhub_adapters.embedders.vectors import batches, checked
from memhub_adapters.failure import CONNECTION, TIMEOUTS
from memhub_adapters.http import Answer, Http, HttpFailure

__all__ = ["OpenAIEmbedder"]

PROVIDER: Final = "openai"
BATCH: Final = 64
"""Texts in one request: 64 vectors of 3,072 numbers stay under the 8 MiB that are read of an answer."""

_OK: Final = 200


class OpenAIEmbedder:
    """Posts to `base_url`/embeddings, `batch` texts at a time; nothing is sent but the texts.

    `dimensions` is what the model gives; every vector is checked. `shorten` asks the endpoint to
    cut its vectors to that, which only some models can. `timeout` is in seconds, of each step of a
    request. Failures that may pass are repeated as `retry` says.
    """

    def __init__(
        self,
        *,
        base_url: str,
        model: str,
        dimensions: int,
        api_key: str | None = None,
        shorten: bool = False,
        batch: int = BATCH,
        timeout: float = 30.0,
        retry: Retry = Retry(),  # noqa: B008 - frozen
    ) -> None:
        self.identity = f"{PROVIDER}:{model}"
        self.dimensions = dimensions
        self._model = model
        self._shorten = shorten
        self._batch = batch
        self._retry = retry
        self.sleep: Callable[[float], Awaitable[None]] | None = None
        self._http = Http(base_url.rstrip("/"), timeout=timeout)
        self._headers = {"content-type": "application/json"}
        if api_key:
            self._headers["authorization"] = f"Bearer {api_key}"

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        return [vector for some in batches(texts, self._batch) for vector in await self._patiently(some)]

    async def aclose(self) -> None:
        """Close the connections; safe twice and without use."""
        await self._http.aclose()

    async def _patiently(self, texts: Sequence[str]) -> list[list[float]]:
        import asyncio

        from tenacity import AsyncRetrying, retry_if_exception, stop_after_attempt

        return await AsyncRetrying(
            sleep=self.sleep or asyncio.sleep,
            stop=stop_after_attempt(self._retry.attempts),
            wait=self._retry.delay,
            retry=retry_if_exception(lambda error: isinstance(error, HubError) and error.retryable),
            reraise=True,
        )(self._once, texts)

    async def _once(self, texts: Sequence[str]) -> list[list[float]]:
        body: dict[str, object] = {"model": self._model, "input": list(texts), "encoding_format": "float"}
        if self._shorten:
            body["dimensions"] = self.dimensions
        try:
            content = json.dumps(body, ensure_ascii=False).encode()
            answer = await self._http.send("POST", "/embeddings", headers=self._headers, body=content)
            if answer.status != _OK:
                raise answer.failure("none")
            vectors = _vectors(answer)
        except HttpFailure as failure:
            error = _translated(failure)
        else:
            return checked(vectors, count=len(texts), dimensions=self.dimensions, provider=PROVIDER)
        raise error

    def __repr__(self) -> str:
        return f"<OpenAIEmbedder {self._model!r} of {self.dimensions} dimensions>"


def _vectors(answer: Answer) -> list[object]:
    """The vectors of an answer, in the order of the texts."""
    found: Any = answer.json()
    try:
        rows = sorted(found["data"], key=lambda row: row["index"])
        return [row["embedding"] for row in rows]
    except (TypeError, KeyError):
        pass
    raise HttpFailure("UnexpectedBody", "done", status=answer.status, request_id=answer.request_id)


def _translated(failure: HttpFailure) -> HubError:
    error = failure.told(_of_status(failure) if failure.kind == "Status" else _of_kind(failure))
    error.provider = PROVIDER
    # Embedding changes nothing, so whatever was to be written can safely be tried again.
    error.unapplied = True
    return error


def _of_kind(failure: HttpFailure) -> HubError:
    if failure.kind in TIMEOUTS:
        return TimedOut(f"the embeddings endpoint did not answer in time ({failure.kind})", retryable=True)
    if failure.kind == "BodyTooLarge":
        return Unavailable("the embeddings endpoint answered with more than 8 MiB; set a smaller batch")
    if failure.kind in ("UnreadableBody", "UnexpectedBody"):
        return Unavailable("the embeddings endpoint answered with no list of vectors; check base_url")
    if failure.kind == "UnsupportedProtocol":
        return InvalidConfig("base_url: is no http or https address")
    text = CONNECTION.get(failure.kind, f"failed with {failure.kind}")
    return Unavailable(f"the embeddings endpoint: {text}", retryable=failure.kind != "LocalProtocolError")


def _of_status(failure: HttpFailure) -> HubError:
    status = failure.status or 0
    if status in (401, 403):
        return AccessDenied(f"the embeddings endpoint refused the credentials ({status}); check api_key")
    if status == 429:  # noqa: PLR2004 - HTTP's own number
        text = "the embeddings endpoint asks for patience (429)"
        return RateLimited(text, retryable=True, retry_after=failure.retry_after)
    if status in (400, 413, 422):
        text = f"the embeddings endpoint refused the texts ({status}); the model may take shorter ones only"
        return InvalidInput(text)
    if status < 500 and status != 408:  # noqa: PLR2004 - HTTP's own numbers
        return Unavailable(f"no embeddings there ({status}); check base_url and model")
    text = f"the embeddings endpoint failed ({status})"
    return Unavailable(text, retryable=True, retry_after=failure.retry_after)
