"""What an adapter declares, once, about the provider it has opened; checked in one place, the hub."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Final, Literal

from memhub import limits
from memhub.errors import Unsupported
from memhub.records import Mode

__all__ = [
    "FACT_FIELDS",
    "FILTERS_ALL",
    "FILTERS_NONE",
    "FULL",
    "PATCH_FIELDS",
    "TURN_FIELDS",
    "Capabilities",
    "Filters",
]

FACT_FIELDS: Final = frozenset(
    {"kind", "tags", "attributes", "target", "payload", "supports", "observed_at", "provenance"}
)
TURN_FIELDS: Final = frozenset({"role", "speaker", "at", "attributes", "tags", "provenance"})
PATCH_FIELDS: Final = frozenset(
    {"content", "kind", "tags", "set_attributes", "remove_attributes", "expires_at"}
)
VALUE_TYPES: Final = frozenset({"string", "number", "boolean"})
EQUALITY: Final = ("eq", "ne", "in", "not_in")
RANGES: Final = ("gt", "gte", "lt", "lte")


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """Which filters of a query work. `attributes` maps an operator to the value types it takes."""

    kinds: bool = False
    tags: bool = False
    time: bool = False
    attributes: Mapping[str, frozenset[str]] = field(default_factory=dict)


FILTERS_NONE: Final = Filters()
FILTERS_ALL: Final = Filters(
    kinds=True,
    tags=True,
    time=True,
    attributes={
        **dict.fromkeys(EQUALITY, VALUE_TYPES),
        "exists": frozenset({"boolean"}),
        **dict.fromkeys(RANGES, frozenset({"number"})),
    },
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """Everything here is a promise that the conformance kit tests in both directions.

    `provider` is the name that errors carry. `modes` is empty where the store cannot search by
    text. `scopes="exact"`: a query for pairs needs `exact=True`. `union`: several scopes in one
    query. `atomic_facts`: most items that one observation stores all or nothing. `listing`:
    largest `limit` without text, 0 for none. `persistent`: False only where nothing is kept.
    `reasons` says, by name, why something is missing.
    """

    provider: str
    modes: tuple[Mode, ...] = ()
    default_mode: Mode | None = None
    scopes: Literal["subset", "exact"] = "exact"
    union: bool = False
    facts: Literal["no", "verbatim"] = "verbatim"
    turns: Literal["no", "verbatim", "extracted"] = "no"
    fact_fields: frozenset[str] = frozenset()
    turn_fields: frozenset[str] = frozenset()
    atomic_facts: int = 1
    duplicates: Literal["kept", "merged"] = "kept"
    filters: Filters = FILTERS_NONE
    patch: frozenset[str] = frozenset()
    delete: bool = False
    revisions: bool = False
    invalidation: bool = False
    supersede: bool = False
    as_of: bool = False
    expiry: bool = False
    idempotency: bool = False
    operations: bool = False
    listing: int = 0
    scan: bool = False
    restore: bool = False
    stats: bool = False
    purge: bool = False
    neighbours: bool = False
    persistent: bool = True
    consistency: Literal["immediate", "eventual"] = "immediate"
    erasure: Literal["complete", "logical"] = "logical"
    reasons: Mapping[str, str] = field(default_factory=dict)

    def has(self, name: str) -> bool:
        """Whether the capability of this name is there: a field's, a mode's, or `update`.

        Raises KeyError for a name that is no capability.
        """
        return bool(getattr(self, name)) if name in _FLAGS else _DERIVED[name](self)

    def why_not(self, name: str) -> str:
        """The adapter's reason why `name` is missing, or the plain fact."""
        return self.reasons.get(name, f"{self.provider} does not offer it")

    def require(self, name: str, *, operation: str, argument: str | None = None) -> None:
        """Raise Unsupported, naming provider, operation and argument, unless `name` is there."""
        if not self.has(name):
            self.refuse(name, operation=operation, argument=argument)

    def refuse(self, name: str, *, operation: str, argument: str | None = None) -> None:
        """Raise Unsupported for `name`, with the adapter's reason."""
        what = f"{operation}({argument})" if argument else operation
        raise Unsupported(
            f"{self.provider} cannot do {what}: {self.why_not(name)}",
            provider=self.provider,
            operation=operation,
        )

    def by_words(self, why: str) -> Capabilities:
        """The same where nothing is searched by meaning, and why."""
        reasons = {**self.reasons, "semantic": why, "hybrid": why}
        return replace(self, modes=("keyword",), default_mode="keyword", reasons=reasons)

    def missing(self, names: Iterable[str]) -> dict[str, str]:
        """Those of `names` that are not there, each with its reason. KeyError for an unknown name."""
        return {name: self.why_not(name) for name in names if not self.has(name)}

    @staticmethod
    def names() -> tuple[str, ...]:
        """Every name that `has`, `missing` and `requires:` understand."""
        return tuple(sorted({*_FLAGS, *_DERIVED}))


_DERIVED: Final[Mapping[str, Callable[[Capabilities], bool]]] = {
    "keyword": lambda caps: "keyword" in caps.modes,
    "semantic": lambda caps: "semantic" in caps.modes,
    "hybrid": lambda caps: "hybrid" in caps.modes,
    "subset_scopes": lambda caps: caps.scopes == "subset",
    "facts": lambda caps: caps.facts != "no",
    "turns": lambda caps: caps.turns != "no",
    "verbatim_turns": lambda caps: caps.turns == "verbatim",
    "batches": lambda caps: caps.atomic_facts >= limits.ITEMS,
    "filters": lambda caps: caps.filters == FILTERS_ALL,
    "update": lambda caps: bool(caps.patch),
    "listing": lambda caps: caps.listing > 0,
    "immediate": lambda caps: caps.consistency == "immediate",
    "complete_erasure": lambda caps: caps.erasure == "complete",
}
_FLAGS: Final = frozenset(f.name for f in fields(Capabilities) if f.type == "bool")


FULL: Final = Capabilities(
    provider="",
    modes=("keyword",),
    default_mode="keyword",
    scopes="subset",
    union=True,
    facts="verbatim",
    turns="verbatim",
    fact_fields=FACT_FIELDS,
    turn_fields=TURN_FIELDS,
    atomic_facts=limits.ITEMS,
    filters=FILTERS_ALL,
    patch=PATCH_FIELDS,
    delete=True,
    revisions=True,
    invalidation=True,
    supersede=True,
    as_of=True,
    expiry=True,
    idempotency=True,
    listing=limits.LIMIT,
    scan=True,
    restore=True,
    stats=True,
    purge=True,
    neighbours=True,
    reasons={
        "operations": "every write is done when it returns",
        "semantic": "it searches by words only",
        "hybrid": "it searches by words only",
    },
)
"""The whole contract by words: what a store of one's own keeps. Say with `replace` what differs."""
