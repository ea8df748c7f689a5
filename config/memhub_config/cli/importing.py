"""Writing a conversation so that repeating it writes nothing.

Each batch carries an idempotency key made of its conversation, the place of its first turn in it,
and that turn's content. A file that has grown since, or another batch size, meets a known key with
another payload: a Conflict, which writes nothing. The length that was written then is found by
trying: only the very same turns replay, so a wrong guess cannot write either.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from memhub import Conflict, HubError, MemoryStore, Observation, Observed, Provenance, Scope, support
from memhub.calls import utc_now
from memhub.limits import ITEMS
from memhub.requests import write_from
from memhub_config.cli.conversation import Line
from memhub_config.problems import listed

__all__ = ["BATCH", "Tally", "import_turns", "told"]

BATCH: Final = 100
"""Turns in one observation, where the command does not say."""

Conversations = Mapping[str, Sequence[Line]]


@dataclass(slots=True)
class Tally:
    """What an import came to, in turns.

    `pending` names operations that the provider has not finished. `persisted` is False where the
    store keeps nothing.
    """

    conversations: int = 0
    written: int = 0
    replayed: int = 0
    pending: list[str] = field(default_factory=list)
    persisted: bool = True


async def import_turns(
    memory: MemoryStore,
    scope: Scope,
    given: Conversations,
    *,
    batch: int = BATCH,
    advance: Callable[[int], None] = lambda _: None,
) -> Tally:
    """Write every conversation, in order, `batch` turns at a time; `advance` hears of each batch.

    Unsupported before anything is written. Conflict names the line where the file differs from
    what was imported before. An error half-way carries a note of what had been written.
    """
    _check_supported(memory, scope, given)
    importer = _Importer(memory, scope, batch, advance)
    try:
        for conversation, lines in given.items():
            await importer.run(conversation, lines)
    except HubError as error:
        if importer.tally.written:
            error.add_note(
                f"{importer.tally.written:,} turns were written before; repeat the command to go on."
            )
        raise
    return importer.tally


def told(tally: Tally) -> str:
    """The tally in a sentence."""
    where = f"{tally.conversations:,} {'conversation' if tally.conversations == 1 else 'conversations'}"
    if not tally.persisted:
        return f"Read {tally.written:,} turns of {where}; this store keeps nothing."
    if not tally.written:
        return f"Nothing new: all {tally.replayed:,} turns of {where} were there already."
    there = f"; {tally.replayed:,} were there already" if tally.replayed else ""
    waits = f"; not finished yet: {listed(tally.pending)}" if tally.pending else ""
    return f"Imported {tally.written:,} turns of {where}{there}{waits}."


class _Importer:
    def __init__(self, memory: MemoryStore, scope: Scope, batch: int, advance: Callable[[int], None]) -> None:
        extracted = memory.capabilities.turns == "extracted"
        self._memory = memory
        self._scope = scope
        self._batch = batch if extracted else min(batch, memory.capabilities.atomic_facts)
        self._advance = advance
        self.tally = Tally()

    async def run(self, conversation: str, lines: Sequence[Line]) -> None:
        start = 0
        while start < len(lines):
            empty = _empty(self._scope, conversation, lines[start], start)
            done, size = await self._written(empty, lines[start:])
            self._count(done, size)
            start += size
        self.tally.conversations += 1

    async def _written(self, empty: Observation, lines: Sequence[Line]) -> tuple[Observed, int]:
        """What came of the first of these turns, and how many they are."""
        for size in _sizes(self._batch, len(lines)):
            try:
                turns = [line.turn for line in lines[:size]]
                return await self._memory.observe(replace(empty, turns=turns)), size
            except Conflict:
                continue
        raise Conflict(
            f"line {lines[0].number}: the turns from here on were imported before with other content; "
            "import the changed file into another scope, or purge this one first",
            provider=self._memory.capabilities.provider,
            store=self._memory.name,
            operation="import",
        )

    def _count(self, done: Observed, size: int) -> None:
        if done.replayed:
            self.tally.replayed += size
        else:
            self.tally.written += size
        self.tally.persisted = done.persisted
        if done.operation is not None and done.operation.status == "pending":
            self.tally.pending.append(done.operation.id)
        self._advance(size)


def _check_supported(memory: MemoryStore, scope: Scope, given: Conversations) -> None:
    now = utc_now()
    for conversation, lines in given.items():
        for line in lines:
            alone = replace(_empty(scope, conversation, line, 0), turns=[line.turn])
            support.check_write(memory.capabilities, write_from(alone, now))


def _empty(scope: Scope, conversation: str, first: Line, start: int) -> Observation:
    """The observation of the turns that begin with `first`, still without turns."""
    text = json.dumps([conversation, start, first.digest], ensure_ascii=False)
    key = f"import-{hashlib.sha256(text.encode()).hexdigest()[:40]}"
    return Observation(scope, provenance=Provenance(conversation), idempotency_key=key)


def _sizes(batch: int, left: int) -> Iterator[int]:
    """The lengths to try: the one wanted, then every other."""
    wanted = min(batch, left)
    yield wanted
    yield from (size for size in range(1, min(left, ITEMS) + 1) if size != wanted)
