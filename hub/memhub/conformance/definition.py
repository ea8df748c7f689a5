"""A rule: one promise of the contract, as a plain async function with the capabilities it is about."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from memhub.capabilities import Capabilities
from memhub.conformance.context import Context
from memhub.conformance.declared import declares, why_not

__all__ = ["Check", "Rule", "Tier", "rule"]

Check = Callable[[Context], Awaitable[None]]
Tier = Literal[1, 2]


@dataclass(frozen=True, slots=True)
class Rule:
    """One promise. `summary` is its sentence, `topic` the module it stands in."""

    name: str
    topic: str
    summary: str
    check: Check
    needs: tuple[str, ...]
    lacks: tuple[str, ...]
    tier: Tier
    fresh: bool

    def why_skipped(self, caps: Capabilities, *, live: bool = False) -> str | None:
        """Why the rule says nothing about an adapter that declares `caps`; None where it applies."""
        for name in self.needs:
            if not declares(caps, name):
                return f"needs {name}: {why_not(caps, name)}"
        for name in self.lacks:
            if declares(caps, name):
                return f"is for adapters without {name}"
        return "needs a store of its own, not one in use" if self.fresh and live else None


def rule(
    *, needs: Iterable[str] = (), lacks: Iterable[str] = (), tier: Tier = 2, fresh: bool = False
) -> Callable[[Check], Rule]:
    """Make an async function of one Context a rule. Its name and docstring become the rule's.

    `needs` and `lacks` name capabilities: what `Capabilities.has` understands, and finer ones such
    as `facts.tags`, `patch.kind` or `filters.gte`. A rule with needs also needs `persistent`,
    unless it lacks it. Tier 1 holds for every adapter that keeps anything. `fresh` rules close
    the store or touch all of it, so a store in use is spared them. Raises KeyError for an unknown
    name, ValueError for a function without a docstring.
    """
    wanted, absent = tuple(needs), tuple(lacks)
    if wanted and "persistent" not in absent:
        wanted = ("persistent", *wanted)
    for name in (*wanted, *absent):
        declares(Capabilities(provider=""), name)

    def made(check: Check) -> Rule:
        name, topic = check.__name__, check.__module__.rpartition(".")[2]
        summary = (check.__doc__ or "").strip().partition("\n")[0]
        if not summary:
            raise ValueError(f"rule {name} has no docstring; say in one sentence what it promises")
        return Rule(name, topic, summary, check, wanted, absent, tier, fresh)

    return made
