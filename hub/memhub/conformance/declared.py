"""Which rules apply: the names that a rule needs or lacks, read off an adapter's capabilities."""

from __future__ import annotations

from collections.abc import Mapping

from memhub import limits
from memhub.capabilities import FACT_FIELDS, FILTERS_ALL, PATCH_FIELDS, TURN_FIELDS, Capabilities, Filters

__all__ = ["declares", "why_not"]


def declares(caps: Capabilities, name: str) -> bool:
    """Whether `caps` hold what `name` says: a name of `Capabilities.has`, or a finer one.

    Finer: `facts.tags`, `turns.at`, `patch.kind`, `filters.time`, `filters.gte` (each also with
    `all`); `verbatim` (facts or turns are kept as given), `extracted_turns`, `several` (three items
    in one observation), `distinct` (equal texts are two records), `search` (any mode), `found`
    (a listing or a search), `full_listing`, `changes` (update, delete or invalidate). Raises KeyError
    for any other name.
    """
    whole, dot, part = name.partition(".")
    if dot:
        return _parts(caps, whole)[part]
    shorthand = _shorthand(caps)
    return shorthand[name] if name in shorthand else caps.has(name)


def why_not(caps: Capabilities, name: str) -> str:
    """The adapter's reason why `name` is missing, or the plain fact."""
    return caps.reasons.get(name.removesuffix(".all"), f"{caps.provider} does not declare it")


def _shorthand(caps: Capabilities) -> Mapping[str, bool]:
    return {
        "verbatim": "verbatim" in (caps.facts, caps.turns),
        "extracted_turns": caps.turns == "extracted",
        "several": caps.atomic_facts >= len(("first", "between", "last")),
        "distinct": caps.duplicates == "kept",
        "search": bool(caps.modes),
        "found": bool(caps.modes) or caps.listing > 0,
        "full_listing": caps.listing >= limits.LIMIT,
        "changes": bool(caps.patch) or caps.delete or caps.invalidation,
    }


def _parts(caps: Capabilities, whole: str) -> Mapping[str, bool]:
    known, held = {
        "facts": (FACT_FIELDS, caps.fact_fields if caps.facts != "no" else frozenset()),
        "turns": (TURN_FIELDS, caps.turn_fields if caps.turns != "no" else frozenset()),
        "patch": (PATCH_FIELDS, caps.patch),
        "filters": (_filters(FILTERS_ALL), _filters(caps.filters)),
    }[whole]
    return {part: part in held for part in known} | {"all": known <= held}


def _filters(filters: Filters) -> frozenset[str]:
    """What works whole: an operator counts once it takes every type that the contract gives it."""
    plain = {name for name in ("kinds", "tags", "time") if getattr(filters, name)}
    whole = {
        operator
        for operator, types in FILTERS_ALL.attributes.items()
        if types <= filters.attributes.get(operator, frozenset())
    }
    if whole == set(FILTERS_ALL.attributes):
        plain.add("attributes")
    return frozenset(plain | whole)
