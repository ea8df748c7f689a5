"""`init`, `check`, `schema`: a configuration, written and tried."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

from memhub import Conflict, HubError, InvalidInput, MemoryStore, Unsupported
from memhub.records import Json
from memhub_config.cli import shapes
from memhub_config.cli.options import AsJson, ConfigPath
from memhub_config.cli.output import note, print_json, show, visible
from memhub_config.compose import compose
from memhub_config.reading import DEFAULT_FILE, Config, StoreConfig, load_config
from memhub_config.settings import process_settings

__all__ = ["add_to"]

PANEL = "Set up"

Deep = Annotated[
    bool, typer.Option("--deep", help="Read every record and the whole index of each store that has files.")
]


def add_to(app: typer.Typer) -> None:
    """Register the commands."""
    for command in (init, check, schema):
        app.command(rich_help_panel=PANEL)(command)


def init(*, config: ConfigPath = None, as_json: AsJson = False) -> None:
    """Write a commented memhub.yaml; what is there already is never overwritten."""
    path = config or process_settings().config or DEFAULT_FILE
    text = files("memhub_config").joinpath("data", "memhub.yaml").read_text(encoding="utf-8")
    _create(path, text)
    if as_json:
        print_json({"path": str(path)})
    else:
        note(
            f"Wrote {path}. Next: memhub check --config {path}"
            if config
            else f"Wrote {path}. Next: memhub check"
        )


def check(*, deep: Deep = False, config: ConfigPath = None, as_json: AsJson = False) -> None:
    """Validate the configuration, then open and ping every store, and look over its own files.

    Exits 1 if one of them fails, after trying the others.
    """
    loaded = load_config(config)
    tried = [(store, asyncio.run(_tried(loaded.only(store.name), deep=deep))) for store in loaded.stores]
    if as_json:
        print_json({"config": loaded.document.source, "stores": [_result(*each) for each in tried]})
    else:
        _show_results(loaded, tried)
    if any(found for _, found in tried):
        raise typer.Exit(1)


def schema(*, config: ConfigPath = None, as_json: AsJson = False) -> None:  # noqa: ARG001 - all commands take both
    """Print the JSON Schema of the configuration file, for editors."""
    from memhub_config.schema import json_schema

    print_json(json_schema())


def _create(path: Path, text: str) -> None:
    try:
        with path.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except FileExistsError:
        error: HubError = Conflict(
            f"{path}: is there already; remove it first, or name another with --config"
        )
    except OSError as found:
        error = InvalidInput(f"{path}: cannot be written: {found.strerror}")
    else:
        return
    raise error


async def _tried(config: Config, *, deep: bool) -> HubError | list[str]:
    """What came up when the one store was opened, pinged, and its files looked over."""
    (only,) = config.stores
    try:
        async with compose(config) as hub:
            await hub[only.name].ping()
            return await _faults(hub[only.name], deep=deep)
    except HubError as error:
        return error


async def _faults(memory: MemoryStore, *, deep: bool) -> list[str]:
    """What is wrong with a store's own files, where it has any."""
    try:
        upkeep = memory.upkeep()
    except Unsupported:
        return []
    return await upkeep.check(deep=deep)


def _result(store: StoreConfig, found: HubError | list[str]) -> Json:
    error = found if isinstance(found, HubError) else None
    return {
        "name": store.name,
        "provider": store.provider.name,
        "ok": not found,
        "error": None if error is None else shapes.error(error),
        "faults": [] if isinstance(found, HubError) else list(found),
    }


def _show_results(config: Config, tried: Sequence[tuple[StoreConfig, HubError | list[str]]]) -> None:
    from memhub_config.cli.render import table

    rows = [(visible(store.name), store.provider.name, visible(_told(found))) for store, found in tried]
    show(table(("STORE", "PROVIDER", "RESULT"), rows))
    failed = sum(bool(found) for _, found in tried)
    note(
        f"{config.document.source}: {failed} of {len(tried)} stores failed"
        if failed
        else f"{config.document.source}: all is well"
    )


def _told(found: HubError | list[str]) -> str:
    if isinstance(found, HubError):
        return f"{found.code}: {found.message}"
    return "\n".join(found) or "ok"
