"""`export`, `migrate`: taking memories elsewhere."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memhub import Hub, HubError, MemoryStore, Scope
from memhub_config.cli import outcome
from memhub_config.cli.options import AsJson, ConfigPath, Labels, ScopeNames, scopes_of, usage
from memhub_config.cli.output import note, print_json, progress, show
from memhub_config.cli.running import on_hub, on_store
from memhub_config.cli.streams import output
from memhub_config.reading import Config, load_config

if TYPE_CHECKING:
    from memhub.migration import Migrated

Scopes = Sequence[Scope] | None

__all__ = ["add_to"]

PANEL = "Move"

Exported = Annotated[str, typer.Argument(metavar="STORE", help="The store; it may be in use.")]
Output = Annotated[
    str | None, typer.Option("--output", metavar="FILE", help="A new file; else the lines go to stdout.")
]
From = Annotated[str, typer.Option("--from", metavar="STORE", help="Where they are; it is not changed.")]
To = Annotated[str, typer.Option("--to", metavar="STORE", help="Where they go.")]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Only say what would be done, and what would be lost.")
]
AcceptLoss = Annotated[
    bool, typer.Option("--accept-loss", help="Go on although the target cannot hold everything.")
]
Map = Annotated[
    str | None,
    typer.Option("--map", metavar="FILE", help="Write old and new ids there, as JSON Lines; - is stdout."),
]
CheckpointFile = Annotated[
    Path | None,
    typer.Option(
        "--checkpoint", metavar="FILE", help="Where progress is noted; else in the user's state folder."
    ),
]


def add_to(app: typer.Typer) -> None:
    """Register the commands."""
    for command in (export, migrate):
        app.command(rich_help_panel=PANEL)(command)


def export(
    store: Exported,
    *,
    scope: ScopeNames = None,
    label: Labels = None,
    output_file: Output = None,
    config: ConfigPath = None,
    as_json: AsJson = False,
) -> None:
    """Write every record, history included, as JSON Lines; `import` reads them.

    Without a scope, all of the store.
    """
    scopes = scopes_of(scope, label) if scope or label else None
    with output(output_file) as write, progress("Exporting", None) as advance:
        count = on_store(config, store, lambda memory: _exported(memory, scopes, write, advance))
    if output_file is not None and as_json:
        print_json({"records": count, "path": output_file})
    else:
        note(f"Exported {count:,} {'record' if count == 1 else 'records'}.")


def migrate(
    source: From,
    target: To,
    *,
    scope: ScopeNames = None,
    label: Labels = None,
    dry_run: DryRun = False,
    accept_loss: AcceptLoss = False,
    map_file: Map = None,
    checkpoint: CheckpointFile = None,
    config: ConfigPath = None,
    as_json: AsJson = False,
) -> None:
    """Copy memories from one store to another, and compare them at the end.

    It refuses first what the target cannot hold. Killed or interrupted, the same command goes on
    where it was.
    """
    if map_file == "-" and as_json:
        usage("--map - and --json both go to stdout; name a file")
    scopes = scopes_of(scope, label) if scope or label else None
    both = _both(load_config(config), source, target)
    if dry_run:
        _print_plan(both, scopes, as_json=as_json)
        return
    path = checkpoint or _checkpoint(both, scopes)
    with output(map_file) if map_file is not None else nullcontext() as write:
        done = _migrated(both, scopes, path, write, accept_loss=accept_loss)
    if as_json:
        print_json(outcome.migrated(done))
    else:
        (note if map_file == "-" else show)(outcome.told("Moved", done))


async def _exported(
    memory: MemoryStore, scopes: Scopes, write: Callable[[str], object], advance: Callable[[int], None]
) -> int:
    """Write the lines; how many records they are."""
    from memhub.export import export_lines

    lines, count = export_lines(memory, scope=scopes), 0
    write(await anext(lines))
    async for line in lines:
        write(line)
        advance(1)
        count += 1
    return count


def _both(config: Config, source: str, target: str) -> Config:
    """The configuration of the two stores. A usage error where they are one."""
    (first,), (second,) = config.only(source).stores, config.only(target).stores
    if first is second:
        usage("--from and --to name the same store; name two")
    if type(first.settings).model_fields and first.settings == second.settings:
        usage(f"{source} and {target} are one place under two names; name two places")
    return replace(config, stores=(first, second))


def _print_plan(both: Config, scopes: Scopes, *, as_json: bool) -> None:
    from memhub.migration import plan_migration

    source, target = (store.name for store in both.stores)
    with outcome.Bars() as bars:
        plan = on_hub(both, lambda hub: plan_migration(hub[source], hub[target], scope=scopes, progress=bars))
    if as_json:
        print_json(outcome.plan(plan))
    else:
        outcome.show_plan(plan)


def _migrated(
    both: Config,
    scopes: Scopes,
    checkpoint: Path,
    write: Callable[[str], object] | None,
    *,
    accept_loss: bool,
) -> Migrated:
    from memhub.migration import migrate

    source, target = (store.name for store in both.stores)

    async def work(hub: Hub) -> Migrated:
        return await migrate(
            hub[source],
            hub[target],
            scope=scopes,
            accept_loss=accept_loss,
            checkpoint=checkpoint,
            progress=bars,
            on_moved=None if write is None else lambda old, new: write(_pair(old, new)),
        )

    try:
        with outcome.Bars() as bars:
            return on_hub(both, work)
    except HubError as error:
        about_checkpoint = error.message.startswith("checkpoint:")
        if not about_checkpoint and os.path.isfile(checkpoint):  # noqa: PTH113 - any name gets an answer
            error.add_note(f"What is done is noted in {checkpoint}; the same command goes on from there.")
        raise


def _pair(old: str, new: str) -> str:
    return json.dumps({"from": old, "to": new}, ensure_ascii=False) + "\n"


def _checkpoint(both: Config, scopes: Scopes) -> Path:
    """The same file for the same command, in the folder for what programs keep between runs."""
    import platformdirs

    names = [store.name for store in both.stores]
    place = str((both.document.folder / both.document.source).absolute())
    about = json.dumps([place, names, sorted(scope.canonical for scope in scopes or ())])
    name = hashlib.sha256(about.encode()).hexdigest()[:16]
    return platformdirs.user_state_path("memhub", appauthor=False) / "migrations" / f"{name}.db"
