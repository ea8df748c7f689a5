"""One fault: an adapter or a store that is wrong in one way, and the rules that must notice."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from memhub import MemoryStore
from memhub.adapter import Read, Write
from memhub.conformance.context import MakeStore
from memhub.records import Hit, Observed, Page, Patch, Recalled, Record
from memhub.search.indexing import change
from memhub_adapters.in_memory import InMemoryAdapter
from memhub_adapters.in_memory.adapter import _copied


@dataclass(frozen=True)
class Fault:
    name: str
    make: type[InMemoryAdapter]
    rules: frozenset[str]
    store: MakeStore = MemoryStore
    widely: bool = False


FAULTS: list[Fault] = []


def breaks(*rules: str, widely: bool = False) -> Callable[[type[InMemoryAdapter]], type[InMemoryAdapter]]:
    """Put an adapter on the shelf: exactly these rules must fail on it; `widely`, these and others."""

    def shelved(adapter: type[InMemoryAdapter]) -> type[InMemoryAdapter]:
        FAULTS.append(Fault(adapter.__name__, adapter, frozenset(rules), widely=widely))
        return adapter

    return shelved


def store_breaks(
    *rules: str, over: type[InMemoryAdapter] = InMemoryAdapter
) -> Callable[[type[MemoryStore]], type[MemoryStore]]:
    """Put a store on the shelf: exactly these rules must fail on it, over a sound adapter."""

    def shelved(store: type[MemoryStore]) -> type[MemoryStore]:
        FAULTS.append(Fault(f"{store.__name__} over {over.__name__}", over, frozenset(rules), store))
        return store

    return shelved


class Bent(InMemoryAdapter):
    """An in-memory adapter with places to bend: what is written, kept, shown, asked and found."""

    def written(self, write: Write) -> Write:
        return write

    def kept(self, record: Record) -> Record:
        return record

    def shown(self, record: Record) -> Record:
        return record

    def asked(self, read: Read) -> Read:
        return read

    def found(self, read: Read, hits: Sequence[Hit]) -> Sequence[Hit]:
        return hits

    def held(self, id: str) -> Record:
        """The record as it is stored; NotFound where it is not."""
        return self._find(id).record

    def store(self, record: Record) -> Record:
        """Put a changed record in the place of the one that has its id."""
        change(self._rooms, self._find(record.id), record)
        return record

    async def observe(self, write: Write) -> Observed:
        done = await super().observe(self.written(write))
        return replace(
            done, records=tuple(self.shown(_copied(self.held(record.id))) for record in done.records)
        )

    async def recall(self, read: Read) -> Recalled:
        found = await super().recall(self.asked(read))
        hits = [replace(hit, record=self.shown(hit.record)) for hit in found.hits]
        return replace(found, hits=tuple(self.found(read, hits)))

    async def get(self, ids: Sequence[str], *, now: datetime) -> list[Record]:
        return [self.shown(record) for record in await super().get(ids, now=now)]

    async def update(self, id: str, patch: Patch, *, revision: str | None, now: datetime) -> Record:
        return self.shown(await super().update(id, patch, revision=revision, now=now))

    async def invalidate(self, id: str, reason: str | None, *, revision: str | None, now: datetime) -> Record:
        return self.shown(await super().invalidate(id, reason, revision=revision, now=now))

    async def scan(self, cursor: str | None, limit: int, *, now: datetime) -> Page:
        page = await super().scan(cursor, limit, now=now)
        return replace(page, records=tuple(map(self.shown, page.records)))

    def _insert(self, record: Record) -> None:
        super()._insert(self.kept(record))
