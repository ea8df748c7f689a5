"""`backup`, `restore`, `reindex`, `reembed`, `compact`: looking after a store's own files and indexes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from memhub_config.cli.options import AsJson, ConfigPath, usage
from memhub_config.cli.output import on_terminal, print_json, progress, show, visible
from memhub_config.cli.running import on_store

__all__ = ["add_to"]

PANEL = "Look after files"

Store = Annotated[str, typer.Argument(metavar="STORE", help="The store; it may be in use.")]
Optional = Annotated[
    str | None,
    typer.Argument(metavar="[STORE]", help="The store; may be left out where the configuration has one."),
]
Target = Annotated[Path, typer.Argument(metavar="FILE", help="A new file.")]
Backup = Annotated[Path, typer.Argument(metavar="FILE", help="A file that `backup` made.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask; needed where nobody can answer.")]


def add_to(app: typer.Typer) -> None:
    """Register the commands."""
    for command in (backup, restore, reindex, reembed, compact):
        app.command(rich_help_panel=PANEL)(command)


def backup(store: Store, file: Target, *, config: ConfigPath = None, as_json: AsJson = False) -> None:
    """Copy a store, as it is at one moment, to a new file, and verify the copy."""
    with progress("Backing up", None) as advance:
        on_store(config, store, lambda memory: memory.upkeep().backup(file, progress=_steps(advance)))
    if as_json:
        print_json({"store": store, "path": str(file)})
    else:
        show(visible(f"Backed up {store} to {file}."))


def restore(
    store: Store,
    file: Backup,
    *,
    yes: Yes = False,
    config: ConfigPath = None,
    as_json: AsJson = False,
) -> None:
    """Replace all that a store holds by a backup, which is verified first."""
    _confirm(f"Replace everything in {visible(store)} by {visible(str(file))}?", yes=yes)
    with progress("Restoring", None) as advance:
        on_store(config, store, lambda memory: memory.upkeep().restore_backup(file, progress=_steps(advance)))
    if as_json:
        print_json({"store": store, "path": str(file)})
    else:
        show(visible(f"Restored {store} from {file}."))


def reindex(store: Optional = None, *, config: ConfigPath = None, as_json: AsJson = False) -> None:
    """Rebuild the index of a store from its records."""
    count = on_store(config, store, lambda memory: memory.upkeep().reindex())
    if as_json:
        print_json({"reindexed": count})
    else:
        show(f"Reindexed {count:,} {'record' if count == 1 else 'records'}.")


def reembed(store: Store, *, config: ConfigPath = None, as_json: AsJson = False) -> None:
    """Make every vector of a store anew with the embedder that it is configured with.

    Needed after the embedder has been changed. Interrupted, it goes on where it was.
    """
    with progress("Embedding", None) as advance:
        count = on_store(
            config, store, lambda memory: memory.reembed(progress=_steps(advance)), reembedding=True
        )
    if as_json:
        print_json({"reembedded": count})
    else:
        show(f"Embedded {count:,} {'record' if count == 1 else 'records'}.")


def compact(store: Optional = None, *, config: ConfigPath = None, as_json: AsJson = False) -> None:
    """Rewrite a store's files, so that nothing deleted is left in their unused space."""
    on_store(config, store, lambda memory: memory.upkeep().compact())
    if as_json:
        print_json({"compacted": True})
    else:
        show("Compacted.")


def _confirm(question: str, *, yes: bool) -> None:
    """Go on after `--yes`, or a yes on a terminal; a usage error where nobody can be asked."""
    if yes:
        return
    if not on_terminal():
        usage("it cannot be undone; give --yes")
    typer.confirm(question, abort=True, err=True)


def _steps(advance: Callable[[int], None]) -> Callable[[int, int], None]:
    """What is done in all, told as what is done since."""
    before = 0

    def step(done: int, _total: int) -> None:
        nonlocal before
        advance(done - before)
        before = done

    return step
