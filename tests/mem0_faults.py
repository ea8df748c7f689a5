"""What the fault matrix is made of: verbs, what they send, and what must be there before and after."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from memhub import Fact, MemoryStore, Observation, Patch, Query, Record, Scope, Turn
from memhub_adapters.standins import Fault, Request
from memhub_adapters.standins.faults import DROPPED, GARBAGE, HUGE, STALLED, TRUNCATED
from memhub_adapters.standins.mem0_rows import Rows

KEY = "m0-Sup3r-S3cret-Key"
MEMORY = "The safe is behind the painting."
ME = Scope("me")
SPILLED = f'{{"detail": "{KEY} {MEMORY}", "error": "{KEY}", "code": "{KEY}"}}'.encode()
"""A body that repeats the key and a memory, as providers do when they fail."""

Call = Callable[[MemoryStore, Record], Awaitable[object]]
State = list[tuple[str, bool]]


def status(number: int, **options: str) -> Fault:
    return Fault.of_status(number, body=SPILLED, **options)


BEFORE = (
    DROPPED,
    status(400),
    status(401),
    status(402),
    status(403),
    status(409),
    status(429, retry_after="7"),
    status(500),
    status(503),
    status(302),
    Fault(name="garbage", status=200, body=b"<html>" + SPILLED),
    Fault(name="another shape", status=200, body=b'[{"memory": 5}]'),
    Fault(name="huge body", status=200, body=b'"' + SPILLED * (HUGE // len(SPILLED)) + b'"'),
)
AFTER = (
    DROPPED.after(),
    TRUNCATED,
    GARBAGE.after(),
    status(500).after(),
    status(502).after(),
)
FAULTS = {fault.name: fault for fault in (*BEFORE, *AFTER)}
STALLS = {fault.name: fault for fault in (STALLED, STALLED.after())}
"""Faults that cost a test as long as it has patience."""

READS = {
    "dropped": ("unavailable", True),
    "stalled": ("timed_out", True),
    "status 400": ("invalid_input", False),
    "status 401": ("access_denied", False),
    "status 402": ("unavailable", False),
    "status 403": ("access_denied", False),
    "status 409": ("conflict", False),
    "status 429": ("rate_limited", True),
    "status 500": ("unavailable", True),
    "status 502": ("unavailable", True),
    "status 503": ("unavailable", True),
    "status 302": ("unavailable", False),
    "garbage": ("unavailable", True),
    "another shape": ("unavailable", True),
    "truncated": ("unavailable", True),
    "huge body": ("unavailable", False),
}
"""The code of the error, and whether a read that met it may be repeated, by the fault's name."""


def told_of(fault: Fault) -> tuple[str, bool]:
    return READS[fault.name.removesuffix(" after the effect")]


@dataclass(frozen=True)
class Verb:
    """One call, the request of it that is spoilt, and the states that its success leads to."""

    call: Call
    method: str
    path: str
    body: bytes = b""
    after: State = field(default_factory=list)
    half: State | None = None
    once_more: bool = False
    """Whether the same request is harmless when sent again, so that one lost answer costs nothing."""

    def spoils(self, request: Request) -> bool:
        return self.method in ("", request.method) and self.path in request.path and self.body in request.body


def state(rows: Rows) -> State:
    """What is stored, and whether each is hidden, in order of text."""
    own = (json.loads(row.metadata.get("memhub", "{}")) for row in rows.all.values())
    return sorted((row.text, "invalid_at" in one) for row, one in zip(rows.all.values(), own, strict=True))


def _moved(record: Record) -> Record:
    return Record(
        id="elsewhere-1",
        scope=record.scope,
        kind="fact",
        content="moved here",
        created_at=record.created_at,
        updated_at=record.updated_at,
        observed_at=record.observed_at,
        revision="r",
    )


SAID = [Turn("user", "I drink oolong tea. Hello!")]
START: State = [(MEMORY, False)]

READ_VERBS: dict[str, Verb] = {
    "get": Verb(lambda s, r: s.get(r.id), "GET", "/memories/"),
    "list": Verb(lambda s, _: s.recall(Query(ME)), "", "memories"),
    "search": Verb(lambda s, _: s.recall(Query(ME, text="safe")), "POST", "search"),
    "ping": Verb(lambda s, _: s.ping(), "GET", ""),
    "scan": Verb(lambda s, _: s.scan(), "GET", "entities"),
    "stats": Verb(lambda s, _: s.stats(), "GET", "entities"),
}
WRITE_VERBS: dict[str, Verb] = {
    "observe": Verb(
        lambda s, _: s.observe(Observation(ME, facts=[Fact("a new one")])),
        "POST",
        "memories",
        b"a new one",
        after=[(MEMORY, False), ("a new one", False)],
    ),
    "correct": Verb(
        lambda s, r: s.observe(Observation(ME, facts=[Fact("a new one", supersedes=r.id)])),
        "POST",
        "memories",
        b"a new one",
        after=[(MEMORY, True), ("a new one", False)],
    ),
    "retire": Verb(
        lambda s, r: s.observe(Observation(ME, facts=[Fact("a new one", supersedes=r.id)])),
        "PUT",
        "memories",
        after=[(MEMORY, True), ("a new one", False)],
        half=[(MEMORY, False), ("a new one", False)],
        once_more=True,
    ),
    "update": Verb(
        lambda s, r: s.update(r.id, Patch(content="changed")),
        "PUT",
        "memories",
        after=[("changed", False)],
        once_more=True,
    ),
    "invalidate": Verb(
        lambda s, r: s.invalidate(r.id), "PUT", "memories", after=[(MEMORY, True)], once_more=True
    ),
    "delete": Verb(lambda s, r: s.delete(r.id), "DELETE", "memories", after=[], once_more=True),
    "purge": Verb(lambda s, _: s.purge(ME), "DELETE", "memories", after=[], once_more=True),
    "restore": Verb(
        lambda s, r: s.restore([_moved(r)]),
        "POST",
        "memories",
        b"moved here",
        after=[(MEMORY, False), ("moved here", False)],
    ),
}
