"""HTTP for adapters: connections of each event loop, bodies of bounded size, failures that hold no text.

A failure says whether the request may have taken effect, which is what a caller must know before
it repeats one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode

from memhub import __version__
from memhub_adapters.failure import NEVER_SENT, Effect, Failure
from memhub_adapters.loops import PerLoop

if TYPE_CHECKING:
    import httpx

__all__ = ["LARGEST", "Answer", "Http", "HttpFailure"]

LARGEST: Final = 8 * 2**20
"""Bytes of a body, decompressed, that are read; a longer one is a failure."""

_ANSWERED: Final = ("DecodingError",)
_OURS: Final = {
    "user-agent": f"memhub/{__version__}",
    "accept": "application/json",
    "accept-encoding": "gzip, deflate",
}
_CODE: Final = re.compile("[a-z_]{1,40}")
_REQUEST_ID: Final = re.compile("[0-9a-f-]{8,36}")


class HttpFailure(Failure):
    """A request without a usable answer. Holds nothing of what was sent, and no text of the answer.

    `kind` is httpx's name for what went wrong, or what we found wrong. `code` and `request_id` are
    the provider's own, kept only where they look as such and so can be no key. `retry_after` is in seconds.
    """

    def __init__(
        self,
        kind: str,
        effect: Effect,
        *,
        status: int | None = None,
        code: str | None = None,
        request_id: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(kind, effect)
        self.status = status
        self.code = code
        self.request_id = request_id
        self.retry_after = retry_after

    def facts(self) -> dict[str, str | int | None]:
        return {"status": self.status, "code": self.code, "request_id": self.request_id}


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back, whole. Header names are lower case."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    content: bytes = b""

    def json(self) -> Any:  # noqa: ANN401 - any JSON value
        """The body as JSON. Raises HttpFailure when it is none: whatever was asked for was done."""
        try:
            return json.loads(self.content)
        except (ValueError, RecursionError):
            pass
        raise HttpFailure("UnreadableBody", "done", status=self.status, request_id=self.request_id)

    @property
    def request_id(self) -> str | None:
        """The provider's name for the request, where it gave one."""
        return _matching(_REQUEST_ID, self.headers.get("x-request-id"))

    @property
    def retry_after(self) -> float | None:
        """Seconds of `Retry-After`; None for a date, which would need a clock, or nonsense."""
        text = self.headers.get("retry-after", "").strip()
        return float(text) if text.isascii() and text.isdecimal() and len(text) < len("1000000") else None

    def failure(self, effect: Effect) -> HttpFailure:
        """The failure that this answer's status is."""
        return HttpFailure(
            "Status",
            effect,
            status=self.status,
            code=self._code(),
            request_id=self.request_id,
            retry_after=self.retry_after,
        )

    def _code(self) -> str | None:
        try:
            body = json.loads(self.content)
        except (ValueError, RecursionError):
            return None
        return _matching(_CODE, body.get("code")) if isinstance(body, dict) else None


class Http:
    """Sends requests to one endpoint. `timeout` is in seconds, of each step of a request.

    Each event loop gets connections of its own on first use; they are closed with the loop, or by
    `aclose`. Proxies and credentials of the environment are not used, and redirects not followed.
    httpx's transport is used as it is: its client would add cookies, redirects, an address in the
    log, and a tenth of a request's time on loopback.
    """

    def __init__(self, endpoint: str, *, timeout: float) -> None:
        self.endpoint = endpoint
        self._steps = dict.fromkeys(("connect", "read", "write", "pool"), timeout)
        self._transports = PerLoop(self._opened, lambda transport: transport.aclose())

    async def send(
        self,
        method: str,
        path: str,
        *,
        headers: Mapping[str, str],
        params: Mapping[str, str] | None = None,
        body: bytes | None = None,
    ) -> Answer:
        """The answer, whatever its status. Raises HttpFailure when there is none, or too long a one."""
        import httpx

        address = f"{self.endpoint}{path}?{urlencode(params)}" if params else f"{self.endpoint}{path}"
        try:
            request = httpx.Request(
                method,
                address,
                headers={**_OURS, **headers},
                content=body,
                extensions={"timeout": self._steps},
            )
            response = await (await self._transports.get()).handle_async_request(request)
            try:
                content = await _content(response)
            finally:
                await response.aclose()
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            kind = type(error).__name__
        except UnicodeEncodeError:
            kind = "LocalProtocolError"  # httpx's own name where it finds a header unfit later
        else:
            return Answer(response.status_code, response.headers, content)
        # Raised out here, so that no error of httpx, which knows the request, hangs on as __context__.
        raise HttpFailure(kind, _effect(kind))

    async def aclose(self) -> None:
        """Close the connections of this loop, and ask the other loops that are running to close theirs."""
        await self._transports.aclose()

    def _opened(self) -> httpx.AsyncHTTPTransport:
        import httpx

        # Certificates take longer to load than many a request; without TLS there is nothing to verify.
        verify = not self.endpoint.lower().startswith("http://")
        return httpx.AsyncHTTPTransport(verify=verify, trust_env=False)


async def _content(response: httpx.Response) -> bytes:
    parts, size = [], 0
    async for part in response.aiter_bytes():
        size += len(part)
        if size > LARGEST:
            raise HttpFailure("BodyTooLarge", "done", status=response.status_code)
        parts.append(part)
    return b"".join(parts)


def _matching(pattern: re.Pattern[str], value: object) -> str | None:
    return value if isinstance(value, str) and pattern.fullmatch(value) else None


def _effect(kind: str) -> Effect:
    if kind in NEVER_SENT:
        return "none"
    return "done" if kind in _ANSWERED else "unknown"
