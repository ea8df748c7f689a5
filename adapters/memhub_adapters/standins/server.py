"""A small HTTP server on loopback, on a thread of its own: what every stand-in runs on.

HTTP/1.1 with keep-alive, parsed by h11, which httpx brings. A stand-in gives one function from
request to response; it is called on the server's thread, one request at a time.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Final, Self
from urllib.parse import parse_qsl, unquote, urlsplit

import h11

from memhub_adapters.standins.faults import Fault, Faults
from memhub_adapters.standins.messages import Request, Response

__all__ = ["Server"]

CHUNK: Final = 65_536


class Server:
    """Serves `handle` from entering until leaving, on any free port where `port` is 0.

    `requests` lists what has arrived, in order. Entering raises OSError for a port that is taken.
    """

    def __init__(self, handle: Callable[[Request], Response], *, port: int = 0) -> None:
        self.faults = Faults()
        self.requests: list[Request] = []
        self.port = port
        self._handle = handle
        self._ready = threading.Event()
        self._writers: set[asyncio.StreamWriter] = set()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), name="stand-in")

    @property
    def url(self) -> str:
        """Where it listens, without a trailing slash."""
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        self._socket = socket.create_server(("127.0.0.1", self.port))
        self.port = self._socket.getsockname()[1]
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._leave.set)
        self._thread.join()

    async def _serve(self) -> None:
        self._loop, self._leave = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._connected, sock=self._socket)
        self._ready.set()
        await self._leave.wait()
        server.close()
        for writer in set(self._writers):
            writer.close()
        pending = asyncio.all_tasks() - {asyncio.current_task()}
        for task in pending:
            task.cancel()
        await asyncio.gather(*pending, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        parser = h11.Connection(h11.SERVER)
        try:
            while (request := await _received(parser, reader)) is not None:
                if not await self._answered(parser, request, writer):
                    break
        except (OSError, h11.RemoteProtocolError, asyncio.CancelledError):
            pass  # the client has gone, which is its right, or the server is leaving
        finally:
            self._writers.discard(writer)
            writer.close()

    async def _answered(self, parser: h11.Connection, request: Request, writer: asyncio.StreamWriter) -> bool:
        """Answer one request; whether the connection goes on."""
        self.requests.append(request)
        fault = self.faults.next(request)
        response = self._handle(request) if fault is None or fault.applied else Response()
        if fault is None:
            await _sent(parser, writer, response, response.content())
        else:
            await self._spoilt(parser, writer, fault, response)
        if fault is not None and (fault.drop or fault.cut < 1):
            return False
        if parser.our_state is h11.MUST_CLOSE:
            return False
        parser.start_next_cycle()
        return True

    async def _spoilt(
        self, parser: h11.Connection, writer: asyncio.StreamWriter, fault: Fault, response: Response
    ) -> None:
        if fault.stall:
            await self._leave.wait()
        if fault.delay:
            await asyncio.sleep(fault.delay)
        if fault.drop or fault.stall:
            return
        body = response.content() if fault.body is None else fault.body
        status = response.status if fault.status is None else fault.status
        headers = {**response.headers, **fault.headers}
        sent = body[: int(len(body) * fault.cut)]
        await _sent(parser, writer, Response(status, body, headers), sent)


async def _received(parser: h11.Connection, reader: asyncio.StreamReader) -> Request | None:
    """The next request; None when the client has closed the connection."""
    head: h11.Request | None = None
    body = bytearray()
    while True:
        event = parser.next_event()
        if event is h11.NEED_DATA:
            parser.receive_data(await reader.read(CHUNK))
        elif isinstance(event, h11.Request):
            head = event
        elif isinstance(event, h11.Data):
            body += event.data
        elif isinstance(event, h11.EndOfMessage) and head is not None:
            return _request(head, bytes(body))
        else:
            return None


def _request(head: h11.Request, body: bytes) -> Request:
    target = urlsplit(head.target.decode("ascii"))
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in head.headers}
    query = dict(parse_qsl(target.query, keep_blank_values=True))
    return Request(head.method.decode("ascii"), unquote(target.path), query, headers, body)


async def _sent(
    parser: h11.Connection, writer: asyncio.StreamWriter, response: Response, body: bytes
) -> None:
    """Send the head of the whole response, and as much of its body as is given."""
    whole = response.content()
    headers = {"content-type": "application/json", "content-length": str(len(whole)), **response.headers}
    raw = [(name.encode("ascii"), value.encode("latin-1")) for name, value in headers.items()]
    head = parser.send(h11.Response(status_code=response.status, headers=raw)) or b""
    writer.write(head + body)
    if len(body) == len(whole):
        parser.send(h11.Data(data=whole))
        parser.send(h11.EndOfMessage())
    await writer.drain()
