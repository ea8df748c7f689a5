"""The rules, topic by topic: each module is one topic, each function one promise."""

from __future__ import annotations

from types import ModuleType
from typing import Final

from memhub.conformance.context import Context
from memhub.conformance.definition import Rule, rule
from memhub.conformance.expect import true
from memhub.conformance.rules import (
    atomicity,
    bad_input,
    concurrency,
    expiry,
    filters,
    forgetting,
    history,
    hosts,
    idempotency,
    lifecycle,
    limits,
    listing,
    neighbours,
    restore,
    revisions,
    round_trip,
    scopes,
    search,
    supersede,
    turns,
    undeclared_reads,
    undeclared_verbs,
    undeclared_writes,
    updates,
)

__all__ = ["RULES"]

TOPICS: Final[tuple[ModuleType, ...]] = (
    round_trip,
    turns,
    scopes,
    listing,
    filters,
    search,
    neighbours,
    updates,
    revisions,
    history,
    supersede,
    expiry,
    forgetting,
    idempotency,
    atomicity,
    concurrency,
    hosts,
    restore,
    limits,
    bad_input,
    lifecycle,
    undeclared_writes,
    undeclared_reads,
    undeclared_verbs,
)


@rule(tier=1)
async def the_kit_has_something_to_test(ctx: Context) -> None:
    """Something can be written and read back, or the store says that it keeps nothing."""
    about = [one for one in _RULES if one.tier == 1 and one.needs and not one.why_skipped(ctx.caps)]
    true(
        about or not ctx.caps.persistent,
        "no rule of tier 1 applies: the store declares neither facts nor turns",
    )


_RULES: Final = tuple(one for topic in TOPICS for one in vars(topic).values() if isinstance(one, Rule))
RULES: Final[tuple[Rule, ...]] = (the_kit_has_something_to_test, *_RULES)
