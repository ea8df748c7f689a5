"""What the fault matrix is made of: verbs, what can go wrong with each request, and what may come of it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from memhub import Fact, MemoryStore, NotFound, Observation, Patch, Provenance, Query, Record, Scope, Turn
from memhub_adapters.standins import Fault
from memhub_adapters.standins.faults import DROPPED, GARBAGE, HUGE, STALLED, TRUNCATED

KEY = "qd-Sup3r-S3cret-Key"
MEMORY = "The safe is behind the painting."
SAID = "The combination is 4711."
TWICE = "two of the same"
SPILLED = f'{{"status": {{"error": "{KEY} {MEMORY}"}}, "result": "{KEY}"}}'.encode()
"""A body that repeats the key and a memory, as servers may when they fail."""

Call = Callable[[MemoryStore, Record, Scope], Awaitable[object]]


@dataclass(frozen=True)
class Told:
    """What an error must be: its code, and whether the failed request may be sent again."""

    code: str
    again: bool


def status(number: int, **options: str) -> Fault:
    return Fault.of_status(number, body=SPILLED, **options)


FAULTS: dict[str, tuple[Fault, Told]] = {
    fault.name: (fault, told)
    for fault, told in (
        (DROPPED, Told("unavailable", again=True)),
        (DROPPED.after(), Told("unavailable", again=True)),
        (STALLED, Told("timed_out", again=True)),
        (STALLED.after(), Told("timed_out", again=True)),
        (TRUNCATED, Told("unavailable", again=True)),
        (Fault(name="garbage", status=200, body=b"<html>" + SPILLED), Told("unavailable", again=True)),
        (GARBAGE.after(), Told("unavailable", again=True)),
        (Fault(name="another shape", status=200, body=SPILLED), Told("unavailable", again=True)),
        (
            Fault(name="huge body", status=200, body=b'"' + b"x" * HUGE + b'"'),
            Told("unavailable", again=False),
        ),
        (status(400), Told("unavailable", again=False)),
        (status(401), Told("access_denied", again=False)),
        (status(403), Told("access_denied", again=False)),
        (status(404), Told("unavailable", again=False)),
        (status(409), Told("conflict", again=False)),
        (status(413), Told("invalid_input", again=False)),
        (status(429, retry_after="7"), Told("rate_limited", again=True)),
        (replace(status(429), name="no patience told"), Told("rate_limited", again=True)),
        (status(500), Told("unavailable", again=True)),
        (status(500).after(), Told("unavailable", again=True)),
        (status(503), Told("unavailable", again=True)),
    )
}
PATIENT = "status 429"
REFUSED = frozenset({PATIENT, "no patience told"})
"""Faults that say that the request was not carried out, so that even a write may be sent again."""

ANYWHERE = frozenset(
    {
        "dropped",
        "dropped after the effect",
        "truncated",
        "garbage",
        PATIENT,
        "status 500",
        "status 500 after the effect",
    }
)
"""Faults that each request of a verb meets in turn; the others meet the first one."""


@dataclass(frozen=True)
class Verb:
    """A call; `repeatable` where the hub may make it again whatever became of it."""

    name: str
    call: Call
    repeatable: bool
    outcomes: tuple[tuple[str, ...], ...]
    """What the scope may hold afterwards, the texts sorted; the last is what success leads to."""


def fact(text: str, scope: Scope, **more: object) -> Observation:
    return Observation(scope, facts=[Fact(text)], **more)


async def gone(call: Awaitable[object]) -> None:
    """A delete whose record is no longer there has had its effect."""
    try:
        await call
    except NotFound:
        return


def correction(record: Record, scope: Scope) -> Observation:
    return Observation(scope, facts=[Fact(SAID, supersedes=record.id)])


KEPT = (MEMORY,)
MORE = tuple(sorted((MEMORY, SAID)))
CHAT = Provenance("chat")
READS = (
    Verb("recall by words", lambda s, r, o: s.recall(Query(o, text="safe", mode="keyword")), True, (KEPT,)),
    Verb(
        "recall by meaning", lambda s, r, o: s.recall(Query(o, text="safe", mode="semantic")), True, (KEPT,)
    ),
    Verb("recall by both", lambda s, r, o: s.recall(Query(o, text="safe", explain=True)), True, (KEPT,)),
    Verb("list", lambda s, r, o: s.recall(Query(o)), True, (KEPT,)),
    Verb("get", lambda s, r, o: s.get(r.id), True, (KEPT,)),
    Verb("scan", lambda s, r, o: s.scan(), True, (KEPT,)),
    Verb("stats", lambda s, r, o: s.stats(o, by_scope=True), True, (KEPT,)),
    Verb("ping", lambda s, r, o: s.ping(), True, (KEPT,)),
)
WRITES = (
    Verb("observe", lambda s, r, o: s.observe(fact(SAID, o)), False, (KEPT, MORE)),
    Verb(
        "observe with a key",
        lambda s, r, o: s.observe(fact(SAID, o, idempotency_key="k")),
        True,
        (KEPT, MORE),
    ),
    Verb(
        "observe a turn",
        lambda s, r, o: s.observe(Observation(o, turns=[Turn("user", SAID)], provenance=CHAT)),
        False,
        (KEPT, MORE),
    ),
    Verb("supersede", lambda s, r, o: s.observe(correction(r, o)), False, (KEPT, MORE, (SAID,))),
    Verb("update", lambda s, r, o: s.update(r.id, Patch(content=SAID)), False, (KEPT, (SAID,))),
    Verb("invalidate", lambda s, r, o: s.invalidate(r.id), True, (KEPT, ())),
    Verb("delete", lambda s, r, o: gone(s.delete(r.id)), False, (KEPT, ())),
    Verb(
        "restore",
        lambda s, r, o: s.restore([replace(r, id=f"{o}-twin", content=SAID)]),
        True,
        (KEPT, MORE),
    ),
    Verb("purge", lambda s, r, o: s.purge(o), False, (KEPT, ())),
)
VERBS = {verb.name: verb for verb in (*READS, *WRITES)}
