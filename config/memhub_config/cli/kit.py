"""`conformance`: a store held to the contract."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memhub_config.cli.options import AsJson, ConfigPath
from memhub_config.cli.output import note, print_json, progress, show, visible
from memhub_config.cli.running import on_store

if TYPE_CHECKING:
    from memhub.conformance import Report

__all__ = ["add_to"]


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command(rich_help_panel="Set up")(conformance)


def conformance(
    store: Annotated[str, typer.Argument(metavar="STORE", help="The store; it stays in use meanwhile.")],
    *,
    config: ConfigPath = None,
    as_json: AsJson = False,
) -> None:
    """Hold a live store to every rule of the contract.

    It works in scopes of its own and removes them again. Exits 1 if a rule is broken.
    """
    report = _report(config, store)
    if as_json:
        print_json(report.to_json())
    else:
        _show(report)
    if not report.ok:
        raise typer.Exit(1)


def _report(config: Path | None, store: str) -> Report:
    from memhub.conformance import run_conformance

    with progress("Running rules", None) as advance:
        return on_store(config, store, lambda memory: run_conformance(memory, on_result=lambda _: advance(1)))


def _show(report: Report) -> None:
    from memhub_config.cli.render import block

    for result in report.having("failed"):
        show(block("failed", visible(result.rule), told=visible(result.reason or "")))
    passed, failed, skipped = (len(report.having(outcome)) for outcome in ("passed", "failed", "skipped"))
    show(f"{visible(report.store)} ({report.provider}): {passed} passed, {failed} failed, {skipped} skipped")
    if skipped:
        note("What was skipped, and why, is told with --json.")
    for left in report.left:
        note(f"Left behind: {left}")
