"""The stdio transport of an MCP server."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
import threading
from contextlib import suppress
from typing import Any, Self, cast

import anyio
from mcp.server import Server
from mcp.server.stdio import stdio_server

from memhub import InvalidInput

__all__ = ["serve_stdio"]

CHUNK = 65_536

log = logging.getLogger("memhub.mcp")


async def serve_stdio(server: Server[Any]) -> None:
    """Serve one client over stdin and stdout until it closes its end of either."""
    # As they were given: the command puts a stand-in in the place of one that is closed.
    if sys.__stdin__ is None or sys.__stdout__ is None:
        raise InvalidInput("stdin or stdout is closed; an agent starts this command with pipes on both")
    lines = cast("anyio.AsyncFile[str]", _Stdin())
    try:
        async with stdio_server(stdin=lines) as (read, write):
            await server.run(read, write, server.create_initialization_options())
    except* (BrokenPipeError, ConnectionResetError):
        log.info("the client has gone before it was answered")


class _Stdin:
    """The lines of stdin. The SDK's own reader would hold up an interrupted process until the next line.

    This one reads on a daemon thread, and past Python's buffer, whose lock must be free at exit.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._lines: asyncio.Queue[bytes | None] = asyncio.Queue()
        threading.Thread(target=self._read, name="memhub-stdin", daemon=True).start()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> str:
        line = await self._lines.get()
        if line is None:
            raise StopAsyncIteration
        return _repaired(line.decode(errors="replace"))

    def _read(self) -> None:
        begun = b""
        # A terminal that has gone gives an error for an end.
        with suppress(OSError):
            while chunk := os.read(0, CHUNK):
                *lines, begun = (begun + chunk).split(b"\n")
                for line in lines:
                    self._put(line)
        if begun:
            self._put(begun)
        self._put(None)

    def _put(self, line: bytes | None) -> None:
        # The loop may have ended meanwhile; then nobody is there to listen.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._lines.put_nowait, line)


def _repaired(line: str) -> str:
    """The line with U+FFFD for a lone surrogate, such as half an emoji of a text that was cut.

    The SDK would drop the whole message, and its sender would wait for an answer in vain.
    """
    if "\\ud" not in line.lower():
        return line
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return line
    return (
        json.dumps(message, ensure_ascii=False).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    )
