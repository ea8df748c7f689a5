"""The streamable HTTP transport of an MCP server."""

from __future__ import annotations

import hmac
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final

import uvicorn
from mcp.server import Server
from mcp.server.transport_security import TransportSecuritySettings

from memhub import InvalidInput
from memhub_config.serve import LOOPBACK

__all__ = ["PATH", "listening", "serve_http"]

PATH: Final = "/mcp"
PATIENCE: Final = 2
"""Seconds that open requests have to end when the server is told to stop."""

_Message = MutableMapping[str, Any]
_Receive = Callable[[], Awaitable[_Message]]
_Send = Callable[[_Message], Awaitable[None]]
_App = Callable[[_Message, _Receive, _Send], Awaitable[None]]


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens; port 0 takes any. InvalidInput when it cannot."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        # First, since Python leaves the socket open when it finds that the name is none.
        host.encode("idna")
        return socket.create_server((host, port), family=family)
    except OSError as found:
        why = found.strerror
    except UnicodeError:
        why = "is no name of a host"
    raise InvalidInput(f"cannot listen on {host}, port {port}: {why}")


async def serve_http(server: Server[Any], at: socket.socket, *, host: str, token: str | None) -> None:
    """Serve until the process is told to stop. With a token, requests must bear it."""
    app: _App = server.streamable_http_app(
        streamable_http_path=PATH, host=host, transport_security=_security(host)
    )
    if token is not None:
        app = _Guarded(app, token)
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, timeout_graceful_shutdown=PATIENCE, server_header=False
    )
    await uvicorn.Server(config).serve([at])


def _security(host: str) -> TransportSecuritySettings | None:
    """On this machine, only what names this machine; beyond it the token decides."""
    if host not in LOOPBACK:
        return None
    hosts = [name + port for name in ("127.0.0.1", "localhost", "[::1]") for port in ("", ":*")]
    return TransportSecuritySettings(
        allowed_hosts=hosts, allowed_origins=[f"http://{name}" for name in hosts]
    )


class _Guarded:
    """Answers 401 to every request without `Authorization: Bearer TOKEN`."""

    def __init__(self, app: _App, token: str) -> None:
        self._app = app
        self._expected = token.encode()

    async def __call__(self, scope: _Message, receive: _Receive, send: _Send) -> None:
        if scope["type"] == "http" and not self._admits(scope):
            headers = [(b"www-authenticate", b"Bearer"), (b"content-length", b"0")]
            await send({"type": "http.response.start", "status": 401, "headers": headers})
            await send({"type": "http.response.body", "body": b""})
        else:
            await self._app(scope, receive, send)

    def _admits(self, scope: _Message) -> bool:
        scheme, _, given = dict(scope["headers"]).get(b"authorization", b"").partition(b" ")
        return scheme.lower() == b"bearer" and hmac.compare_digest(given.strip(), self._expected)
