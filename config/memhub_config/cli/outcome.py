"""What a migration will do, what came of it, and how far it is: as JSON, as text, as bars."""

from __future__ import annotations

from contextlib import ExitStack
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from memhub.records import Json
from memhub_config.cli.output import progress, show, visible

if TYPE_CHECKING:
    from memhub.migration import Migrated, Plan, Progress

__all__ = ["Bars", "migrated", "plan", "show_plan", "told"]

TITLES: Final = {"plan": "Reading", "copy": "Copying", "verify": "Comparing"}


def plan(found: Plan) -> dict[str, Json]:
    """A plan, in records."""
    losses: list[Json] = [
        {"name": loss.name, "records": loss.records, "meaning": loss.meaning, "reason": loss.reason}
        for loss in found.losses
    ]
    return {
        "source": found.source,
        "target": found.target,
        "method": found.method,
        "records": found.records,
        "moving": found.moving,
        "losses": losses,
    }


def migrated(found: Migrated) -> dict[str, Json]:
    """What came of a plan, in records."""
    return {
        "plan": plan(found.plan),
        "moved": found.moved,
        "left_out": found.left_out,
        "renamed": found.renamed,
        "passes": found.passes,
    }


def show_plan(found: Plan) -> None:
    """A plan for people: the counts, then each loss with what becomes of the records, and why."""
    from memhub_config.cli.render import table

    how = "complete, as they are" if found.method == "restore" else "remembered anew"
    show(visible(f"{found.source}: {found.records:,} records; {found.moving:,} go to {found.target}, {how}."))
    if not found.losses:
        show("Nothing is lost.")
        return
    rows = [(loss.name, f"{loss.records:,}", loss.meaning, visible(loss.reason)) for loss in found.losses]
    show("", table(("LOSS", "RECORDS", "WHAT BECOMES OF THEM", "WHY"), rows, right="RECORDS"))


def told(verb: str, found: Migrated) -> str:
    """What came of it in a sentence."""
    parts = [f"{verb} {found.moved:,} {'record' if found.moved == 1 else 'records'}"]
    if found.left_out:
        parts.append(f"{found.left_out:,} left out")
    if found.renamed:
        parts.append(f"{found.renamed:,} under new ids")
    return f"{'; '.join(parts)}. All were compared with the source."


class Bars:
    """Progress of a migration on stderr: one bar a phase."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._phase = ""
        self._done = 0

    def __call__(self, event: Progress) -> None:
        """Show how far it is."""
        if event.phase != self._phase:
            self._stack.close()
            self._advance = self._stack.enter_context(progress(TITLES[event.phase], event.total))
            self._phase, self._done = event.phase, 0
        self._advance(event.done - self._done)
        self._done = event.done

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()
