"""`import`: a conversation, or the records of an export, from a file or stdin."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO, Final

import typer

from memhub import InvalidInput, MemoryStore, Scope
from memhub.limits import ITEMS
from memhub_config.cli import outcome, shapes
from memhub_config.cli.conversation import Line, conversations, read_lines
from memhub_config.cli.importing import BATCH, import_turns, told
from memhub_config.cli.options import AsJson, Chosen, ConfigPath, Labels, ScopeName, scope_of, usage
from memhub_config.cli.output import on_terminal, print_json, progress, show
from memhub_config.cli.running import on_store
from memhub_config.cli.streams import seekable

if TYPE_CHECKING:
    from memhub.migration import Migrated

__all__ = ["add_to"]

FORMATS: Final = ("conversation", "records")
FIRST_LINE: Final = 65_536
"""Bytes of a first line that are looked at; the header of an export is far shorter."""

File = Annotated[str, typer.Argument(metavar="FILE", help="JSON Lines; - is stdin.")]
Format = Annotated[
    str | None,
    typer.Option("--format", metavar="FORMAT", help=f"{' or '.join(FORMATS)}; the first line tells it."),
]
Conversation = Annotated[
    str | None,
    typer.Option("--conversation", metavar="ID", help="For lines that name no conversation_id."),
]
Batch = Annotated[
    int | None, typer.Option("--batch", metavar="N", help=f"Turns written at once; 1 to {ITEMS}.")
]
AcceptLoss = Annotated[
    bool, typer.Option("--accept-loss", help="Import records although the store cannot hold all of them.")
]


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command("import", rich_help_panel="Remember")(import_file)


def import_file(
    file: File = "-",
    *,
    format: Format = None,
    scope: ScopeName = None,
    label: Labels = None,
    conversation: Conversation = None,
    batch: Batch = None,
    accept_loss: AcceptLoss = False,
    store: Chosen = None,
    config: ConfigPath = None,
    as_json: AsJson = False,
) -> None:
    """Import JSON Lines: a conversation into a scope, or the records of an export.

    A repeat writes only what is new. All lines are checked before any is written. In a
    conversation each line is an object with role and content, and where known speaker, at,
    conversation_id, tags and attributes. Records carry their scopes with them.
    """
    if file == "-" and on_terminal():
        usage("no file; name one, or send the lines to stdin")
    source = "stdin" if file == "-" else file
    with seekable(file) as stream:
        if _is_records(stream, format):
            if scope or label or conversation or batch:
                usage("records carry their own scope; leave out --scope, --label, --conversation and --batch")
            _import_records(stream, source, config, store, accept_loss=accept_loss, as_json=as_json)
            return
        if accept_loss:
            usage("--accept-loss is for records; a conversation is refused before any of it is written")
        whose, size = scope_of(scope, label), BATCH if batch is None else batch
        if not 1 <= size <= ITEMS:
            usage(f"--batch: must be 1 to {ITEMS}")
        grouped = _conversations(stream.read(), source, conversation)
    _import_turns(grouped, whose, config, store, batch=size, as_json=as_json)


def _is_records(stream: BinaryIO, named: str | None) -> bool:
    """Whether the file holds records: as `--format` says, else as its first line does."""
    from memhub.export import is_export

    if named is not None and named not in FORMATS:
        usage(f"--format: must be {' or '.join(FORMATS)}")
    first = stream.readline(FIRST_LINE)
    stream.seek(0)
    return is_export(first) if named is None else named == "records"


def _import_turns(
    grouped: dict[str, list[Line]],
    whose: Scope,
    config: Path | None,
    store: str | None,
    *,
    batch: int,
    as_json: bool,
) -> None:
    with progress("Importing", sum(map(len, grouped.values()))) as advance:
        tally = on_store(
            config, store, lambda memory: import_turns(memory, whose, grouped, batch=batch, advance=advance)
        )
    if as_json:
        print_json(shapes.tally(tally))
    else:
        show(told(tally))


def _import_records(
    stream: BinaryIO,
    source: str,
    config: Path | None,
    store: str | None,
    *,
    accept_loss: bool,
    as_json: bool,
) -> None:
    from memhub.export import ExportFile
    from memhub.migration import move

    async def work(memory: MemoryStore) -> Migrated:
        memory.capabilities.require("restore", operation="import", argument="records")
        return await move(ExportFile(stream, source), memory, accept_loss=accept_loss, progress=bars)

    with outcome.Bars() as bars:
        done = on_store(config, store, work)
    if as_json:
        print_json(outcome.migrated(done))
    else:
        show(outcome.told("Imported", done))


def _conversations(raw: bytes, source: str, default: str | None) -> dict[str, list[Line]]:
    lines: Sequence[Line] = read_lines(raw, source)
    if not lines:
        raise InvalidInput(f"{source}: holds no turns")
    return conversations(lines, default)
