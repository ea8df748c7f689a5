"""What a target can hold of a record, by what it declares: the rest is named, never dropped unseen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from memhub.capabilities import Capabilities
from memhub.changes import expired
from memhub.errors import Unsupported
from memhub.records import Provenance, Record

__all__ = ["MEANINGS", "Fit", "Fitted", "reason"]

MEANINGS: Final[Mapping[str, str]] = {
    "facts": "left out, since the target takes no facts",
    "history": "left out, since they are superseded or invalidated",
    "expired": "left out, since they have expired",
    "restore": "get new ids, and the time of the move as created_at and updated_at",
    "links": "lose supersedes and superseded_by",
    "kind": "become plain facts",
    "tags": "lose their tags",
    "attributes": "lose their attributes",
    "provenance": "lose their conversation_id, run_id and author",
    "role": "lose their role: turns of a conversation become facts",
    "observed_at": "lose the time at which they were observed",
    "expires_at": "lose their expiry and are kept for good",
    "target": "lose their target",
    "payload": "lose their payload",
    "supports": "lose what they support",
    "scopes": "are found by their exact scope alone, no longer by a part of it",
    "duplicates": "left out, since their scope has another record of the same text",
}
"""What becomes of the records that a loss affects, by the loss's name."""

_CAPABILITY: Final[Mapping[str, str]] = {
    "history": "invalidation",
    "expired": "expiry",
    "links": "supersede",
    "expires_at": "expiry",
    "role": "turns",
    "scopes": "subset_scopes",
}
_RESTORED: Final = frozenset({"history", "expired", "links"})
_BLANK: Final[Mapping[str, object]] = {
    "kind": "fact",
    "tags": (),
    "attributes": {},
    "target": None,
    "payload": None,
    "supports": (),
}
_OF_TURNS: Final = ("tags", "attributes")
_OF_FACTS_ALONE: Final[Mapping[str, object]] = {
    "kind": "episode",
    "target": None,
    "payload": None,
    "supports": (),
    "expires_at": None,
}
_TIMES: Final = frozenset({"created_at", "updated_at", "position"})


@dataclass(frozen=True, slots=True)
class Fitted:
    """A record as a target can hold it, None where it cannot; `lost` names what that costs."""

    record: Record | None
    lost: tuple[str, ...] = ()


class Fit:
    """What an opened target can hold of each record.

    Where it restores, records come with their history. Elsewhere they are observed anew: the live
    ones, turns as turns where that loses nothing, everything else as facts. Raises Unsupported for
    a target that keeps nothing, or takes no records as they are.
    """

    def __init__(self, caps: Capabilities) -> None:
        if not caps.persistent:
            caps.refuse("persistent", operation="migrate", argument="target")
        if not caps.restore and caps.facts == "no" and caps.turns != "verbatim":
            raise Unsupported(
                f"{caps.provider} cannot be migrated to: it takes neither records, nor facts or turns as given",
                provider=caps.provider,
                operation="migrate",
            )
        self.caps = caps
        self.merges = caps.duplicates == "merged"

    def __call__(self, record: Record, now: datetime) -> Fitted:
        """The record without what the target cannot hold."""
        if gone := self._left_out(record, now):
            return Fitted(None, (gone,))
        changes, lost = self._reduced(record)
        if not self.caps.restore:
            lost.append("restore")
        if self.caps.scopes == "exact" and record.scope.pairs:
            lost.append("scopes")
        return Fitted(replace(record, **changes) if changes else record, tuple(lost))

    def unheld(self, record: Record) -> frozenset[str]:
        """The fields of a fitted record that the target sets by itself."""
        given = set() if self.caps.restore else set(_TIMES)
        if self.merges or not self._keeps("at" if self.as_turn(record) else "observed_at", record):
            given.add("observed_at")
        return frozenset({"id", "revision", *given})

    def as_turn(self, record: Record) -> bool:
        """Whether a target without restore takes the record as a turn, with all that it says."""
        caps, said = self.caps, record.provenance
        if caps.restore or caps.turns != "verbatim" or said.role is None:
            return False
        needed = {"role", "at"} | ({"speaker"} if said.author is not None else set())
        plain = all(getattr(record, name) == value for name, value in _OF_FACTS_ALONE.items())
        return plain and needed <= caps.turn_fields

    def _left_out(self, record: Record, now: datetime) -> str | None:
        caps = self.caps
        if expired(record, now) and not (caps.restore and caps.expiry):
            return "expired"
        if record.invalid_at is not None:
            hides = caps.invalidation or (caps.supersede and record.superseded_by is not None)
            if not (caps.restore and hides):
                return "history"
        as_fact = not caps.restore and not self.as_turn(record)
        return "facts" if as_fact and caps.facts == "no" else None

    def _reduced(self, record: Record) -> tuple[dict[str, Any], list[str]]:
        """The changes that make the record fit, and what they lose."""
        fields = _OF_TURNS if self.as_turn(record) else _BLANK
        changes: dict[str, Any] = {
            name: _BLANK[name]
            for name in fields
            if getattr(record, name) != _BLANK[name] and not self._keeps(name, record)
        }
        if record.expires_at is not None and not self.caps.expiry:
            changes["expires_at"] = None
        lost = list(changes)
        said = self._provenance(record)
        if said != record.provenance:
            lost += _lost_of(record.provenance, said)
            changes["provenance"] = said
        if not self._keeps("at" if self.as_turn(record) else "observed_at", record):
            lost.append("observed_at")
        if self._linked(record) and not (self.caps.restore and self.caps.supersede):
            changes |= {"supersedes": None, "superseded_by": None}
            lost.append("links")
        return changes, lost

    def _provenance(self, record: Record) -> Provenance:
        said, turn = record.provenance, self.as_turn(record)
        if not self._keeps("provenance", record):
            return Provenance(author=said.author, role=said.role) if turn else Provenance()
        return said if turn or self.caps.restore else replace(said, role=None)

    def _keeps(self, field: str, record: Record) -> bool:
        return field in (self.caps.turn_fields if self.as_turn(record) else self.caps.fact_fields)

    def _linked(self, record: Record) -> bool:
        return record.supersedes is not None or record.superseded_by is not None


def reason(caps: Capabilities, loss: str) -> str:
    """The target's own reason for a loss, or the plain fact."""
    if loss == "duplicates":
        return caps.reasons.get(loss, f"{caps.provider} merges equal texts")
    if loss in _RESTORED and not caps.restore:
        return caps.why_not("restore")
    return caps.reasons.get(f"facts.{loss}") or caps.why_not(_CAPABILITY.get(loss, loss))


def _lost_of(given: Provenance, kept: Provenance) -> Iterator[str]:
    if replace(given, role=None) != replace(kept, role=None):
        yield "provenance"
    if given.role != kept.role:
        yield "role"
