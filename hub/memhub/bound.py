"""A store as one scope sees it: for agents, and for whatever must not reach further."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar, overload

from memhub import limits, validation
from memhub.blocks import without_blocks
from memhub.errors import InvalidConfig, InvalidInput, NotFound, Unsupported
from memhub.intents import deletion_from, invalidation_from, update_from
from memhub.lookup import check_found, check_ids
from memhub.records import (
    UNSET,
    Fact,
    Observation,
    Observed,
    Patch,
    Query,
    Recalled,
    Record,
    Turn,
    Unset,
)
from memhub.requests import check_limit, check_scope, scopes_asked
from memhub.scope import Scope

if TYPE_CHECKING:
    from memhub.capabilities import Capabilities
    from memhub.reporting import Reporter
    from memhub.verbs import Verbs

__all__ = ["BoundMemory", "Grant", "check_bound"]

T = TypeVar("T")


@dataclass(frozen=True)
class Grant:
    """What a bound memory may reach. `scopes` is what it reads, its own scope first."""

    scopes: tuple[Scope, ...]
    exact: bool
    readonly: bool

    @classmethod
    def of(cls, scope: Scope, read: Sequence[Scope], *, exact: bool, readonly: bool) -> Grant:
        """The grant, checked. Raises InvalidConfig when `read` names `scope` itself."""
        own = check_scope(scope)
        others = [check_scope(one, f"read[{n}]") for n, one in enumerate(_listed(read))]
        if own in others:
            raise InvalidConfig(f"read[{others.index(own)}]: names the bound scope itself; leave it out")
        return cls(tuple(dict.fromkeys((own, *others))), exact=bool(exact), readonly=bool(readonly))

    @cached_property
    def mark(self) -> str:
        """What tells cursors of this grant from those of any other."""
        import hashlib

        told = "\n".join((str(self.exact), *(scope.canonical for scope in self.scopes)))
        return hashlib.sha256(told.encode()).hexdigest()[:16]

    def sees(self, scope: Scope) -> bool:
        """Whether a record of this scope may be read."""
        return any(one == scope if self.exact else one.covers(scope) for one in self.scopes)

    def within(self, asked: Sequence[Scope], *, exact: bool) -> tuple[Scope, ...]:
        """What a query for `asked` may reach of this grant: the intersection of the two."""
        if self.exact:
            found = [
                own for own in self.scopes if any(one == own if exact else one.covers(own) for one in asked)
            ]
        elif exact:
            found = [one for one in asked if self.sees(one)]
        else:
            both = [_meet(own, one) for own in self.scopes for one in asked]
            found = [scope for scope in both if scope is not None]
        return tuple(dict.fromkeys(found))


class BoundMemory:
    """What `MemoryStore.bind` gives: the verbs of a store, within one scope and its read list.

    Observations go to `scope` alone; a query reaches `scopes` and is cut down to what it names of
    them; a record of any other scope is NotFound, in the very words for an id that does not exist.
    Shared records can be read, and not changed. No argument of any call widens this. What a host
    does (scan, stats, purge, restore, sweep, close) is done on the store.

    A recall block that comes back in what is observed is left out of it, see `memhub.blocks`.
    `report` is for what is built on top: it tells the store's observers.
    """

    def __init__(
        self,
        store: Verbs,
        grant: Grant,
        *,
        held: Callable[[Sequence[str], str], Awaitable[Mapping[str, Record]]],
        report: Reporter,
    ) -> None:
        self._store = store
        self._grant = grant
        self._held = held
        self._begun: set[str] = set()
        self.report = report

    @property
    def name(self) -> str:
        """The store's name."""
        return self._store.name

    @property
    def scope(self) -> Scope:
        """What is written to."""
        return self._grant.scopes[0]

    @property
    def scopes(self) -> tuple[Scope, ...]:
        """What is read: `scope`, then those that it may also read. `Query(memory.scopes)` asks for all."""
        return self._grant.scopes

    @property
    def readonly(self) -> bool:
        """Whether every change is Unsupported."""
        return self._grant.readonly

    @property
    def capabilities(self) -> Capabilities:
        """What the opened adapter declares."""
        return self._store.capabilities

    async def observe(self, observation: Observation) -> Observed:
        """Remember facts or turns in the bound scope; InvalidInput for an observation of another.

        Recall blocks in them are left out, and so is a fact or turn that is nothing else. When none
        is left, nothing is stored and `records` is empty.
        """
        self._check_writable("observe")
        if isinstance(observation, Observation):
            if isinstance(observation.scope, Scope) and observation.scope != self.scope:
                raise InvalidInput(f"scope: this memory writes to {self.scope} alone; give that scope")
            fresh = _without_recalled(observation)
            if (observation.facts or observation.turns) and not (fresh.facts or fresh.turns):
                return Observed()
            observation = fresh
        done = await self._store.observe(observation)
        if done.operation is not None:
            self._begun.add(done.operation.id)
        return done

    async def recall(self, query: Query) -> Recalled:
        """What MemoryStore.recall finds in those scopes of the query that are within reach.

        A query that names none of them finds nothing. A cursor belongs to this binding.
        """
        asked, exact = scopes_asked(query)
        limit = check_limit(query.limit)
        cursor = self._opened(query.cursor)
        scopes = self._grant.within(asked, exact=exact)
        if not scopes:
            scopes, exact, limit = (self.scope,), True, 0
        narrowed = replace(query, scope=scopes, exact=exact or self._grant.exact, limit=limit, cursor=cursor)
        found = await self._store.recall(narrowed)
        return found if found.cursor is None else Recalled(found.hits, f"{self._grant.mark}.{found.cursor}")

    @overload
    async def get(self, id: str) -> Record: ...
    @overload
    async def get(self, id: list[str] | tuple[str, ...]) -> list[Record]: ...
    async def get(self, id: str | list[str] | tuple[str, ...]) -> Record | list[Record]:
        """One record by its id, or several in the order given. NotFound for any out of reach."""
        ids = check_ids(id)
        held = await self._held(ids, "get")
        seen = {one: record for one, record in held.items() if self._grant.sees(record.scope)}
        self._check_found("get", ids, seen)
        return seen[id] if isinstance(id, str) else [seen[one] for one in ids]

    async def update(self, id: str, patch: Patch, *, revision: str | None = None) -> Record:
        """Change a record of the bound scope. Returns the new record."""
        self._check_writable("update")
        if isinstance(patch, Patch) and isinstance(patch.content, str):
            patch = replace(patch, content=without_blocks(patch.content))
        update_from(self.capabilities, id, patch, revision)
        await self._check_own("update", id)
        return await self._store.update(id, patch, revision=revision)

    async def invalidate(self, id: str, reason: str | None = None, *, revision: str | None = None) -> Record:
        """Hide a record of the bound scope and keep it as history. Returns the record."""
        self._check_writable("invalidate")
        invalidation_from(self.capabilities, id, reason, revision)
        await self._check_own("invalidate", id)
        return await self._store.invalidate(id, reason, revision=revision)

    async def delete(self, id: str, *, revision: str | None = None) -> None:
        """Forget a record of the bound scope. An expired one is NotFound here; hosts sweep."""
        self._check_writable("delete")
        deletion_from(self.capabilities, id, revision)
        await self._check_own("delete", id)
        await self._store.delete(id, revision=revision)

    async def wait(self, operation_id: str, *, timeout: float | Unset | None = UNSET) -> Observed:
        """What a pending operation came to, if this very object began it; any other is NotFound."""
        validation.identifier("operation_id", operation_id)
        self.capabilities.require("operations", operation="wait")
        if operation_id not in self._begun:
            raise NotFound(
                f"no operation {operation_id!r}",
                provider=self.capabilities.provider,
                store=self.name,
                operation="wait",
            )
        return await self._store.wait(operation_id, timeout=timeout)

    def __repr__(self) -> str:
        return f"<BoundMemory of {self.name!r} for {self.scope!r}>"

    def _check_writable(self, operation: str) -> None:
        if self.readonly:
            raise Unsupported(
                f"this memory was bound for reading alone; {operation} changes it",
                provider=self.capabilities.provider,
                store=self.name,
                operation=operation,
            )

    async def _check_own(self, operation: str, id: str) -> None:
        held = await self._held([id], operation)
        own = [one for one, record in held.items() if record.scope == self.scope]
        self._check_found(operation, [id], own)

    def _check_found(
        self, operation: str, ids: Sequence[str], found: Sequence[str] | Mapping[str, Record]
    ) -> None:
        provider = self.capabilities.provider
        check_found(ids, found, provider=provider, store=self.name, operation=operation)

    def _opened(self, cursor: str | None) -> str | None:
        """The store's cursor in one of ours."""
        if cursor is None:
            return None
        mark, _, inner = validation.text("cursor", cursor, limits.QUERY_CHARS).partition(".")
        if mark != self._grant.mark or not inner:
            raise InvalidInput("cursor: is not one that this memory gave; pass it back unchanged")
        return inner


def check_bound(memory: object) -> BoundMemory:
    """The bound memory itself. InvalidInput for anything else, such as a whole store."""
    if not isinstance(memory, BoundMemory):
        raise InvalidInput(
            f"memory: must be a BoundMemory, as store.bind(scope) gives, not {type(memory).__name__}"
        )
    return memory


def _listed(read: object) -> Sequence[Scope]:
    found: Sequence[Scope] = validation.items("read", read, limits.SCOPES - 1)  # type: ignore[assignment]
    return found


def _meet(one: Scope, other: Scope) -> Scope | None:
    """The scope that covers exactly what both cover, None where there is no such record."""
    if one.name is not None or other.name is not None:
        return one if one == other else None
    pairs = dict(one.pairs)
    if any(pairs.get(key, value) != value for key, value in other.pairs):
        return None
    return Scope(pairs | dict(other.pairs))


def _without_recalled(observation: Observation) -> Observation:
    """The observation without recall blocks, and without what was nothing else."""
    return replace(observation, facts=_cleaned(observation.facts), turns=_cleaned(observation.turns))


def _cleaned(items: Sequence[T]) -> Sequence[T]:
    if not _is_list(items):
        return items
    return [fresh for item in items if (fresh := _clean(item)) is not None]


def _is_list(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _clean(item: T) -> T | None:
    if not isinstance(item, Fact | Turn) or not isinstance(item.content, str):
        return item
    content = without_blocks(item.content)
    if content is item.content:
        return item
    return replace(item, content=content) if content else None
