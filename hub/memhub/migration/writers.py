"""The two ways in which a target takes records: restored as they are, or observed anew."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator, Hashable, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Protocol

from memhub.errors import Conflict, Unavailable, Unsupported
from memhub.migration.chains import Chains, Fetch
from memhub.migration.checkpoint import Checkpoint
from memhub.migration.digests import digest
from memhub.migration.fitting import Fit
from memhub.migration.sources import at_once
from memhub.records import Fact, Observation, Provenance, Query, Record, Turn
from memhub.store import MemoryStore

__all__ = ["Observing", "Restoring", "Writer"]


class Writer(Protocol):
    """How records reach the target."""

    async def batches(self, records: Sequence[Record]) -> list[list[Record]]:
        """The records, and where needed more of the source, in the batches in which they are written."""

    async def write(self, records: Sequence[Record]) -> list[str | None]:
        """Write a batch of fitted records. Their ids in the target; None for one that it cannot tell apart."""


class Restoring:
    """Complete records, chain by chain. A repeat is harmless: what is held and equal is skipped.

    What is about to be written is noted first: after a crash the source may hold it otherwise, or no more.
    """

    def __init__(self, target: MemoryStore, fetch: Fetch, fit: Fit, checkpoint: Checkpoint) -> None:
        self._target = target
        self._fit = fit
        self._checkpoint = checkpoint
        self._chains = Chains(fetch, at_once(target.capabilities))

    async def batches(self, records: Sequence[Record]) -> list[list[Record]]:
        return await self._chains.batches(records)

    async def write(self, records: Sequence[Record]) -> list[str | None]:
        marks = {record.id: digest(record, ignoring=self._fit.unheld(record)) for record in records}
        await asyncio.to_thread(self._checkpoint.begin, marks)
        try:
            ids = (await self._target.restore(records)).ids
        except Conflict as error:
            error.add_note(
                f"{self._target.name} holds another version: delete it there, or choose another store"
            )
            raise
        return [ids[record.id] for record in records]


class Observing:
    """Live records, remembered anew, each observation of the source as one where the target takes it.

    A repeat after a crash is told by its idempotency key; where the target has none, what was
    begun and not completed is looked for in the target before it is written again.
    """

    def __init__(self, target: MemoryStore, fit: Fit, checkpoint: Checkpoint) -> None:
        self._target = target
        self._fit = fit
        self._checkpoint = checkpoint
        caps = target.capabilities
        self._most = 1 if caps.duplicates == "merged" else max(1, caps.atomic_facts)

    async def batches(self, records: Sequence[Record]) -> list[list[Record]]:
        groups = [list(group) for _, group in groupby(records, self._observation_of)]
        return [group[n : n + self._most] for group in groups for n in range(0, len(group), self._most)]

    async def write(self, records: Sequence[Record]) -> list[str | None]:
        if self._target.capabilities.idempotency:
            return await self._observe(records, key=_key(records))
        ids = [record.id for record in records]
        interrupted = await asyncio.to_thread(self._checkpoint.begun, ids)
        await asyncio.to_thread(self._checkpoint.begin, dict.fromkeys(ids))
        return await (self._complete(records) if interrupted else self._observe(records))

    async def _complete(self, records: Sequence[Record]) -> list[str | None]:
        """Write those of an interrupted batch that are not in the target yet."""
        found: list[str | None] = []
        for record in records:
            twin = await self._twin(record, found)
            found += [twin] if twin is not None else await self._observe([record])
        return found

    async def _observe(self, records: Sequence[Record], *, key: str | None = None) -> list[str | None]:
        try:
            done = await self._target.observe(self._observation(records, key))
        except Conflict:
            if self._target.capabilities.duplicates == "merged":
                return [None] * len(records)
            raise
        if done.operation is not None and done.operation.status == "pending":
            done = await self._target.wait(done.operation.id)
        if len(done.records) != len(records):
            raise Unavailable(
                f"the target stored {len(done.records)} of {len(records)} records that it was given, "
                f"the first of them {records[0].id!r}",
                store=self._target.name,
                operation="migrate",
            )
        return [record.id for record in done.records]

    def _observation(self, records: Sequence[Record], key: str | None) -> Observation:
        first, said = records[0], records[0].provenance
        if self._fit.as_turn(first):
            return Observation(
                first.scope,
                turns=[_turn(record) for record in records],
                provenance=Provenance(said.conversation_id, said.run_id),
                idempotency_key=key,
            )
        dated = "observed_at" in self._target.capabilities.fact_fields
        return Observation(
            first.scope,
            facts=[_fact(record) for record in records],
            observed_at=first.observed_at if dated else None,
            provenance=Provenance(said.conversation_id, said.run_id, said.author),
            idempotency_key=key,
        )

    def _observation_of(self, record: Record) -> Hashable:
        """Equal for records that one observation can hold, as far as a record tells."""
        said, turn = record.provenance, self._fit.as_turn(record)
        own = (None, None) if turn else (said.author, record.observed_at)
        return (record.scope, record.created_at, said.conversation_id, said.run_id, turn, *own)

    async def _twin(self, record: Record, taken: Sequence[str | None]) -> str | None:
        """The id of a record of the target that is this one, not `taken`, and that nothing was moved to."""
        ignoring = self._fit.unheld(record)
        wanted = digest(record, ignoring=ignoring)
        async for one in self._candidates(record):
            if (
                one.id not in taken
                and digest(one, ignoring=ignoring) == wanted
                and not await asyncio.to_thread(self._checkpoint.held, [one.id])
            ):
                return one.id
        return None

    async def _candidates(self, record: Record) -> AsyncIterator[Record]:
        """Every record of the target in exactly this scope."""
        caps = self._target.capabilities
        if not caps.listing:
            raise Unsupported(
                f"{caps.provider} cannot tell whether record {record.id!r} was written before the interruption; "
                "empty the target, remove the checkpoint, and start again",
                store=self._target.name,
                operation="migrate",
            )
        query: Query | None = Query(record.scope, exact=True, limit=caps.listing)
        while query is not None:
            page = await self._target.recall(query)
            for hit in page.hits:
                yield hit.record
            query = replace(query, cursor=page.cursor) if page.cursor else None


def _turn(record: Record) -> Turn:
    said = record.provenance
    return Turn(
        said.role,  # type: ignore[arg-type]
        record.content,
        speaker=said.author,
        at=record.observed_at,
        attributes=record.attributes,
        tags=record.tags,
    )


def _fact(record: Record) -> Fact:
    return Fact(
        record.content,
        kind=record.kind,
        tags=record.tags,
        attributes=record.attributes,
        expires_at=record.expires_at,
        target=record.target,
        payload=record.payload,
        supports=record.supports,
    )


def _key(records: Sequence[Record]) -> str:
    """Of what is written, and of where it comes from: a record that changed since has another."""
    given = [[record.id, record.revision] for record in records]
    return f"migrate-{hashlib.sha256(json.dumps(given).encode()).hexdigest()[:40]}"
