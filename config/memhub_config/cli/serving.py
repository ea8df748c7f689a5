"""`mcp`: a store served to agents, its scope fixed by whoever starts the server."""

from __future__ import annotations

import os
import signal
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from memhub import BoundMemory, Hub, InvalidInput, Scope
from memhub_config.cli.options import AsJson, Chosen, ConfigPath, Labels, ScopeName, pairs, scope_of, usage
from memhub_config.cli.output import note
from memhub_config.cli.running import chosen, on_hub
from memhub_config.reading import Config, load_config
from memhub_config.serve import LOOPBACK
from memhub_config.settings import process_settings

if TYPE_CHECKING:
    from mcp.server import Server

__all__ = ["add_to"]

PORT: Final = 8321

Read = Annotated[
    list[str] | None,
    typer.Option("--read", metavar="NAME", help="A scope that may also be read. Repeatable."),
]
Readonly = Annotated[bool, typer.Option("--readonly", metavar="", help="Serve for reading alone.")]
BindingName = Annotated[
    str | None,
    typer.Option("--binding", metavar="NAME", help="A binding of the configuration, in place of --scope."),
]
Values = Annotated[
    list[str] | None,
    typer.Option("--value", metavar="KEY=VALUE", help="A value that the binding needs. Repeatable."),
]
Http = Annotated[
    bool, typer.Option("--http", metavar="", help="Streamable HTTP in place of stdin and stdout.")
]
Host = Annotated[str, typer.Option("--host", metavar="HOST", help="With --http: where to listen.")]
Port = Annotated[
    int, typer.Option("--port", metavar="PORT", min=0, max=65535, help="With --http: the port; 0 for any.")
]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    """What was asked for: a binding by name, or a scope and what it may also read."""

    binding: str | None = None
    values: Mapping[str, str] = field(default_factory=dict)
    scope: Scope | None = None
    read: tuple[Scope, ...] = ()
    readonly: bool = False

    def config(self, config: Config, store: str | None) -> Config:
        """The configuration of the one store that is needed."""
        if self.binding is None:
            return chosen(config, store)
        found = config.bindings.get(self.binding)
        return config if found is None else config.only(found.store)

    def memory(self, hub: Hub) -> BoundMemory:
        """The memory that is served."""
        if self.binding is not None or self.scope is None:
            return hub.bind(self.binding or "", **self.values)
        (store,) = hub.values()
        return store.bind(self.scope, read=self.read, readonly=self.readonly)


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command(rich_help_panel="Serve")(mcp)


def mcp(
    *,
    scope: ScopeName = None,
    label: Labels = None,
    read: Read = None,
    readonly: Readonly = False,
    binding: BindingName = None,
    value: Values = None,
    http: Http = False,
    host: Host = "127.0.0.1",
    port: Port = PORT,
    store: Chosen = None,
    config: ConfigPath = None,
    as_json: AsJson = False,  # noqa: ARG001 - there is no data; errors heed it
) -> None:
    """Serve a memory to agents over MCP, on stdin and stdout or over HTTP.

    The scope is fixed here: no client can name another. Whoever reaches the HTTP port reads and
    writes that memory; set MEMHUB_MCP_TOKEN to ask for a bearer token, which any --host beyond this
    machine needs.
    """
    wanted = _wanted(
        scope=scope,
        label=label,
        read=read,
        readonly=readonly,
        binding=binding,
        value=value,
        store=store,
    )
    token = _token()
    _check_host(host, token, http=http)
    only = wanted.config(load_config(config), store)
    serve = _over_http(host, port, token) if http else _over_stdio
    on_hub(only, lambda hub: _serve(wanted.memory(hub), serve))


def _wanted(
    *,
    scope: str | None,
    label: Sequence[str] | None,
    read: Sequence[str] | None,
    readonly: bool,
    binding: str | None,
    value: Sequence[str] | None,
    store: str | None,
) -> _Wanted:
    if binding is None:
        if value:
            usage("--value belongs to --binding")
        others = tuple(scope_of(name, None) for name in read or ())
        return _Wanted(scope=scope_of(scope, label), read=others, readonly=readonly)
    if scope or label or read or store or readonly:
        usage("--binding says what --store, --scope, --label, --read and --readonly say; leave those out")
    return _Wanted(binding=binding, values=pairs("--value", value))


def _token() -> str | None:
    secret = process_settings(os.environ).mcp_token
    return None if secret is None else secret.get_secret_value()


def _check_host(host: str, token: str | None, *, http: bool) -> None:
    if http and token is None and host not in LOOPBACK:
        usage(
            f"--host {host} lets others reach this memory; set MEMHUB_MCP_TOKEN, a token that they must bear"
        )


async def _serve(memory: BoundMemory, serve: Callable[[Server[Any]], Awaitable[None]]) -> None:
    try:
        from memhub_config.serve.mcp_server import mcp_server
    except ModuleNotFoundError as found:
        missing = found.name
    else:
        with _ending_as_interrupted():
            await serve(mcp_server(memory))
        return
    raise InvalidInput(f"memhub mcp needs the module {missing}; pip install 'memhub[mcp]'")


@contextmanager
def _ending_as_interrupted() -> Iterator[None]:
    """A supervisor ends servers with SIGTERM: it does what Ctrl-C does, and the store is closed."""
    before = signal.signal(signal.SIGTERM, signal.getsignal(signal.SIGINT))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


async def _over_stdio(server: Server[Any]) -> None:
    from memhub_config.serve.stdio import serve_stdio

    await serve_stdio(server)


def _over_http(host: str, port: int, token: str | None) -> Callable[[Server[Any]], Awaitable[None]]:
    async def serve(server: Server[Any]) -> None:
        from memhub_config.serve.http import PATH, listening, serve_http

        with listening(host, port) as at:
            shown = f"[{host}]" if ":" in host else host
            note(f"Serving MCP at http://{shown}:{at.getsockname()[1]}{PATH}")
            await serve_http(server, at, host=host, token=token)

    return serve
