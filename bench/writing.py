"""What the benchmarks of stores write, and durable writes alone and in batches against a store by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from measure import side_by_side
from texts import Texts

from memhub import Fact, MemoryStore, Observation, Scope


def observation(scope: str, texts: list[str]) -> Observation:
    return Observation(Scope(scope), facts=[Fact(text) for text in texts])


async def alone_and_in_batches(
    store: MemoryStore,
    by_hand: Callable[[str, list[str]], object],
    texts: Texts,
    *,
    calls: int,
    each: int,
    sizes: Sequence[int],
) -> list[dict[str, Any]]:
    """`calls` writes of one record, then `each` writes of each size, all into one scope."""
    rows = []
    for size in (1, *sizes):
        row = await side_by_side(
            f"a batch of {size}" if size > 1 else "one write",
            [texts.memories(size) for _ in range(each if size > 1 else calls)],
            lambda some: by_hand("0", some),
            lambda some: store.observe(observation("0", some)),
        )
        rows.append(row if size == 1 else row | {"records_per_s": round(1000 * size / row["memhub_ms"])})
    return rows
