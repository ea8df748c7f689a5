"""Records that supersede each other are written together, so that a target with ids of its own links them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence

from memhub import limits
from memhub.errors import Conflict
from memhub.records import Record

__all__ = ["Chains", "links"]

Fetch = Callable[[Sequence[str]], Awaitable[list[Record]]]


def links(record: Record) -> list[str]:
    """The ids of the records before and after in its chain."""
    return [id for id in (record.supersedes, record.superseded_by) if id is not None]


class Chains:
    """Completes records with the rest of their chains. `fetch` looks records up by id.

    `size` is how many go into a batch, where no chain is longer.
    """

    def __init__(self, fetch: Fetch, size: int) -> None:
        self._fetch = fetch
        self._size = size
        self._absent: set[str] = set()

    async def batches(self, records: Iterable[Record]) -> list[list[Record]]:
        """The records and what they are linked with, in their order, in batches that never cut a chain.

        Raises Conflict for a chain that is longer than one batch may be.
        """
        found = await self._completed(records)
        batches: list[list[Record]] = [[]]
        for chain in _chains(found):
            if len(chain) > limits.ITEMS:
                raise Conflict(
                    f"record {chain[0].id!r} belongs to a chain of {len(chain):,} records, "
                    f"more than the {limits.ITEMS:,} that can be written at once; delete some of its history"
                )
            if len(batches[-1]) + len(chain) > max(self._size, len(chain)):
                batches.append([])
            batches[-1] += chain
        order = {id: number for number, id in enumerate(found)}
        return [sorted(batch, key=lambda record: order[record.id]) for batch in batches if batch]

    async def _completed(self, records: Iterable[Record]) -> dict[str, Record]:
        found = {record.id: record for record in records}
        fresh = list(found.values())
        while fresh:
            named = dict.fromkeys(id for record in fresh for id in links(record))
            wanted = [id for id in named if id not in found and id not in self._absent]
            fresh = [one for one in await self._fetch(wanted) if one.id not in found] if wanted else []
            found |= {record.id: record for record in fresh}
            self._absent |= {id for id in wanted if id not in found}
        return found


def _chains(found: dict[str, Record]) -> Iterator[list[Record]]:
    """The records chain by chain; single ones are chains of their own."""
    done: set[str] = set()
    for first in found:
        chain, waiting = [], [first]
        while waiting:
            id = waiting.pop()
            if id in found and id not in done:
                done.add(id)
                chain.append(found[id])
                waiting += links(found[id])
        if chain:
            yield chain
