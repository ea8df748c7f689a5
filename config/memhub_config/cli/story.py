"""The demo's story: an invented journey, remembered, corrected and asked about."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.resources import files
from typing import Final

from memhub import Conflict, Fact, Hit, MemoryStore, Observation, Query, Record, Scope
from memhub_config.cli.conversation import Line, conversations, read_lines
from memhub_config.cli.importing import import_turns

__all__ = ["Answer", "Told", "play"]

FIRST: Final = datetime(2025, 5, 4, 19, 10, tzinfo=UTC)
PLANNED: Final = datetime(2025, 5, 9, 18, 10, tzinfo=UTC)
CORRECTED: Final = datetime(2025, 5, 12, 9, 32, tzinfo=UTC)
SATURDAY: Final = datetime(2025, 5, 10, 12, tzinfo=UTC)

NOTED: Final = (
    Fact("Pell is allergic to hazelnuts; almonds are fine.", kind="profile", tags=("food",)),
    Fact("On trains Pell likes a window seat that faces backwards.", kind="preference", tags=("travel",)),
)
OLD: Final = "The ferry to Tinder Isle leaves on Thursday 15 May at 07:10 from the old pier."
NEW: Final = "The ferry to Tinder Isle leaves on Friday 16 May at 06:40 from the new pier."

QUESTIONS: Final = (
    ("What is Pell allergic to?", None),
    ("When does the ferry to Tinder Isle leave?", None),
    ("When does the ferry to Tinder Isle leave?", SATURDAY),
    ("Which sea glass does Juniper want?", None),
    ("Where did I leave the brass key?", None),
    ("麦茶はどこで飲みましたか", None),
)


@dataclass(frozen=True, slots=True)
class Answer:
    """A question, asked as of a moment or now, the memory that answers it, and what that one replaced."""

    question: str
    as_of: datetime | None
    hit: Hit | None
    replaced: Record | None


@dataclass(frozen=True, slots=True)
class Told:
    """All that happened. `fresh` is False when the store had heard the story before."""

    lines: tuple[Line, ...]
    conversations: int
    noted: tuple[Record, ...]
    old: Record
    new: Record
    answers: tuple[Answer, ...]
    fresh: bool


async def play(memory: MemoryStore, scope: Scope) -> Told:
    """Tell the story to a store. A repeat writes nothing. Unsupported by a store that keeps nothing."""
    memory.capabilities.require("persistent", operation="demo")
    raw = files("memhub_config").joinpath("data", "demo.jsonl").read_bytes()
    lines = read_lines(raw, "demo.jsonl")
    tally = await import_turns(memory, scope, conversations(lines))
    noted = await _note(memory, scope, "demo-noted", FIRST, *NOTED)
    (planned,) = await _note(memory, scope, "demo-planned", PLANNED, Fact(OLD, tags=("travel",)))
    correction = Fact(NEW, tags=("travel",), supersedes=planned.id)
    (new,) = await _note(memory, scope, "demo-corrected", CORRECTED, correction)
    old = await memory.get(planned.id)
    answers = [await _ask(memory, scope, question, as_of) for question, as_of in QUESTIONS]
    return Told(tuple(lines), tally.conversations, noted, old, new, tuple(answers), fresh=tally.written > 0)


async def _note(
    memory: MemoryStore, scope: Scope, key: str, when: datetime, *facts: Fact
) -> tuple[Record, ...]:
    done = await memory.observe(Observation(scope, facts=facts, observed_at=when, idempotency_key=key))
    if len(done.records) < len(facts):
        raise Conflict(
            f"scope {str(scope)!r} has heard the demo before, and part of it has been deleted since; "
            "purge the scope, or name another"
        )
    return done.records


async def _ask(memory: MemoryStore, scope: Scope, question: str, as_of: datetime | None) -> Answer:
    found = await memory.recall(Query(scope, text=question, limit=1, as_of=as_of, explain=True))
    hit = found.hits[0] if found.hits else None
    before = hit.record.supersedes if hit else None
    return Answer(question, as_of, hit, await memory.get(before) if before else None)
