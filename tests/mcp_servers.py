"""`memhub mcp` as a process of its own, and the official client for it."""

import os
import signal
import subprocess
import sys
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import httpx2
from mcp import StdioServerParameters
from mcp.client import Client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

MEMHUB = str(Path(sys.executable).with_name("memhub"))
CONFIG = "stores: {main: {sqlite: {path: main.db, durability: normal}}}\n"


def environ(**more):
    return {name: value for name, value in os.environ.items() if not name.startswith("MEMHUB_")} | more


def over_stdio(folder, *arguments, mode="auto"):
    """A client of a server that it starts itself; entering it starts the server, leaving it ends it."""
    server = StdioServerParameters(command=MEMHUB, args=["mcp", *arguments], cwd=folder, env=environ())
    return Client(stdio_client(server), mode=mode)


@contextmanager
def http_server(folder, *arguments, **variables):
    """A server that listens on a port of its own choice; its URL. Ended as a supervisor would."""
    command = [MEMHUB, "mcp", "--http", "--port", "0", *arguments]
    with subprocess.Popen(
        command, cwd=folder, env=environ(**variables), stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process.stderr.readline().split()[-1]
        finally:
            process.send_signal(signal.SIGTERM)
            told = process.stderr.read()
            assert process.wait() == 130
            assert told.endswith("Interrupted.\n")
            assert "Traceback" not in told
            assert not [value for value in variables.values() if value in told]


@asynccontextmanager
async def over_http(url, *, token=None, mode="auto"):
    """A client of a server that runs already."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with (
        httpx2.AsyncClient(headers=headers) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode) as client,
    ):
        yield client
