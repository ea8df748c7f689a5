"""`stores`, `scopes`, `stats`: what is there."""

from __future__ import annotations

import asyncio

import typer

from memhub import Capabilities, HubError
from memhub.records import Json
from memhub_config.cli import shapes
from memhub_config.cli.options import AsJson, Chosen, ConfigPath, Labels, ScopeName, optional_scope
from memhub_config.cli.output import note, print_json, show, visible
from memhub_config.cli.running import on_store
from memhub_config.compose import compose
from memhub_config.problems import listed
from memhub_config.reading import Config, StoreConfig, load_config

__all__ = ["add_to"]

PANEL = "Look around"


def add_to(app: typer.Typer) -> None:
    """Register the commands."""
    for command in (stores, scopes, stats):
        app.command(rich_help_panel=PANEL)(command)


def stores(*, config: ConfigPath = None, as_json: AsJson = False) -> None:
    """Show every store with what it can do, and why it cannot do the rest.

    Exits 1 if a store cannot be opened.
    """
    loaded = load_config(config)
    found = [(store, asyncio.run(_declared(loaded, store))) for store in loaded.stores]
    if as_json:
        print_json({"stores": [_shape(store, declared) for store, declared in found]})
    else:
        for store, declared in found:
            _show(store, declared)
    if any(isinstance(declared, HubError) for _, declared in found):
        raise typer.Exit(1)


def scopes(*, store: Chosen = None, config: ConfigPath = None, as_json: AsJson = False) -> None:
    """List every scope of a store, with its counts."""
    found = on_store(config, store, lambda memory: memory.stats(by_scope=True)).scopes
    if as_json:
        print_json({"scopes": [shapes.scope_count(one) for one in found]})
        return
    if not found:
        note("No scope yet.")
        return
    from memhub_config.cli.render import scope_text, table

    rows = [
        (scope_text(one.scope), f"{one.live:,}", f"{one.invalidated:,}", f"{one.expired:,}") for one in found
    ]
    show(table(("SCOPE", "LIVE", "INVALID", "EXPIRED"), rows, right="LIVE,INVALID,EXPIRED"))


def stats(
    *,
    scope: ScopeName = None,
    label: Labels = None,
    store: Chosen = None,
    config: ConfigPath = None,
    as_json: AsJson = False,
) -> None:
    """Count the records of a store, or of what a scope covers."""
    only = optional_scope(scope, label)
    found = on_store(config, store, lambda memory: memory.stats(only))
    if as_json:
        print_json(shapes.stats(found))
        return
    from memhub_config.cli.render import fields

    told = {
        "live": f"{found.live:,}",
        "invalidated": f"{found.invalidated:,}",
        "expired": f"{found.expired:,}",
    }
    told |= {"bytes": f"{found.bytes:,}"} if found.bytes is not None else {}
    told |= {"erasure": "pending: a reader still holds deleted text back"} if found.erasure_pending else {}
    show(fields(told))


async def _declared(config: Config, store: StoreConfig) -> Capabilities | HubError:
    try:
        async with compose(config.only(store.name)) as hub:
            return hub[store.name].capabilities
    except HubError as error:
        return error


def _shape(store: StoreConfig, declared: Capabilities | HubError) -> Json:
    shape: dict[str, Json] = {"name": store.name, "provider": store.provider.name}
    if isinstance(declared, HubError):
        return shape | {"error": shapes.error(declared)}
    return shape | {"requires": list(store.options.requires), **shapes.capabilities(declared)}


def _show(store: StoreConfig, declared: Capabilities | HubError) -> None:
    from rich.padding import Padding

    from memhub_config.cli.render import fields

    show(visible(f"{store.name}  ({store.provider.name})"))
    if isinstance(declared, HubError):
        told = {"failed": visible(f"{declared.code}: {declared.message}")}
    else:
        told = _told(store, declared)
    show(Padding(fields(told), (0, 0, 1, 2)))


def _told(store: StoreConfig, declared: Capabilities) -> dict[str, str]:
    missing = declared.missing(declared.names())
    told = {
        "can": listed(name for name in declared.names() if name not in missing),
        "searches": _modes(declared),
        "scopes": declared.scopes,
        "turns": declared.turns,
        "at once": f"{declared.atomic_facts:,} facts or turns in one observation",
        "lists": f"up to {declared.listing:,} records a page",
        "reads": "see every write at once" if declared.consistency == "immediate" else "lag behind writes",
        "erasure": declared.erasure,
    }
    if store.options.requires:
        told["requires"] = listed(store.options.requires)
    return told | {f"no {name}": why for name, why in missing.items()}


def _modes(declared: Capabilities) -> str:
    if len(declared.modes) < 2:  # noqa: PLR2004 - with one mode there is nothing to choose
        return listed(declared.modes)
    return f"{listed(declared.modes)}; {declared.default_mode} by default"
