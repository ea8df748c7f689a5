"""`demo`: what memory is for, in one screen."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from memhub import Record, Scope
from memhub.interchange import record_to_json, time_to_json
from memhub.records import Json
from memhub_config.cli import shapes
from memhub_config.cli.options import AsJson, ConfigPath, Labels, ScopeName, optional_scope
from memhub_config.cli.output import note, print_json, show, visible
from memhub_config.cli.running import on_store
from memhub_config.compose import open_hub

if TYPE_CHECKING:
    from rich.console import RenderableType

    from memhub_config.cli.story import Answer, Told

__all__ = ["add_to"]

SCOPE = "memhub-demo"

Kept = Annotated[
    str | None,
    typer.Option("--store", metavar="NAME", help="Tell it to this store and keep it; else nothing stays."),
]


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command(rich_help_panel="Look around")(demo)


def demo(
    *,
    store: Kept = None,
    scope: ScopeName = None,
    label: Labels = None,
    config: ConfigPath = None,
    as_json: AsJson = False,
) -> None:
    """Remember an invented two-week journey, correct a fact, and recall answers."""
    whose = optional_scope(scope, label) or Scope(SCOPE)
    told = _in_passing(whose) if store is None else _kept(config, store, whose)
    if as_json:
        print_json(_shape(told, whose))
        return
    show(*_page(told))
    if store is None:
        note("This was a temporary store, and it is gone. For one that stays: memhub init")
    else:
        if not told.fresh:
            note("This store had heard the story: nothing was written.")
        note(f"It stays in {store}, scope {whose}; `memhub purge` removes it.")


def _in_passing(scope: Scope) -> Told:
    """The story in a SQLite file that is deleted afterwards."""
    from memhub_config.cli.story import play

    async def run(folder: str) -> Told:
        source = {"stores": {"demo": {"sqlite": {"path": str(Path(folder, "demo.db")).replace("$", "$$")}}}}
        async with open_hub(source) as hub:
            return await play(hub["demo"], scope)

    with TemporaryDirectory(prefix="memhub-demo-") as folder:
        return asyncio.run(run(folder))


def _kept(config: Path | None, store: str, scope: Scope) -> Told:
    from memhub_config.cli.story import play

    return on_store(config, store, lambda memory: play(memory, scope))


def _shape(told: Told, scope: Scope) -> dict[str, Json]:
    from memhub.interchange import scope_to_json

    return {
        "scope": scope_to_json(scope),
        "turns": len(told.lines),
        "conversations": told.conversations,
        "noted": [record_to_json(record) for record in told.noted],
        "corrected": {"old": record_to_json(told.old), "new": record_to_json(told.new)},
        "answers": [_answer_shape(answer) for answer in told.answers],
        "fresh": told.fresh,
    }


def _answer_shape(answer: Answer) -> dict[str, Json]:
    return {
        "question": answer.question,
        "as_of": None if answer.as_of is None else time_to_json(answer.as_of),
        "hit": None if answer.hit is None else shapes.hit(answer.hit),
        "replaced": None if answer.replaced is None else record_to_json(answer.replaced),
    }


def _page(told: Told) -> Iterator[RenderableType]:
    from rich.text import Text

    from memhub_config.cli.render import DIM, block, date

    yield Text("Two weeks on the Lantern Coast", style="bold")
    times = [line.turn.at for line in told.lines if line.turn.at is not None]
    speakers = " and ".join(dict.fromkeys(line.turn.speaker or "" for line in told.lines))
    yield Text(f"{speakers}, {date(min(times))} to {date(max(times))}; both invented", style=DIM)
    yield ""
    yield block("remembered", f"{len(told.lines)} turns in {told.conversations} conversations")
    for record in told.noted:
        yield block("noted", record.content)
    yield block("noted", told.old.content, told=f"on {date(told.old.observed_at)}")
    yield block("corrected", told.new.content, told=f"on {date(told.new.observed_at)}")
    for answer in told.answers:
        yield ""
        yield from _answer(answer)


def _answer(answer: Answer) -> Iterator[RenderableType]:
    from rich.text import Text

    from memhub_config.cli.render import DIM, block, date

    asked = Text(answer.question, style="bold")
    yield asked.append(f"  (as of {date(answer.as_of)})", style=f"not bold {DIM}") if answer.as_of else asked
    if answer.hit is None:
        yield block("", "Nothing found.")
        return
    record = answer.hit.record
    yield block("answer", visible(record.content), told=_said(record))
    if answer.replaced is not None:
        yield block("replaced", visible(answer.replaced.content), told=_said(answer.replaced))
    if record.invalid_at is not None:
        yield block("", "", told=f"valid until {date(record.invalid_at)}")


def _said(record: Record) -> str:
    from memhub_config.cli.render import date

    who = visible(record.provenance.author or "")
    return (
        f"said by {who} on {date(record.observed_at)}"
        if who
        else f"a {record.kind}, noted on {date(record.observed_at)}"
    )
