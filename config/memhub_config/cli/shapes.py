"""The JSON shapes that commands print. They are documented in docs/cli.md and stay as they are."""

from __future__ import annotations

from memhub import Capabilities, Hit, HubError, Observed, Recalled, ScopeCount, Stats
from memhub.interchange import record_to_json, scope_to_json
from memhub.records import Json
from memhub_config.cli.importing import Tally

__all__ = ["capabilities", "error", "hit", "listing", "observed", "recalled", "scope_count", "stats", "tally"]


def observed(done: Observed) -> dict[str, Json]:
    """What an observation came to."""
    work = done.operation
    return {
        "records": [record_to_json(record) for record in done.records],
        "operation": None if work is None else {"id": work.id, "status": work.status, "error": work.error},
        "persisted": done.persisted,
        "replayed": done.replayed,
    }


def recalled(found: Recalled) -> dict[str, Json]:
    """Hits, the most relevant first."""
    return {"hits": [hit(one) for one in found.hits], "cursor": found.cursor}


def listing(found: Recalled) -> dict[str, Json]:
    """Records, the newest first, and the cursor of the next page."""
    return {"records": [record_to_json(one.record) for one in found.hits], "cursor": found.cursor}


def hit(one: Hit) -> dict[str, Json]:
    """A record, its score, and why where that was asked for."""
    why: Json = None
    if one.why is not None:
        why = {
            "words": dict(one.why.words),
            "neighbour": dict(one.why.neighbour),
            "following": one.why.following,
            "speaker": one.why.speaker,
            "session": one.why.session,
            "semantic": one.why.semantic,
        }
    return {"record": record_to_json(one.record), "score": one.score, "why": why}


def stats(found: Stats) -> dict[str, Json]:
    """Counts, without the scopes."""
    return {
        "live": found.live,
        "invalidated": found.invalidated,
        "expired": found.expired,
        "bytes": found.bytes,
        "erasure_pending": found.erasure_pending,
    }


def scope_count(found: ScopeCount) -> dict[str, Json]:
    """One scope with its counts."""
    return {
        "scope": scope_to_json(found.scope),
        "live": found.live,
        "invalidated": found.invalidated,
        "expired": found.expired,
    }


def capabilities(found: Capabilities) -> dict[str, Json]:
    """Every capability by name, true or false; the reasons of the false ones; the details."""
    names = found.names()
    return {
        "capabilities": {name: found.has(name) for name in names},
        "reasons": dict(found.missing(names)),
        "details": {
            "modes": list(found.modes),
            "default_mode": found.default_mode,
            "scopes": found.scopes,
            "turns": found.turns,
            "fact_fields": sorted(found.fact_fields),
            "turn_fields": sorted(found.turn_fields),
            "atomic_facts": found.atomic_facts,
            "duplicates": found.duplicates,
            "patch": sorted(found.patch),
            "listing": found.listing,
            "consistency": found.consistency,
            "erasure": found.erasure,
        },
    }


def tally(found: Tally) -> dict[str, Json]:
    """What an import came to, in turns."""
    return {
        "conversations": found.conversations,
        "written": found.written,
        "replayed": found.replayed,
        "pending": list(found.pending),
        "persisted": found.persisted,
    }


def error(found: HubError) -> dict[str, Json]:
    """An error of ours."""
    return {
        "code": found.code,
        "message": found.message,
        "store": found.store,
        "provider": found.provider,
        "operation": found.operation,
        "retryable": found.retryable,
        "retry_after": found.retry_after,
        "notes": list(getattr(found, "__notes__", ())),
    }
