"""From a command to an open store, and back."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

from memhub import Hub, MemoryStore
from memhub_config.cli.options import usage
from memhub_config.compose import compose
from memhub_config.problems import listed
from memhub_config.reading import Config, load_config

__all__ = ["chosen", "on_hub", "on_store"]

T = TypeVar("T")


def on_store(
    path: Path | None,
    store: str | None,
    work: Callable[[MemoryStore], Awaitable[T]],
    *,
    reembedding: bool = False,
) -> T:
    """What `work` returns for one opened store, which is closed again; `reembedding` as in `compose`."""
    config = chosen(load_config(path), store)
    (only,) = config.stores
    return on_hub(config, lambda hub: work(hub[only.name]), reembedding=reembedding)


def on_hub(config: Config, work: Callable[[Hub], Awaitable[T]], *, reembedding: bool = False) -> T:
    """What `work` returns for the opened stores of a configuration, which are closed again."""

    async def run() -> T:
        async with compose(config, reembedding=reembedding) as hub:
            return await work(hub)

    return asyncio.run(run())


def chosen(config: Config, store: str | None) -> Config:
    """The configuration of one store: the named one, or the only one."""
    if store is None and len(config.stores) > 1:
        names = listed(store.name for store in config.stores)
        usage(f"no store; give --store NAME, one of {names}")
    return config.only(config.stores[0].name if store is None else store)
