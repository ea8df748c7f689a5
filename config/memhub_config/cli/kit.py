"""`conformance`: a store held to the contract."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memhub_config.cli.options import AsJson, ConfigPath
from memhub_config.cli.output import note, print_json, show, visible
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

    return on_store(config, store, run_conformance)


def _show(report: Report) -> None:
    from memhub_config.cli.render import table

    rows = [
        (result.rule, result.outcome, visible(result.reason or ""))
        for outcome in ("failed", "skipped")
        for result in report.having(outcome)
    ]
    if rows:
        show(table(("RULE", "OUTCOME", "REASON"), rows), "")
    counts = [f"{len(report.having(outcome)):,} {outcome}" for outcome in ("passed", "failed", "skipped")]
    show(visible(f"{report.store} ({report.provider}): {', '.join(counts)}"))
    for left in report.left:
        note(f"Left behind: {left}")
