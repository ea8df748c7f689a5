"""What a rule is given: a store, a clock to move, scopes of its own, and short ways to write and read."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final, Protocol, TypedDict, Unpack

from memhub import limits
from memhub.adapter import Adapter
from memhub.calls import Clock as AnyClock
from memhub.capabilities import Capabilities
from memhub.conformance.clock import Clock
from memhub.conformance.expect import Broken, Skipped
from memhub.conformance.settled import Patience, Settled
from memhub.conformance.watched import Notes, Watched
from memhub.records import Fact, Observation, Observed, Provenance, Query, Record, Turn
from memhub.scope import Scope
from memhub.store import MemoryStore

__all__ = ["Context", "MakeStore", "Setting"]

COMMON: Final = "memory"
"""The word that texts hold where a rule must find them in stores that cannot list."""

MOST_PAGES: Final = 2 * limits.LIMIT
"""More pages than any rule fills."""


class Options(TypedDict, total=False):
    """What an observation may be given: its scope, observed_at, provenance and idempotency key."""

    scope: Scope | None
    at: datetime | None
    provenance: Provenance | None
    key: str | None


class MakeStore(Protocol):
    """How a store is put over an adapter: MemoryStore itself, or what a test puts in its place."""

    def __call__(self, adapter: Adapter, /, *, name: str, clock: AnyClock) -> MemoryStore: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """Where rules run. `live`: the store is in use, so rules leave alone what is not theirs.

    `run` is in the name of every scope that the rules use, after the word "conformance".
    `leftovers` counts the traces of a text in the store's own files, None where it cannot.
    `open_again` opens a second adapter over the same data, as another process would.
    """

    name: str = "conformance"
    run: str = field(default_factory=lambda: secrets.token_hex(4))
    clock: Clock = field(default_factory=Clock)
    live: bool = False
    leftovers: Callable[[str], Awaitable[int | None]] | None = None
    open_again: Callable[[], AbstractAsyncContextManager[Adapter] | None] | None = None
    patience: Patience = field(default_factory=Patience)
    make_store: MakeStore = MemoryStore


class Context:
    """One run of one rule. `store` is a MemoryStore whose present is `clock`.

    After a run in a store in use, `left` says why something that the rule wrote is still there.
    """

    def __init__(self, adapter: Adapter, setting: Setting) -> None:
        self.adapter = adapter
        self.notes = Notes()
        self.clock = setting.clock
        self.live = setting.live
        self._setting = setting
        self._mark = setting.run + secrets.token_hex(3)
        self.left: str | None = None
        self._stores: list[MemoryStore] = []
        self.store = self._over(adapter)
        self.caps: Capabilities = adapter.capabilities

    @property
    def page(self) -> int:
        """The largest page that the adapter lists."""
        return min(self.caps.listing, limits.LIMIT)

    def scope(self, label: str = "first") -> Scope:
        """A scope of this run alone; the same label gives the same scope."""
        return Scope(self.unique(label))

    def unique(self, text: str) -> str:
        """The text after a mark of this run: for labels, ids and keys that nobody else has."""
        return f"conformance {self._mark} {text}"

    async def keep(self, what: str | Fact | Turn, **options: Unpack[Options]) -> Record:
        """Store one thing in one observation. Plain text is a fact, or a turn where facts are not kept."""
        return (await self.keep_all(what, **options))[0]

    async def keep_all(self, *what: str | Fact | Turn, **options: Unpack[Options]) -> tuple[Record, ...]:
        """Store several in one observation; the records, in order. Broken where not one each comes back."""
        done = await self.observe(*what, **options)
        if len(done.records) != len(what):
            raise Broken(f"observe: returns {len(done.records)} records for {len(what)} things to keep")
        return done.records

    async def observe(self, *what: str | Fact | Turn, **options: Unpack[Options]) -> Observed:
        """Store several, waiting for the provider where the operation is pending."""
        done = await self.store.observe(self.observation(*what, **options))
        pending = done.operation is not None and done.operation.status == "pending"
        return await self.store.wait(done.operation.id) if done.operation and pending else done

    def observation(self, *what: str | Fact | Turn, **options: Unpack[Options]) -> Observation:
        """An observation, in the first scope where none is given."""
        items = [self._item(one) if isinstance(one, str) else one for one in what]
        return Observation(
            options.get("scope") or self.scope(),
            facts=[item for item in items if isinstance(item, Fact)],
            turns=[item for item in items if isinstance(item, Turn)],
            observed_at=options.get("at"),
            provenance=options.get("provenance"),
            idempotency_key=options.get("key"),
        )

    async def listed(self, query: Query | None = None) -> list[Record]:
        """Every record of a listing, page by page; of the first scope where no query is given."""
        query = query or Query(self.scope(), limit=self.page)
        if query.text is None:
            query = replace(query, limit=min(query.limit, self.page))
        records: list[Record] = []
        for _ in range(MOST_PAGES):
            found = await self.store.recall(query)
            records += [hit.record for hit in found.hits]
            if found.cursor is None:
                return records
            query = replace(query, cursor=found.cursor)
        raise Broken(f"a listing: has not ended after {MOST_PAGES:,} pages")

    async def texts(self, query: Query | None = None) -> list[str]:
        """The contents that a query finds, in order, every page."""
        return [record.content for record in await self.listed(query)]

    async def search(self, text: str, *, scope: Scope | None = None, limit: int = 100) -> list[str]:
        """The contents that a search by words finds, best first."""
        return await self.texts(Query(scope or self.scope(), text=text, limit=limit, mode="keyword"))

    async def records(self, scope: Scope | None = None, *, exact: bool = False) -> list[Record]:
        """What a scope holds: listed, or searched for by the word "memory" where nothing lists."""
        wanted = scope or self.scope()
        if self.caps.listing:
            return await self.listed(Query(wanted, exact=exact, limit=self.page))
        return await self.listed(Query(wanted, exact=exact, text=COMMON, limit=limits.LIMIT))

    async def seen(self, scope: Scope | None = None, *, exact: bool = False) -> list[str]:
        """The contents of `records`, sorted."""
        return sorted(record.content for record in await self.records(scope, exact=exact))

    async def leftovers(self, text: str) -> int:
        """How many traces of a text the store's own files hold. Skips the rule where nobody can tell."""
        count = await self._setting.leftovers(text) if self._setting.leftovers else None
        if count is None:
            raise Skipped("nobody told the kit how to look into the store's own files (leftovers)")
        return count

    @asynccontextmanager
    async def open_again(self) -> AsyncIterator[MemoryStore]:
        """A second store over the same data. Skips the rule where nobody can open one."""
        opened = self._setting.open_again() if self._setting.open_again else None
        if opened is None:
            raise Skipped("nobody told the kit how to open the data a second time (open_again)")
        async with opened as adapter:
            yield self._over(adapter)

    async def aclose(self) -> None:
        """Close the stores of this run, and leave their adapters as they are."""
        self.notes.over = True
        for store in self._stores:
            await store.aclose()

    def _item(self, text: str) -> Fact | Turn:
        return Fact(text) if self.caps.facts == "verbatim" else Turn("user", text)

    def _over(self, adapter: Adapter) -> MemoryStore:
        if adapter.capabilities.consistency == "eventual":
            adapter = Settled(adapter, self._setting.patience)
        watched = Watched(adapter, self.notes)
        store = self._setting.make_store(watched, name=self._setting.name, clock=self.clock)
        self._stores.append(store)
        return store
