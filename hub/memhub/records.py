"""What goes in and what comes out: frozen dataclasses, no behaviour beyond reading themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import Final, Literal

from memhub import limits
from memhub.scope import Scope

__all__ = [
    "KINDS",
    "MODES",
    "ROLES",
    "UNSET",
    "Attributes",
    "Fact",
    "Hit",
    "Json",
    "Kind",
    "Mode",
    "Observation",
    "Observed",
    "Operation",
    "Page",
    "Patch",
    "Provenance",
    "Query",
    "Recalled",
    "Record",
    "Restored",
    "Role",
    "ScopeCount",
    "Stats",
    "Turn",
    "Unset",
    "Why",
]

Scalar = str | int | float | bool
Attributes = Mapping[str, "Scalar | Sequence[Scalar]"]
Json = str | int | float | bool | None | Sequence["Json"] | Mapping[str, "Json"]
Kind = Literal["fact", "preference", "episode", "profile"]
Role = Literal["system", "user", "assistant", "tool"]
Mode = Literal["keyword", "semantic", "hybrid"]

KINDS: Final[tuple[Kind, ...]] = ("fact", "preference", "episode", "profile")
MODES: Final[tuple[Mode, ...]] = ("keyword", "semantic", "hybrid")
ROLES: Final[tuple[Role, ...]] = ("system", "user", "assistant", "tool")


class Unset(Enum):
    """The type of UNSET: an argument that was not given, where None means something."""

    UNSET = "unset"

    def __repr__(self) -> str:
        return "UNSET"


UNSET: Final = Unset.UNSET


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a memory came from. `role` is set from each turn; a caller leaves it out."""

    conversation_id: str | None = None
    run_id: str | None = None
    author: str | None = None
    role: str | None = None


@dataclass(frozen=True, slots=True)
class Fact:
    """A deliberate memory, stored exactly as given.

    `supersedes` names a record of exactly the same scope that this one corrects.
    `target`, `payload` and `supports` are reserved: stored and returned untouched.
    """

    content: str
    kind: Kind = field(default="fact", kw_only=True)
    tags: Sequence[str] = field(default=(), kw_only=True)
    attributes: Attributes = field(default_factory=dict, kw_only=True)
    supersedes: str | None = field(default=None, kw_only=True)
    expires_at: datetime | None = field(default=None, kw_only=True)
    target: str | None = field(default=None, kw_only=True)
    payload: Json = field(default=None, kw_only=True)
    supports: Sequence[str] = field(default=(), kw_only=True)


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of a conversation. `speaker` is the person or agent, `at` when it was said."""

    role: Role
    content: str
    speaker: str | None = field(default=None, kw_only=True)
    at: datetime | None = field(default=None, kw_only=True)
    attributes: Attributes = field(default_factory=dict, kw_only=True)
    tags: Sequence[str] = field(default=(), kw_only=True)


@dataclass(frozen=True, slots=True)
class Observation:
    """What to remember in one scope: facts or turns, never both, all or nothing."""

    scope: Scope
    facts: Sequence[Fact] = field(default=(), kw_only=True)
    turns: Sequence[Turn] = field(default=(), kw_only=True)
    observed_at: datetime | None = field(default=None, kw_only=True)
    provenance: Provenance | None = field(default=None, kw_only=True)
    idempotency_key: str | None = field(default=None, kw_only=True)


@dataclass(frozen=True, slots=True)
class Query:
    """What to recall. Without `text`: a listing, newest first. `limit` is of the merged result.

    `where` compares attributes: `{"lang": "en", "n": {"gte": 3}, "city": {"in": ["Porto"]}}`.
    """

    scope: Scope | Sequence[Scope]
    text: str | None = field(default=None, kw_only=True)
    limit: int = field(default=limits.DEFAULT_LIMIT, kw_only=True)
    kinds: Sequence[Kind] = field(default=(), kw_only=True)
    tags: Sequence[str] = field(default=(), kw_only=True)
    where: Mapping[str, object] = field(default_factory=dict, kw_only=True)
    since: datetime | None = field(default=None, kw_only=True)
    until: datetime | None = field(default=None, kw_only=True)
    as_of: datetime | None = field(default=None, kw_only=True)
    include_invalidated: bool = field(default=False, kw_only=True)
    exact: bool = field(default=False, kw_only=True)
    mode: Mode | None = field(default=None, kw_only=True)
    explain: bool = field(default=False, kw_only=True)
    cursor: str | None = field(default=None, kw_only=True)


@dataclass(frozen=True, slots=True)
class Patch:
    """What to change. What is not given stays; `expires_at=None` clears it."""

    content: str | Unset = field(default=UNSET, kw_only=True)
    kind: Kind | Unset = field(default=UNSET, kw_only=True)
    tags: Sequence[str] | Unset = field(default=UNSET, kw_only=True)
    set_attributes: Attributes = field(default_factory=dict, kw_only=True)
    remove_attributes: Sequence[str] = field(default=(), kw_only=True)
    expires_at: datetime | Unset | None = field(default=UNSET, kw_only=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One memory as it is stored. Times are aware UTC datetimes.

    `position` is its place in its observation (0 first): the listing order's third key.
    `revision` changes with every stored change and is compared, never ordered.
    """

    id: str
    scope: Scope
    kind: Kind
    content: str
    tags: tuple[str, ...] = ()
    attributes: Attributes = field(default_factory=dict)
    provenance: Provenance = Provenance()
    created_at: datetime
    updated_at: datetime
    observed_at: datetime
    invalid_at: datetime | None = None
    invalid_reason: str | None = None
    supersedes: str | None = None
    superseded_by: str | None = None
    expires_at: datetime | None = None
    revision: str
    position: int = 0
    target: str | None = None
    payload: Json = None
    supports: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Why:
    """Why a record was recalled: what each part added to its score.

    `words` are the query's words found in the record itself; `neighbour` those found only in the
    turn before it; `following`, `speaker` and `session` what those boosts added.
    """

    words: Mapping[str, float] = field(default_factory=dict)
    neighbour: Mapping[str, float] = field(default_factory=dict)
    following: float = 0.0
    speaker: float = 0.0
    session: float = 0.0
    semantic: float = 0.0


@dataclass(frozen=True, slots=True)
class Hit:
    """A recalled record. `score` is advisory (0.0 in a listing); `why` only when asked for."""

    record: Record
    score: float = 0.0
    why: Why | None = None


@dataclass(frozen=True, slots=True)
class Recalled:
    """`cursor` is None on the last page, and always with text."""

    hits: tuple[Hit, ...] = ()
    cursor: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """Work that the provider has accepted and not finished. Its id survives a restart."""

    id: str
    status: Literal["pending", "succeeded", "failed"] = "pending"
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """`replayed`: the idempotency key had been seen. `persisted`: False only where nothing is kept."""

    records: tuple[Record, ...] = ()
    operation: Operation | None = None
    persisted: bool = True
    replayed: bool = False


@dataclass(frozen=True, slots=True)
class Page:
    """A page of a scan: records in the order they were written; `cursor` None on the last."""

    records: tuple[Record, ...] = ()
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class Restored:
    """`ids` maps each given id to the id it has here, in the order given."""

    ids: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeCount:
    """How many records one exact scope holds."""

    scope: Scope
    live: int
    invalidated: int = 0
    expired: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """Counts now. An expired record counts as expired even if it is also invalidated.

    `bytes` is the store's own size, None where unknown. `erasure_pending`: deleted text is still
    held back in the store's files by a reader. `scopes` is filled only when asked for.
    """

    live: int
    invalidated: int = 0
    expired: int = 0
    bytes: int | None = None
    erasure_pending: bool = False
    scopes: tuple[ScopeCount, ...] = ()
