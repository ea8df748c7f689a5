"""An httpx transport that reads no more of an answer, and waits no longer, than it was told to."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx

__all__ = ["BoundedTransport", "TooLong"]


class TooLong(httpx.TransportError):
    """An answer went on past the limit; the rest was not read."""


class BoundedTransport(httpx.AsyncBaseTransport):
    """`inner` with at most `most` bytes of each answer, and at most `seconds` for each step of a request.

    Qdrant's client itself takes whole seconds only.
    """

    def __init__(self, inner: httpx.AsyncBaseTransport, *, most: int, seconds: float) -> None:
        self._inner = inner
        self._most = most
        self._patience = dict.fromkeys(("connect", "read", "write", "pool"), seconds)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        # A compressed answer could grow past any limit once it is unpacked.
        request.headers["accept-encoding"] = "identity"
        request.extensions["timeout"] = self._patience
        response = await self._inner.handle_async_request(request)
        if isinstance(response.stream, httpx.AsyncByteStream):
            response.stream = _Capped(response.stream, self._most)
        return response

    async def aclose(self) -> None:
        await self._inner.aclose()


class _Capped(httpx.AsyncByteStream):
    def __init__(self, inner: httpx.AsyncByteStream, most: int) -> None:
        self._inner = inner
        self._left = most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self._inner:
            self._left -= len(part)
            if self._left < 0:
                raise TooLong("the answer is too long")
            yield part

    async def aclose(self) -> None:
        await self._inner.aclose()
