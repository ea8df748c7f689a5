"""From what a caller gave to what an adapter receives: validated, completed, stamped."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from datetime import datetime
from typing import Any, Final, TypeVar

from memhub import limits, validation
from memhub.adapter import Read, Write
from memhub.errors import InvalidInput
from memhub.filters import normalised
from memhub.records import (
    MODES,
    ROLES,
    Fact,
    Mode,
    Observation,
    Patch,
    Provenance,
    Query,
    Record,
    Turn,
    Unset,
)
from memhub.scope import Scope

T = TypeVar("T")

__all__ = [
    "check_limit",
    "check_record",
    "check_scope",
    "check_scopes",
    "patch_from",
    "read_from",
    "scopes_asked",
    "write_from",
]


def check_scope(scope: object, field: str = "scope") -> Scope:
    """A scope within its limits."""
    if not isinstance(scope, Scope):
        raise InvalidInput(f"{field}: must be a Scope, not {type(scope).__name__}")
    for part in (scope.name,) if scope.name is not None else (text for pair in scope.pairs for text in pair):
        validation.clean(field, part)
    size = len(scope.canonical.encode())
    if size > limits.SCOPE_BYTES:
        raise InvalidInput(f"{field}: takes {size} bytes as canonical JSON, more than {limits.SCOPE_BYTES}")
    return scope


def check_scopes(given: object, field: str = "scope") -> tuple[Scope, ...]:
    """One scope or a list of up to 100, a repeat dropped."""
    if isinstance(given, Scope):
        return (check_scope(given, field),)
    several = validation.items(field, given, limits.SCOPES)
    if not several:
        raise InvalidInput(f"{field}: is empty; name at least one")
    return tuple(dict.fromkeys(check_scope(scope, field) for scope in several))


def write_from(observation: Observation, now: datetime) -> Write:
    """The write for an observation. Raises InvalidInput; nothing has been sent."""
    if not isinstance(observation, Observation):
        raise InvalidInput(f"observation: must be an Observation, not {type(observation).__name__}")
    given_facts = validation.items("facts", observation.facts, limits.ITEMS)
    given_turns = validation.items("turns", observation.turns, limits.ITEMS)
    if bool(given_facts) == bool(given_turns):
        raise InvalidInput("observation: give facts or turns, one of the two and not both")
    key, at, given = observation.idempotency_key, observation.observed_at, observation.provenance
    write = Write(
        scope=check_scope(observation.scope),
        facts=tuple(_fact(f"facts[{n}]", fact) for n, fact in enumerate(given_facts)),
        turns=tuple(_turn(f"turns[{n}]", turn) for n, turn in enumerate(given_turns)),
        observed_at=now if at is None else validation.moment("observed_at", at),
        provenance=Provenance() if given is None else _provenance(given),
        idempotency_key=None if key is None else validation.identifier("idempotency_key", key),
        digest="",
        now=now,
    )
    return write if key is None else replace(write, digest=_digest(write, given_time=at is not None))


def scopes_asked(query: Query) -> tuple[tuple[Scope, ...], bool]:
    """The scopes that a query names, and whether it means exactly these."""
    if not isinstance(query, Query):
        raise InvalidInput(f"query: must be a Query, not {type(query).__name__}")
    return check_scopes(query.scope), _flag("exact", query.exact)


def read_from(query: Query, now: datetime, cursor: str | None = None) -> Read:
    """The read for a query; `cursor` is the adapter's own, already unsealed."""
    scopes, exact = scopes_asked(query)
    if query.as_of is not None and query.include_invalidated:
        raise InvalidInput("include_invalidated: contradicts as_of, which shows what was valid then")
    if query.text is not None and query.cursor is not None:
        raise InvalidInput("cursor: belongs to listings; a query with text has one page, raise limit")
    return Read(
        scopes=scopes,
        exact=exact,
        text=None if query.text is None else validation.text("text", query.text, limits.QUERY_CHARS),
        limit=check_limit(query.limit),
        kinds=tuple(dict.fromkeys(validation.kind("kinds", kind) for kind in _listed("kinds", query.kinds))),
        tags=validation.tags("tags", query.tags),
        where=normalised(query.where),
        since=_optional_moment("since", query.since),
        until=_optional_moment("until", query.until),
        as_of=_optional_moment("as_of", query.as_of),
        include_invalidated=_flag("include_invalidated", query.include_invalidated),
        mode=None if query.mode is None else _mode(query.mode),
        explain=_flag("explain", query.explain),
        cursor=cursor,
        now=now,
    )


def check_limit(limit: object) -> int:
    """A limit of 0 to 1000."""
    if isinstance(limit, bool) or not isinstance(limit, int):
        raise InvalidInput(f"limit: must be a whole number, not {type(limit).__name__}")
    if not 0 <= limit <= limits.LIMIT:
        raise InvalidInput(
            f"limit: is {limit}; give 0 to {limits.LIMIT}, and page through a listing for more"
        )
    return limit


def patch_from(patch: Patch) -> Patch:
    """The patch, validated. Raises InvalidInput for an empty one, or a key both set and removed."""
    if not isinstance(patch, Patch):
        raise InvalidInput(f"patch: must be a Patch, not {type(patch).__name__}")
    removed = _listed("remove_attributes", patch.remove_attributes)
    checked = Patch(
        content=_given("content", patch.content, lambda f, v: validation.text(f, v, limits.CONTENT_CHARS)),
        kind=_given("kind", patch.kind, validation.kind),
        tags=_given("tags", patch.tags, validation.tags),
        set_attributes=validation.attributes("set_attributes", patch.set_attributes),
        remove_attributes=tuple(
            validation.text("remove_attributes", key, limits.TAG_CHARS) for key in removed
        ),
        expires_at=_given("expires_at", patch.expires_at, _optional_moment),
    )
    if checked == Patch():
        raise InvalidInput("patch: is empty; give at least one change")
    if both := set(checked.set_attributes) & set(checked.remove_attributes):
        raise InvalidInput(f"patch: sets and removes {', '.join(map(repr, sorted(both)))}; choose one")
    return checked


def check_record(field: str, record: object) -> Record:
    """A complete record for `restore`, within the limits, its times in UTC."""
    if not isinstance(record, Record):
        raise InvalidInput(f"{field}: must be a Record, not {type(record).__name__}")
    checked = {name: check(f"{field}.{name}", getattr(record, name)) for name, check in _CHECKS.items()}
    return replace(
        record,
        **checked,  # type: ignore[arg-type]
        scope=check_scope(record.scope, f"{field}.scope"),
        content=validation.text(f"{field}.content", record.content, limits.CONTENT_CHARS),
        provenance=_provenance(record.provenance, f"{field}.provenance", stored=True),
    )


def _fact(field: str, fact: object) -> Fact:
    if not isinstance(fact, Fact):
        raise InvalidInput(f"{field}: must be a Fact, not {type(fact).__name__}")
    old = fact.supersedes
    return Fact(
        validation.text(f"{field}.content", fact.content, limits.CONTENT_CHARS),
        kind=validation.kind(f"{field}.kind", fact.kind),
        tags=validation.tags(f"{field}.tags", fact.tags) if fact.tags != () else (),
        attributes=validation.attributes(f"{field}.attributes", fact.attributes),
        supersedes=None if old is None else validation.identifier(f"{field}.supersedes", old),
        expires_at=_optional_moment(f"{field}.expires_at", fact.expires_at),
        target=validation.short(f"{field}.target", fact.target),
        payload=validation.json_value(f"{field}.payload", fact.payload),
        supports=_supports(f"{field}.supports", fact.supports) if fact.supports != () else (),
    )


def _turn(field: str, turn: object) -> Turn:
    if not isinstance(turn, Turn):
        raise InvalidInput(f"{field}: must be a Turn, not {type(turn).__name__}")
    validation.choice(f"{field}.role", turn.role, ROLES)
    return Turn(
        turn.role,
        validation.text(f"{field}.content", turn.content, limits.CONTENT_CHARS),
        speaker=validation.short(f"{field}.speaker", turn.speaker),
        at=_optional_moment(f"{field}.at", turn.at),
        attributes=validation.attributes(f"{field}.attributes", turn.attributes),
        tags=validation.tags(f"{field}.tags", turn.tags) if turn.tags != () else (),
    )


def _provenance(given: object, field: str = "provenance", *, stored: bool = False) -> Provenance:
    if not isinstance(given, Provenance):
        raise InvalidInput(f"{field}: must be a Provenance, not {type(given).__name__}")
    for name in ("conversation_id", "run_id", "author"):
        validation.short(f"{field}.{name}", getattr(given, name))
    if given.role is not None:
        if not stored:
            raise InvalidInput(f"{field}.role: comes from each turn; leave it out")
        validation.choice(f"{field}.role", given.role, ROLES)
    return given


def _supports(field: str, value: object) -> tuple[str, ...]:
    return tuple(validation.identifier(field, item) for item in validation.items(field, value, limits.ITEMS))


def _listed(field: str, value: object) -> Sequence[object]:
    return validation.items(field, value, limits.CONDITIONS)


def _mode(value: object) -> Mode:
    validation.choice("mode", value, MODES)
    return next(known for known in MODES if known == value)


def _position(field: str, value: object) -> int:
    if type(value) is not int or not 0 <= value <= limits.INTEGER:
        raise InvalidInput(f"{field}: must be a whole number, 0 or more")
    return value


def _flag(field: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise InvalidInput(f"{field}: must be true or false")
    return value


def _optional_moment(field: str, value: object) -> datetime | None:
    return None if value is None else validation.moment(field, value)


def _optional_identifier(field: str, value: object) -> str | None:
    return None if value is None else validation.identifier(field, value)


def _given(field: str, value: T | Unset, check: Callable[[str, object], T]) -> T | Unset:
    return value if isinstance(value, Unset) else check(field, value)


def _digest(write: Write, *, given_time: bool) -> str:
    """SHA-256 of the canonical JSON of what the caller gave; defaults add nothing to it."""
    import hashlib

    given = {
        "facts": [_plain(fact) for fact in write.facts],
        "turns": [_plain(turn) for turn in write.turns],
        "provenance": _plain(write.provenance),
        "observed_at": write.observed_at.isoformat() if given_time else None,
    }
    return hashlib.sha256(json.dumps(given, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def _plain(value: Fact | Turn | Provenance) -> dict[str, object]:
    found = {f.name: getattr(value, f.name) for f in fields(value)}
    return {
        name: item.isoformat() if isinstance(item, datetime) else item
        for name, item in found.items()
        if item is not None and item not in ((), {}, [])
    }


_CHECKS: Final[Mapping[str, Callable[[str, Any], object]]] = {
    "id": validation.identifier,
    "kind": validation.kind,
    "tags": validation.tags,
    "attributes": validation.attributes,
    "created_at": validation.moment,
    "updated_at": validation.moment,
    "observed_at": validation.moment,
    "invalid_at": _optional_moment,
    "invalid_reason": validation.short,
    "supersedes": _optional_identifier,
    "superseded_by": _optional_identifier,
    "expires_at": _optional_moment,
    "revision": validation.identifier,
    "position": _position,
    "target": validation.short,
    "payload": validation.json_value,
    "supports": _supports,
}
"""How `check_record` checks each field of a record by itself."""
