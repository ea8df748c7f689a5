"""Whether an adapter can do what is asked: checked here, before any I/O, for every adapter alike."""

from __future__ import annotations

from collections.abc import Iterator

from memhub.adapter import Read, Write
from memhub.capabilities import Capabilities
from memhub.errors import Unsupported
from memhub.filters import value_types
from memhub.records import Fact, Patch, Turn, Unset

__all__ = ["check_patch", "check_read", "check_write"]


def check_write(caps: Capabilities, write: Write) -> None:
    """Raise Unsupported for anything of this observation that the adapter cannot keep."""
    kept, extracted = ("turns", caps.turns == "extracted") if write.turns else ("facts", False)
    caps.require(kept, operation="observe", argument=kept)
    count = len(write.turns) + len(write.facts)
    if count > caps.atomic_facts and not extracted:
        _refuse(caps, "observe", kept, "atomic_facts", f"it takes {caps.atomic_facts} at once, not {count}")
    if write.idempotency_key is not None:
        caps.require("idempotency", operation="observe", argument="idempotency_key")
    fields = caps.turn_fields if write.turns else caps.fact_fields
    for name in sorted({*_common(write), *_used(write)} - fields):
        _refuse(caps, "observe", name, f"{kept}.{name}", f"it cannot keep {name} of {kept}")
    for fact in write.facts:
        if fact.supersedes is not None:
            caps.require("supersede", operation="observe", argument="supersedes")
        if fact.expires_at is not None:
            caps.require("expiry", operation="observe", argument="expires_at")


def check_read(caps: Capabilities, read: Read) -> None:
    """Raise Unsupported for anything of this query that the adapter would have to ignore."""
    _check_mode(caps, read)
    if len(read.scopes) > 1:
        caps.require("union", operation="recall", argument="scope")
    if caps.scopes == "exact" and not read.exact and any(scope.pairs for scope in read.scopes):
        caps.refuse("subset_scopes", operation="recall", argument="scope without exact=True")
    if read.as_of is not None:
        caps.require("as_of", operation="recall", argument="as_of")
    if read.include_invalidated and not (caps.invalidation or caps.supersede):
        caps.refuse("invalidation", operation="recall", argument="include_invalidated")
    for name, used in _filters(read):
        if used and not getattr(caps.filters, name):
            _refuse(caps, "recall", name, f"filters.{name}", f"it cannot filter by {name}")
    for field, conditions in read.where.items():
        for operator, value in conditions.items():
            taken = caps.filters.attributes.get(operator, frozenset())
            if missing := sorted(value_types(value) - taken):
                why = f"it cannot compare a {missing[0]} with {operator}"
                _refuse(caps, "recall", f"where[{field!r}].{operator}", "filters.attributes", why)


def check_patch(caps: Capabilities, patch: Patch, revision: str | None) -> None:
    """Raise Unsupported for a change that the adapter cannot make."""
    caps.require("update", operation="update")
    given = {
        "content": not isinstance(patch.content, Unset),
        "kind": not isinstance(patch.kind, Unset),
        "tags": not isinstance(patch.tags, Unset),
        "set_attributes": bool(patch.set_attributes),
        "remove_attributes": bool(patch.remove_attributes),
        "expires_at": not isinstance(patch.expires_at, Unset),
    }
    for name, used in given.items():
        if used and name not in caps.patch:
            _refuse(caps, "update", name, f"patch.{name}", f"it cannot change {name}")
    if revision is not None:
        caps.require("revisions", operation="update", argument="revision")


def _check_mode(caps: Capabilities, read: Read) -> None:
    if read.text is None:
        caps.require("listing", operation="recall", argument="no text")
        if read.limit > caps.listing:
            _refuse(caps, "recall", "limit", "listing", f"it lists at most {caps.listing} at once")
    else:
        mode = read.mode or caps.default_mode or "keyword"
        caps.require(mode, operation="recall", argument=f"mode={mode}")


def _filters(read: Read) -> Iterator[tuple[str, bool]]:
    yield "kinds", bool(read.kinds)
    yield "tags", bool(read.tags)
    yield "time", read.since is not None or read.until is not None


def _common(write: Write) -> Iterator[str]:
    if any((write.provenance.conversation_id, write.provenance.run_id, write.provenance.author)):
        yield "provenance"
    if write.facts and write.observed_at != write.now:
        yield "observed_at"


def _used(write: Write) -> Iterator[str]:
    items: tuple[Fact | Turn, ...] = write.facts or write.turns
    for item in items:
        yield from _used_of_fact(item) if isinstance(item, Fact) else _used_of_turn(item)
        if item.tags:
            yield "tags"
        if item.attributes:
            yield "attributes"


def _used_of_fact(fact: Fact) -> Iterator[str]:
    if fact.kind != "fact":
        yield "kind"
    if fact.target is not None:
        yield "target"
    if fact.payload is not None:
        yield "payload"
    if fact.supports:
        yield "supports"


def _used_of_turn(turn: Turn) -> Iterator[str]:
    yield "role"
    if turn.speaker is not None:
        yield "speaker"
    if turn.at is not None:
        yield "at"


def _refuse(caps: Capabilities, operation: str, argument: str, reason: str, otherwise: str) -> None:
    why = caps.reasons.get(reason, otherwise)
    raise Unsupported(
        f"{caps.provider} cannot do {operation}({argument}): {why}",
        provider=caps.provider,
        operation=operation,
    )
