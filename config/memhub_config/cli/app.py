"""The command as a whole: its parts, its exit codes, and how it tells of failures."""

from __future__ import annotations

import logging
import sys
from typing import Annotated, Final

import typer

from memhub import HubError, __version__
from memhub.records import Json
from memhub_config.cli import (
    bringing,
    changing,
    demo,
    keeping,
    kit,
    looking,
    moving,
    recalling,
    remembering,
    serving,
    setting_up,
    shapes,
    tailing,
)
from memhub_config.cli.options import USAGE_ERROR
from memhub_config.cli.output import GonePipe, note, note_json, open_streams, show
from memhub_config.settings import process_settings

__all__ = ["app", "run"]

OURS: Final = 1
USAGE: Final = 2
INTERRUPTED: Final = 130
PIPE_GONE: Final = 141

app = typer.Typer(
    name="memhub",
    help="One long-term memory interface for AI products; a line of YAML decides where memories live.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)
for part in (
    setting_up,
    remembering,
    bringing,
    recalling,
    changing,
    looking,
    moving,
    keeping,
    tailing,
    serving,
    kit,
    demo,
):
    part.add_to(app)


def _version(asked: bool) -> None:
    if asked:
        show(f"memhub {__version__}")
        raise typer.Exit


@app.callback()
def _start(
    *,
    version: Annotated[  # noqa: ARG001 - its callback has ended the command
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    level = process_settings().log_level
    logging.basicConfig(stream=sys.stderr, format="%(levelname)s %(name)s: %(message)s")
    logging.getLogger("memhub").setLevel(level.upper())


def run(arguments: list[str]) -> int:
    """Run one command; the exit code."""
    open_streams()
    try:
        return _run(arguments)
    except GonePipe:
        return PIPE_GONE


def _run(arguments: list[str]) -> int:
    as_json = "--json" in arguments
    try:
        code = app(args=arguments, prog_name="memhub", standalone_mode=False)
    except HubError as error:
        return _told(error, as_json=as_json)
    except ExceptionGroup as group:
        return _told_group(group, as_json=as_json)
    except USAGE_ERROR as error:
        return _told_usage(error, as_json=as_json)
    except (KeyboardInterrupt, typer.Abort):
        note("Interrupted.")
        return INTERRUPTED
    if code == INTERRUPTED:
        note("Interrupted.")
    return code if isinstance(code, int) else 0


def _told(error: HubError, *, as_json: bool) -> int:
    text = "\n".join([f"error [{error.code}] {error}", *getattr(error, "__notes__", ())])
    _tell(shapes.error(error), text, as_json=as_json)
    return OURS


def _told_group(group: ExceptionGroup, *, as_json: bool) -> int:
    for error in group.exceptions:
        if not isinstance(error, HubError):
            raise group
        _told(error, as_json=as_json)
    return OURS


def _told_usage(error: Exception, *, as_json: bool) -> int:
    message = error.format_message() if hasattr(error, "format_message") else str(error)
    context = getattr(error, "ctx", None)
    if type(error).__name__ == "NoArgsIsHelpError":
        note(message)
        return USAGE
    path = context.command_path if context is not None else "memhub"
    _tell({"code": "usage", "message": message}, f"{path}: {message}\nTry `{path} --help`.", as_json=as_json)
    return USAGE


def _tell(error: Json, text: str, *, as_json: bool) -> None:
    if as_json:
        note_json({"error": error})
    else:
        note(text)
