"""What a provider gives the composition root: its YAML model, and a builder that opens an adapter."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable, Mapping
from contextlib import AbstractAsyncContextManager
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol, TypeVar, cast

from memhub import Adapter, limits
from memhub.embedding import Embedder
from memhub_config.models import Section

__all__ = ["Opened", "OpensEmbedder", "Parts", "Provider", "once_open"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Provider:
    """One provider: register an instance under the entry-point group `memhub.providers`.

    `settings` validates the provider's section of a store. `build` receives the validated
    section and the parts, and returns an opened adapter; the store closes it. `extra` is the
    optional dependency of Memhub that a missing module of the builder is in.
    """

    name: str
    settings: type[Section]
    build: Callable[[Any, Parts], Awaitable[Adapter]]
    extra: str | None = None


class OpensEmbedder(Protocol):
    """A section of `embedders`, validated."""

    def opened(self, parts: Parts) -> AbstractAsyncContextManager[Embedder]: ...


class Opened:
    """What has been opened. Closes in reverse order, all of it, whatever fails."""

    def __init__(self) -> None:
        self._closers: list[Callable[[], Awaitable[object]]] = []

    def push(self, close: Callable[[], Awaitable[object]]) -> None:
        """Call `close` before everything that was pushed earlier."""
        self._closers.append(close)

    async def close(self) -> list[Exception]:
        """Close everything; the errors that came up, in the order they did."""
        errors: list[Exception] = []
        while self._closers:
            try:
                await self._closers.pop()()
            except Exception as error:  # noqa: BLE001 - told by the caller, once everything is closed
                errors.append(error)
        return errors


class Parts:
    """What a builder finds beside its own settings.

    `reembedding`: the store is opened to have its vectors made anew, so those of another embedder
    are no reason to refuse it. `timeout` is the deadline of the store's calls, in seconds.
    """

    def __init__(
        self,
        folder: Path,
        opened: Opened,
        *,
        embedders: Mapping[str, OpensEmbedder] = MappingProxyType({}),
        reembedding: bool = False,
        timeout: float = limits.TIMEOUT,
    ) -> None:
        self._folder = folder
        self._opened = opened
        self._embedders = embedders
        self._shared: dict[Hashable, object] = {}
        self.reembedding = reembedding
        self.timeout = timeout

    def within(self, timeout: float) -> Parts:
        """The same parts for a store whose calls have another deadline."""
        parts = copy(self)
        parts.timeout = timeout
        return parts

    def path(self, given: Path | str) -> Path:
        """A path of the configuration: `~` is the home folder, and a relative one starts at the file's."""
        return self._folder / Path(given).expanduser()

    async def embedder(self, name: str) -> Embedder:
        """The embedder of this name in the section `embedders`, shared by all stores that name it."""
        section = self._embedders[name]
        return await self.share(("embedder", name), lambda: section.opened(self))

    async def share(self, key: Hashable, open: Callable[[], AbstractAsyncContextManager[T]]) -> T:
        """The one thing of this key in the hub: opened for the first store that asks, closed after all."""
        if key not in self._shared:
            manager = open()
            self._shared[key] = await manager.__aenter__()
            self._opened.push(lambda: manager.__aexit__(None, None, None))
        return cast("T", self._shared[key])


async def once_open(adapter: Adapter, opening: Awaitable[object]) -> Adapter:
    """The adapter, once `opening` has opened it; closed again where that comes to nothing."""
    try:
        await opening
    except BaseException:
        await adapter.aclose()
        raise
    return adapter
