"""What a run came to: one result a rule, as plain dataclasses with a JSON form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from memhub.records import Json

__all__ = ["Outcome", "Report", "Result"]

Outcome = Literal["passed", "failed", "skipped"]


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one rule. `reason` says why it failed or was skipped, None where it passed."""

    rule: str
    outcome: Outcome
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A run over one store. `left` names what could not be removed afterwards, and why."""

    store: str
    provider: str
    results: tuple[Result, ...]
    left: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether no rule failed."""
        return not self.having("failed")

    def having(self, outcome: Outcome) -> tuple[Result, ...]:
        """The results with this outcome, in the order of the rules."""
        return tuple(result for result in self.results if result.outcome == outcome)

    def to_json(self) -> dict[str, Json]:
        """The report as an object that `json.dumps` takes.

        `passed`, `failed` and `skipped` each list objects with `rule` and `reason`.
        """
        outcomes: tuple[Outcome, ...] = ("passed", "failed", "skipped")
        lists: dict[str, Json] = {
            outcome: [{"rule": one.rule, "reason": one.reason} for one in self.having(outcome)]
            for outcome in outcomes
        }
        return {
            "store": self.store,
            "provider": self.provider,
            "ok": self.ok,
            **lists,
            "left": list(self.left),
        }
