"""Adapter: the small thing that a provider implements, and the requests it receives.

The hub has validated, completed and stamped every request before an adapter sees it, and has
refused what the adapter does not declare. So an adapter checks no input, reads no clock, retries
nothing and wraps nothing: it raises the provider's own errors and names them in `translate`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from memhub.capabilities import Capabilities
from memhub.errors import HubError
from memhub.records import (
    Fact,
    Kind,
    Mode,
    Observed,
    Page,
    Patch,
    Provenance,
    Recalled,
    Record,
    Restored,
    Stats,
    Turn,
)
from memhub.scope import Scope

if TYPE_CHECKING:
    from memhub.upkeep import Progress, Upkeep

__all__ = ["Adapter", "Read", "Write"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """An observation, validated and completed. `digest` covers what the caller gave.

    `memhub.changes.new_records(write)` makes the records that a verbatim adapter stores.
    """

    scope: Scope
    facts: tuple[Fact, ...] = ()
    turns: tuple[Turn, ...] = ()
    observed_at: datetime
    provenance: Provenance
    idempotency_key: str | None
    digest: str
    now: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """A query, validated and completed.

    `text` is None for a listing; otherwise it holds at least one word. `where` is normalised:
    every condition is `{field: {operator: value}}`, see `memhub.filters`. `cursor` is the
    adapter's own position text. `moment` is what validity is judged at: `as_of`, else `now`.
    """

    scopes: tuple[Scope, ...]
    exact: bool
    text: str | None
    limit: int
    kinds: tuple[Kind, ...]
    tags: tuple[str, ...]
    where: dict[str, dict[str, object]]
    since: datetime | None
    until: datetime | None
    as_of: datetime | None
    include_invalidated: bool
    mode: Mode | None
    explain: bool
    cursor: str | None
    now: datetime

    @property
    def moment(self) -> datetime:
        """The instant at which a record must be valid and unexpired."""
        return self.as_of or self.now


class Adapter(ABC):
    """One provider. Methods that a provider lacks stay as they are: the hub never calls them.

    Ids that are not held, and records expired at `now`, raise NotFound (`get` leaves them out).
    A given `revision` that is not the record's raises Conflict; NotFound is judged first.
    Constructors start no thread, task or connection; `aclose` works twice and without use.
    An adapter may be used from several threads and event loops.
    """

    capabilities: Capabilities

    @abstractmethod
    async def observe(self, write: Write) -> Observed:
        """Store all of it or nothing; a known key with an equal digest returns the stored records."""

    @abstractmethod
    async def recall(self, read: Read) -> Recalled:
        """Filter before cutting to `limit`; order as the contract says."""

    @abstractmethod
    async def get(self, ids: Sequence[str], *, now: datetime) -> list[Record]:
        """The records among these that are held and not expired, in the order of `ids`."""

    async def update(self, id: str, patch: Patch, *, revision: str | None, now: datetime) -> Record:
        """Apply `memhub.changes.patched` in one step; return the new record."""
        raise NotImplementedError

    async def invalidate(self, id: str, reason: str | None, *, revision: str | None, now: datetime) -> Record:
        """Hide and keep; a repeat returns the record unchanged."""
        raise NotImplementedError

    async def delete(self, id: str, *, revision: str | None, now: datetime) -> None:
        """Forget the record, expired ones too, and unlink it from its chain."""
        raise NotImplementedError

    async def wait(self, operation_id: str, *, now: datetime) -> Observed:
        """Return when the operation is done; the hub sets the deadline by cancelling."""
        raise NotImplementedError

    async def scan(self, cursor: str | None, limit: int, *, now: datetime) -> Page:
        """Every record once, invalidated and expired ones too; those of one scope in the order written."""
        raise NotImplementedError

    async def restore(self, records: Sequence[Record], *, now: datetime) -> Restored:
        """Write complete records, all or nothing. One held already and equal is skipped."""
        raise NotImplementedError

    async def stats(self, scope: Scope | None, *, by_scope: bool, now: datetime) -> Stats:
        """Counts of what `scope` covers, of everything when None."""
        raise NotImplementedError

    async def purge(self, scope: Scope, *, exact: bool, now: datetime) -> int:
        """Remove what `scope` covers, ledger and operations included; return how many records."""
        raise NotImplementedError

    @abstractmethod
    async def ping(self) -> None:
        """Return when the provider answers; raise when it does not."""

    @abstractmethod
    async def aclose(self) -> None:
        """Release what this adapter itself opened."""

    async def reembed(self, progress: Progress | None = None) -> int:
        """Make every vector anew with this adapter's embedder, going on where another run stopped.

        Returns how many records were embedded. Needed where `semantic` is among the modes.
        """
        raise NotImplementedError

    def upkeep(self) -> Upkeep | None:
        """What looks after the provider's own files, where it has any."""
        return None

    def translate(self, error: Exception) -> HubError | None:
        """The contract's error for a native one; None for an error that is not the provider's.

        Set `__cause__` only to what can hold no secret.
        """
        return None
