"""The synchronous face: the same stores, the same names, without await.

One event loop on one thread of its own, made on the first call, runs every call; any number of
threads may call at once. Inside a running event loop every call is refused: await a MemoryStore.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar, overload

from memhub import limits
from memhub.blocking_bound import BlockingBoundMemory, BlockingToolbox, recall_block
from memhub.errors import InvalidInput
from memhub.observers import Observer
from memhub.portal import Portal
from memhub.records import (
    UNSET,
    Observation,
    Observed,
    Page,
    Patch,
    Query,
    Recalled,
    Record,
    Restored,
    Stats,
    Unset,
)
from memhub.scope import Scope

if TYPE_CHECKING:
    from pathlib import Path

    from memhub.capabilities import Capabilities
    from memhub.hub import Hub
    from memhub.store import MemoryStore
    from memhub.upkeep import Progress, Upkeep

__all__ = [
    "BlockingBoundMemory",
    "BlockingHub",
    "BlockingMemoryStore",
    "BlockingToolbox",
    "BlockingUpkeep",
    "recall_block",
]

T = TypeVar("T")


class BlockingMemoryStore:
    """A MemoryStore for code without an event loop. Each verb is that of MemoryStore.

    A call that is interrupted, by Ctrl-C for instance, is cancelled: it is wholly applied or not
    at all. Raises InvalidInput inside a running event loop, and otherwise what MemoryStore raises.
    `portal` is the loop to run on; a store without one makes its own and closes it.
    """

    def __init__(self, store: MemoryStore, *, portal: Portal | None = None) -> None:
        self._store = store
        self._owns_portal = portal is None
        self._portal = portal or Portal()

    @property
    def name(self) -> str:
        """The store's name."""
        return self._store.name

    @property
    def capabilities(self) -> Capabilities:
        """What the opened adapter declares."""
        return self._store.capabilities

    def subscribe(self, observer: Observer, *, content: bool = False) -> Callable[[], None]:
        """Call `observer` with every event from now on; the result ends the subscription."""
        return self._store.subscribe(observer, content=content)

    def bind(
        self, scope: Scope, *, read: Sequence[Scope] = (), exact: bool = True, readonly: bool = False
    ) -> BlockingBoundMemory:
        """The store as one scope sees it, for an agent."""
        return BlockingBoundMemory(
            self._store.bind(scope, read=read, exact=exact, readonly=readonly), self._portal
        )

    def observe(self, observation: Observation) -> Observed:
        """Remember facts or turns, all or nothing."""
        return self._portal.call(lambda: self._store.observe(observation))

    def recall(self, query: Query) -> Recalled:
        """The most relevant records for `text`; without it, the newest first, page by page."""
        return self._portal.call(lambda: self._store.recall(query))

    @overload
    def get(self, id: str) -> Record: ...
    @overload
    def get(self, id: list[str] | tuple[str, ...]) -> list[Record]: ...
    def get(self, id: str | list[str] | tuple[str, ...]) -> Record | list[Record]:
        """One record by its id, or several in the order given."""
        if isinstance(id, str):
            return self._portal.call(lambda: self._store.get(id))
        return self._portal.call(lambda: self._store.get(id))

    def update(self, id: str, patch: Patch, *, revision: str | None = None) -> Record:
        """Change a record; what the patch does not give stays. Returns the new record."""
        return self._portal.call(lambda: self._store.update(id, patch, revision=revision))

    def invalidate(self, id: str, reason: str | None = None, *, revision: str | None = None) -> Record:
        """Hide a record and keep it as history. Returns the record."""
        return self._portal.call(lambda: self._store.invalidate(id, reason, revision=revision))

    def delete(self, id: str, *, revision: str | None = None) -> None:
        """Forget a record."""
        return self._portal.call(lambda: self._store.delete(id, revision=revision))

    def wait(self, operation_id: str, *, timeout: float | Unset | None = UNSET) -> Observed:
        """What a pending operation came to. `timeout` is in seconds; None waits as long as it takes."""
        return self._portal.call(lambda: self._store.wait(operation_id, timeout=timeout))

    def scan(self, cursor: str | None = None, limit: int = limits.LIMIT) -> Page:
        """For hosts: every record of every scope, those of one scope in the order written."""
        return self._portal.call(lambda: self._store.scan(cursor, limit))

    def restore(self, records: Sequence[Record]) -> Restored:
        """For hosts: write complete records as they are."""
        return self._portal.call(lambda: self._store.restore(records))

    def stats(self, scope: Scope | None = None, *, by_scope: bool = False) -> Stats:
        """For hosts: counts of what `scope` covers, or of the whole store."""
        return self._portal.call(lambda: self._store.stats(scope, by_scope=by_scope))

    def purge(self, scope: Scope, *, exact: bool = False) -> int:
        """For hosts: remove all that `scope` covers; returns how many records."""
        return self._portal.call(lambda: self._store.purge(scope, exact=exact))

    def sweep(self) -> int:
        """For hosts: delete what has expired; returns how many records."""
        return self._portal.call(self._store.sweep)

    def reembed(self, *, progress: Progress | None = None) -> int:
        """For hosts: make every vector anew with the configured embedder; returns how many records."""
        return self._portal.call(lambda: self._store.reembed(progress=progress))

    def upkeep(self) -> BlockingUpkeep:
        """For hosts: backup, check and reindex of the store's own files."""
        return BlockingUpkeep(self._store.upkeep(), self._portal)

    def ping(self) -> None:
        """Return when the provider answers."""
        return self._portal.call(self._store.ping)

    def close(self) -> None:
        """Close the adapter, and the loop where it is this store's own; safe twice."""
        try:
            if not self._portal.closed:
                self._portal.call(self._store.aclose)
        finally:
            if self._owns_portal:
                self._portal.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<BlockingMemoryStore {self.name!r} on {self.capabilities.provider}>"


class BlockingUpkeep:
    """`memhub.upkeep.Upkeep` without await."""

    def __init__(self, upkeep: Upkeep, portal: Portal) -> None:
        self._upkeep = upkeep
        self._portal = portal

    def backup(self, target: Path, *, progress: Progress | None = None) -> None:
        """Copy the whole store to a new file; verified before it appears."""
        return self._portal.call(lambda: self._upkeep.backup(target, progress=progress))

    def restore_backup(self, source: Path, *, progress: Progress | None = None) -> None:
        """Replace all that the store holds by a backup, verified first; all or nothing."""
        return self._portal.call(lambda: self._upkeep.restore_backup(source, progress=progress))

    def check(self, *, deep: bool = False) -> list[str]:
        """What is wrong with the files, a line each."""
        return self._portal.call(lambda: self._upkeep.check(deep=deep))

    def reindex(self) -> int:
        """Rebuild the index from the records; returns how many records."""
        return self._portal.call(self._upkeep.reindex)

    def compact(self) -> None:
        """Rewrite the files without unused space."""
        return self._portal.call(self._upkeep.compact)


class BlockingHub(Mapping[str, BlockingMemoryStore]):
    """Stores by name, opened on entry and closed together on exit.

    `opened` is what yields the hub: `memhub_config.open_hub(...)`, or a Hub.
    """

    def __init__(self, opened: AbstractAsyncContextManager[Hub]) -> None:
        self._opened = opened
        self._portal = Portal()
        self._hub: Hub | None = None
        self._stores: dict[str, BlockingMemoryStore] = {}

    def __getitem__(self, name: str) -> BlockingMemoryStore:
        hub = self._opened_hub()
        return self._stores.get(name) or BlockingMemoryStore(hub[name], portal=self._portal)

    @overload
    def get(self, name: str, /) -> BlockingMemoryStore | None: ...
    @overload
    def get(self, name: str, /, default: BlockingMemoryStore | T) -> BlockingMemoryStore | T: ...
    def get(self, name: str, /, default: object = None) -> object:
        """The store of this name, or the default."""
        return self._stores.get(name, default)

    def __contains__(self, name: object) -> bool:
        return name in self._stores

    def __iter__(self) -> Iterator[str]:
        return iter(self._stores)

    def __len__(self) -> int:
        return len(self._stores)

    def bind(self, binding: str, /, **values: str) -> BlockingBoundMemory:
        """The memory that a configured binding gives for these values."""
        return BlockingBoundMemory(self._opened_hub().bind(binding, **values), self._portal)

    def close(self) -> None:
        """Close every store, the last one first, then the loop; safe twice."""
        self._portal.close()

    def __enter__(self) -> Self:
        try:
            self._hub = self._portal.enter(self._opened)
        except BaseException as error:
            self._portal.close(error)
            raise
        self._stores = {
            name: BlockingMemoryStore(store, portal=self._portal) for name, store in self._hub.items()
        }
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._portal.close(error)

    def _opened_hub(self) -> Hub:
        if self._hub is None:
            raise InvalidInput("hub: is not open; use it as `with ... as hub`")
        return self._hub
