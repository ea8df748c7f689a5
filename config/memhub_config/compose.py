"""The composition root itself: builds what a configuration names, owns it, closes it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from memhub import Adapter, Hub, HubError, InvalidConfig, MemoryStore, Unavailable
from memhub.calls import Clock, utc_now
from memhub.errors import NativeError
from memhub.observers import Observer, check_observer
from memhub_config.problems import listed
from memhub_config.provider import Opened, Parts
from memhub_config.reading import Config, Source, StoreConfig, load_config
from memhub_config.watching import watchers

if TYPE_CHECKING:
    from memhub.blocking import BlockingHub

__all__ = ["compose", "open_blocking_hub", "open_hub"]


@asynccontextmanager
async def open_hub(
    source: Source = None,
    *,
    environ: Mapping[str, str] | None = None,
    clock: Clock = utc_now,
    observers: Sequence[Observer] = (),
    adapters: Mapping[str, Adapter] | None = None,
) -> AsyncIterator[Hub]:
    """A hub with every store that a configuration names, as an async context manager.

    `source` is the path of a file, a parsed mapping, or None for `MEMHUB_CONFIG`, else
    `./memhub.yaml`, else one SQLite store named `memory` in the user's data folder. `environ`
    stands in for the process's environment. `observers` watch every store. `adapters` holds, by
    store name, opened adapters to use in place of the configured provider; they stay the
    caller's and are not closed here. Raises InvalidConfig before anything is opened.
    """
    config = load_config(source, environ=environ)
    async with compose(config, clock=clock, observers=observers, adapters=adapters) as hub:
        yield hub


def open_blocking_hub(
    source: Source = None,
    *,
    environ: Mapping[str, str] | None = None,
    clock: Clock = utc_now,
    observers: Sequence[Observer] = (),
    adapters: Mapping[str, Adapter] | None = None,
) -> BlockingHub:
    """What `open_hub` opens, without await, as an ordinary context manager."""
    from memhub.blocking import BlockingHub

    return BlockingHub(open_hub(source, environ=environ, clock=clock, observers=observers, adapters=adapters))


@asynccontextmanager
async def compose(
    config: Config,
    *,
    clock: Clock = utc_now,
    observers: Sequence[Observer] = (),
    adapters: Mapping[str, Adapter] | None = None,
    reembedding: bool = False,
) -> AsyncIterator[Hub]:
    """Open the stores of a validated configuration, in its order; close them in reverse.

    `reembedding`: to have vectors made anew, so those of another embedder are no reason to refuse.
    When one fails to open, those before it are closed. Every close is tried: its error, or an
    ExceptionGroup of several, is raised; beside an error of the body they become notes on it.
    """
    given = adapters or {}
    _check_given(config, given)
    for observer in observers:
        check_observer(observer)
    watching = watchers(config.events, config.document)
    opened = Opened()
    parts = Parts(config.document.folder, opened, embedders=config.embedders, reembedding=reembedding)
    try:
        stores: dict[str, MemoryStore] = {}
        for store in config.stores:
            injected = given.get(store.name)
            adapter = await _built(store, parts) if injected is None else injected
            stores[store.name] = _store(store, adapter, clock, observers, owned=injected is None)
            opened.push(stores[store.name].aclose)
            for observer in watching:
                stores[store.name].subscribe(observer, content=config.events.content)
            _check_requires(config, store, adapter)
        yield Hub(stores, config.bindings)
    except BaseException as error:
        for failed in await _closed(opened):
            error.add_note(
                f"closing failed too: {failed if isinstance(failed, HubError) else type(failed).__name__}"
            )
        raise
    _raise_all(await _closed(opened))


def _store(
    store: StoreConfig, adapter: Adapter, clock: Clock, observers: Sequence[Observer], *, owned: bool
) -> MemoryStore:
    return MemoryStore(
        adapter,
        name=store.name,
        clock=clock,
        timeout=store.options.timeout,
        retry=store.options.retry.retry(),
        observers=observers,
        owns_adapter=owned,
    )


async def _built(store: StoreConfig, parts: Parts) -> Adapter:
    """The provider's adapter, opened and noted for closing. Any failure becomes a HubError."""
    try:
        return await store.provider.build(store.settings, parts.within(store.options.timeout))
    except HubError as found:
        found.store, found.provider = found.store or store.name, found.provider or store.provider.name
        raise
    except ModuleNotFoundError as found:
        error: HubError = _missing(store, found.name or "a module")
    except Exception as found:  # noqa: BLE001 - a provider of another package may fail in any way
        error = _defect(store, found)
    # Raised out here, so that no native error, whose text could hold a secret, hangs on as __context__.
    raise error


def _missing(store: StoreConfig, module: str) -> InvalidConfig:
    extra = store.provider.extra
    remedy = f"pip install 'memhub[{extra}]'" if extra else "install it"
    return InvalidConfig(
        f"{store.provider.name} needs the module {module}, which is not installed; {remedy}",
        provider=store.provider.name,
        store=store.name,
    )


def _defect(store: StoreConfig, found: Exception) -> Unavailable:
    kind = type(found).__name__
    error = Unavailable(
        f"the provider failed to open with {kind}", provider=store.provider.name, store=store.name
    )
    error.__cause__ = NativeError(kind).with_traceback(found.__traceback__)
    return error


def _check_given(config: Config, given: Mapping[str, Adapter]) -> None:
    names = [store.name for store in config.stores]
    if unknown := [name for name in given if name not in names]:
        raise InvalidConfig(f"adapters: no store {unknown[0]!r}; the stores are {listed(map(repr, names))}")


def _check_requires(config: Config, store: StoreConfig, adapter: Adapter) -> None:
    problems = config.document.problems()
    missing = adapter.capabilities.missing(store.options.requires)
    for number, name in enumerate(store.options.requires):
        if name in missing:
            place = ("stores", store.name, "requires", number)
            problems.add(place, f"{adapter.capabilities.provider} has no {name}: {missing[name]}")
    problems.check()


async def _closed(opened: Opened) -> list[Exception]:
    """Close everything, also while the task is being cancelled; what failed."""
    import anyio

    errors: list[Exception] = []
    with anyio.CancelScope(shield=True):
        errors += await opened.close()
    return errors


def _raise_all(errors: list[Exception]) -> None:
    if len(errors) == 1:
        raise errors[0]
    if errors:
        raise ExceptionGroup("several stores failed to close", errors)
