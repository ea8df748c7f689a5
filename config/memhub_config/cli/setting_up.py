"""`init`, `check`, `schema`: a configuration, written and tried."""

from __future__ import annotations

import asyncio
from importlib.resources import files
from pathlib import Path

import typer

from memhub import Conflict, HubError, InvalidInput
from memhub.records import Json
from memhub_config.cli import shapes
from memhub_config.cli.options import AsJson, ConfigPath
from memhub_config.cli.output import note, print_json, show, visible
from memhub_config.compose import compose
from memhub_config.reading import DEFAULT_FILE, Config, load_config
from memhub_config.settings import process_settings

__all__ = ["add_to"]

PANEL = "Set up"


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


def check(*, config: ConfigPath = None, as_json: AsJson = False) -> None:
    """Validate the configuration, then open and ping every store.

    Exits 1 if one of them fails, after trying the others.
    """
    loaded = load_config(config)
    errors = {store.name: asyncio.run(_tried(loaded.only(store.name))) for store in loaded.stores}
    if as_json:
        print_json(
            {"config": loaded.document.source, "stores": [_result(loaded, *item) for item in errors.items()]}
        )
    else:
        _show_results(loaded, errors)
    if any(errors.values()):
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


async def _tried(config: Config) -> HubError | None:
    """What came up when the one store was opened and pinged."""
    (only,) = config.stores
    try:
        async with compose(config) as hub:
            await hub[only.name].ping()
    except HubError as error:
        return error
    return None


def _result(config: Config, name: str, error: HubError | None) -> Json:
    (store,) = config.only(name).stores
    return {
        "name": name,
        "provider": store.provider.name,
        "ok": error is None,
        "error": None if error is None else shapes.error(error),
    }


def _show_results(config: Config, errors: dict[str, HubError | None]) -> None:
    from memhub_config.cli.render import table

    rows = [
        (
            visible(store.name),
            store.provider.name,
            "ok" if error is None else visible(f"{error.code}: {error.message}"),
        )
        for store in config.stores
        for error in (errors[store.name],)
    ]
    show(table(("STORE", "PROVIDER", "RESULT"), rows))
    failed = sum(error is not None for error in errors.values())
    note(
        f"{config.document.source}: {failed} of {len(errors)} stores failed"
        if failed
        else f"{config.document.source}: all is well"
    )
