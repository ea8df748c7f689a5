"""What a bound memory holds for a text, as one block for a model's prompt."""

from __future__ import annotations

from collections.abc import Iterable
from time import perf_counter
from typing import Final

from memhub import validation
from memhub.blocks import SMALLEST, Entry, RecallBlock, assemble
from memhub.bound import BoundMemory, check_bound
from memhub.records import Query

__all__ = ["BUDGET", "HITS", "recall_block"]

BUDGET: Final = 4_000
"""Characters of a block, where the caller does not say."""

PROFILE: Final = 50
"""Most profile records in a block."""

HITS: Final = 20
"""Most records beside the profile, where the caller does not say."""


async def recall_block(
    memory: BoundMemory,
    text: str | None = None,
    *,
    budget: int = BUDGET,
    limit: int = HITS,
    explain: bool = False,
) -> RecallBlock:
    """What `memory` holds for `text`: profile records, then at most `limit` hits, best first.

    `budget` is in characters, at least 400, for the whole block. The same memories and text give the
    same block. Without a text, or where it holds no word, the newest records stand in for hits.
    `explain` fills in `why` of each entry; the text stays the same. Raises what recall raises.
    """
    check_bound(memory)
    validation.budget(budget, SMALLEST)
    started = perf_counter()
    profile = await _profile(memory)
    found = await _found(memory, text, limit=limit, explain=explain)
    block = assemble([*profile, *_without(found, profile)], budget=budget)
    memory.report.assembled(block, text, perf_counter() - started)
    return block


async def _profile(memory: BoundMemory) -> list[Entry]:
    declared = memory.capabilities
    if not (declared.filters.kinds and declared.listing):
        return []
    query = Query(memory.scopes, kinds=["profile"], limit=min(PROFILE, declared.listing))
    found = await memory.recall(query)
    return [Entry(hit.record, "profile", rank) for rank, hit in enumerate(found.hits, 1)]


async def _found(memory: BoundMemory, text: str | None, *, limit: int, explain: bool) -> list[Entry]:
    from memhub.search import has_words

    if text is not None and has_words(validation.clean("text", text)):
        found = await memory.recall(Query(memory.scopes, text=text, limit=limit, explain=explain))
        return [Entry(hit.record, "match", rank, hit.why) for rank, hit in enumerate(found.hits, 1)]
    if not memory.capabilities.listing:
        return []
    listed = await memory.recall(Query(memory.scopes, limit=min(limit, memory.capabilities.listing)))
    return [Entry(hit.record, "recent", rank) for rank, hit in enumerate(listed.hits, 1)]


def _without(entries: Iterable[Entry], others: Iterable[Entry]) -> list[Entry]:
    known = {entry.record.id for entry in others}
    return [entry for entry in entries if entry.record.id not in known]
