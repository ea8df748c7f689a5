"""Hub: the named stores of one process, closed together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar, overload

from memhub.errors import InvalidInput
from memhub.store import MemoryStore

if TYPE_CHECKING:
    from memhub.bindings import Binding
    from memhub.bound import BoundMemory

__all__ = ["Hub"]

T = TypeVar("T")


class Hub(Mapping[str, MemoryStore]):
    """Stores by name, and bindings of them. `hub[unknown]` is InvalidInput and lists the names.

    `aclose` closes in reverse order, every store even if one fails, then raises what failed:
    the one error, or an ExceptionGroup of several.
    """

    def __init__(
        self, stores: Mapping[str, MemoryStore], bindings: Mapping[str, Binding] | None = None
    ) -> None:
        self._stores = dict(stores)
        self._bindings = dict(bindings or {})

    def __getitem__(self, name: str) -> MemoryStore:
        try:
            return self._stores[name]
        except KeyError:
            known = ", ".join(map(repr, self._stores)) or "none"
            raise InvalidInput(f"store: no {name!r} here; the stores are {known}") from None

    @overload
    def get(self, name: str, /) -> MemoryStore | None: ...
    @overload
    def get(self, name: str, /, default: MemoryStore | T) -> MemoryStore | T: ...
    def get(self, name: str, /, default: object = None) -> object:
        """The store of this name, or the default."""
        return self._stores.get(name, default)

    def __contains__(self, name: object) -> bool:
        return name in self._stores

    def __iter__(self) -> Iterator[str]:
        return iter(self._stores)

    def __len__(self) -> int:
        return len(self._stores)

    def bind(self, binding: str, /, **values: str) -> BoundMemory:
        """The memory that a configured binding gives for these values.

        InvalidInput for an unknown binding, or a value that is missing, blank or unknown.
        """
        found = self._bindings.get(binding)
        if found is None:
            known = ", ".join(map(repr, self._bindings)) or "none"
            raise InvalidInput(f"binding: no {binding!r} here; the bindings are {known}")
        return found.bind(self[found.store], values)

    async def aclose(self) -> None:
        """Close every store, the last one first."""
        errors = []
        for store in reversed(list(self._stores.values())):
            try:
                await store.aclose()
            except Exception as error:  # noqa: BLE001 - raised below, once every store is closed
                errors.append(error)
        if len(errors) == 1:
            raise errors[0]
        if errors:
            raise ExceptionGroup("several stores failed to close", errors)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()
