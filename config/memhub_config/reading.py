"""From a source to a validated configuration; every problem of it is told at once."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, TypeVar

from memhub import Binding, Capabilities, InvalidConfig, InvalidInput
from memhub_config import providers
from memhub_config.bindings import read_bindings
from memhub_config.embedders import EmbedderConfig, read_embedders
from memhub_config.expand import Expanded, expand
from memhub_config.loader import Document, from_file, from_mapping
from memhub_config.models import ROUTING, Section, StoreOptions
from memhub_config.problems import Place, Problems, listed, nearest, spaced
from memhub_config.provider import Provider
from memhub_config.refusals import given_or_empty, validated
from memhub_config.settings import process_settings
from memhub_config.watching import EventsSection

__all__ = ["Config", "Source", "StoreConfig", "load_config"]

Source = str | Path | Mapping[str, object] | None
S = TypeVar("S", bound=Section)

DEFAULT_FILE: Final = Path("memhub.yaml")
DEFAULT_STORE: Final = "memory"
SECTIONS: Final = ("embedders", "stores", "bindings", "events")


@dataclass(frozen=True, slots=True)
class StoreConfig:
    """One store: its provider, that provider's validated settings, and what all stores may say."""

    name: str
    provider: Provider
    settings: Section
    options: StoreOptions


@dataclass(frozen=True, slots=True)
class Config:
    """A valid configuration. `document` knows where everything was said."""

    document: Document
    stores: tuple[StoreConfig, ...]
    bindings: Mapping[str, Binding] = field(default_factory=dict)
    events: EventsSection = field(default_factory=EventsSection)
    embedders: Mapping[str, EmbedderConfig] = field(default_factory=dict)

    def only(self, name: str) -> Config:
        """The same with one of its stores, and its bindings. InvalidInput lists the names when there is no such store."""
        chosen = tuple(store for store in self.stores if store.name == name)
        if not chosen:
            names = listed(repr(store.name) for store in self.stores)
            raise InvalidInput(f"store: no {name!r} here; the stores are {names}")
        bindings = {key: binding for key, binding in self.bindings.items() if binding.store == name}
        return replace(self, stores=chosen, bindings=bindings)


def load_config(source: Source = None, *, environ: Mapping[str, str] | None = None) -> Config:
    """Read and validate a file (its path), or a mapping that was parsed elsewhere.

    None: the file that `MEMHUB_CONFIG` names, else `./memhub.yaml`, else one SQLite store named
    `memory` in the user's data folder. Opens nothing. Raises InvalidConfig with every problem.
    """
    variables = os.environ if environ is None else environ
    document = _document(source, variables)
    problems = document.problems()
    expanded = expand(document, variables, problems)
    embedders = read_embedders(expanded, problems)
    stores = _Reader(expanded, problems).stores()
    _check_embedders(stores, expanded, problems)
    bindings = read_bindings(expanded, problems, _names(expanded))
    given = given_or_empty(expanded.data.get("events"))
    events = validated(EventsSection, given, ("events",), problems, expanded.unset)
    problems.check()
    return Config(document, stores, bindings, events or EventsSection(), embedders)


def _check_embedders(stores: tuple[StoreConfig, ...], expanded: Expanded, problems: Problems) -> None:
    """A provider whose settings have a field `embedder` names one of the section of that name."""
    given = expanded.data.get("embedders")
    known = tuple(given) if isinstance(given, Mapping) else ()
    for store in stores:
        name = getattr(store.settings, "embedder", None)
        if name is not None and name not in known:
            place = ("stores", store.name, store.provider.name, "embedder")
            problems.add(place, f"no embedder {name!r}{nearest(name, known)}; there are {listed(known)}")


def _names(expanded: Expanded) -> tuple[str, ...]:
    """The names of the stores, also of those that are not valid."""
    given = expanded.data.get("stores")
    return tuple(given) if isinstance(given, Mapping) else ()


def _document(source: Source, environ: Mapping[str, str]) -> Document:
    if isinstance(source, str | Path):
        return from_file(Path(source))
    if isinstance(source, Mapping):
        return from_mapping(source)
    if source is not None:
        raise InvalidConfig(f"source: must be a path or a mapping, not {type(source).__name__}")
    named = process_settings(environ).config
    if named is not None or DEFAULT_FILE.exists():
        return from_file(named or DEFAULT_FILE)
    return _built_in()


def _built_in() -> Document:
    import platformdirs

    folder = platformdirs.user_data_path("memhub", appauthor=False)
    path = str(folder / "memory.db").replace("$", "$$")
    stores = {DEFAULT_STORE: {"sqlite": {"path": path}}}
    return Document("built-in configuration", folder, {"stores": stores})


class _Reader:
    def __init__(self, expanded: Expanded, problems: Problems) -> None:
        self._data = expanded.data
        self._unset = expanded.unset
        self._problems = problems
        self._known = providers.known()

    def stores(self) -> tuple[StoreConfig, ...]:
        for name in (*self._data, *self._empty(())):
            if name not in SECTIONS:
                self._problems.add((name,), f"no such section{nearest(name, SECTIONS)}")
        for name in self._empty(("stores",)):
            self._problems.add(("stores", name), f"must hold a provider: one of {listed(self._known)}")
        given = self._data.get("stores")
        if not isinstance(given, Mapping) or not given:
            self._problems.add(("stores",), "must name at least one store")
            return ()
        read = [self._store(name, section) for name, section in given.items()]
        return tuple(store for store in read if store is not None)

    def _store(self, name: str, section: object) -> StoreConfig | None:
        place: Place = ("stores", name)
        if not name or not name.isprintable() or name != name.strip():
            self._problems.add(place, "a store's name is printable text without spaces around it")
        if not isinstance(section, Mapping):
            self._problems.add(place, f"must hold a provider: one of {listed(self._known)}")
            return None
        chosen = [key for key in section if key in self._known]
        options = {key: item for key, item in section.items() if key in StoreOptions.model_fields}
        every = (*section, *self._empty(place))
        strange = [key for key in every if key not in (*self._known, *StoreOptions.model_fields)]
        for key in strange:
            self._problems.add((*place, key), self._unknown(key))
        checked = self._validated(StoreOptions, options, place)
        self._check_requires(checked, place)
        if len(chosen) != 1:
            if chosen or not strange:
                self._problems.add(place, self._not_one(chosen))
            return None
        provider = self._provider(chosen[0], (*place, chosen[0]))
        if provider is None:
            return None
        settings = self._validated(provider.settings, given_or_empty(section[chosen[0]]), (*place, chosen[0]))
        if settings is None or checked is None:
            return None
        return StoreConfig(name, provider, settings, checked)

    def _empty(self, place: Place) -> list[str]:
        """The keys in this place whose values came out empty, and which are not in the data."""
        return [str(given[-1]) for given in self._unset if given[:-1] == place]

    def _unknown(self, key: str) -> str:
        if key in ROUTING:
            return "a scope is given with every call, never in the configuration; remove it"
        fields = tuple(StoreOptions.model_fields)
        near = spaced(key) or nearest(key, (*self._known, *fields))
        return (
            f"no such provider or field{near}; the providers are {listed(self._known)}, "
            f"and the fields {listed(fields)}"
        )

    def _not_one(self, chosen: list[str]) -> str:
        if chosen:
            return f"names {len(chosen)} providers, {' and '.join(chosen)}; keep one"
        return f"names no provider; give one of {listed(self._known)}"

    def _provider(self, name: str, place: Place) -> Provider | None:
        try:
            return providers.load(name)
        except InvalidConfig as found:
            self._problems.add(place, found.message)
            return None

    def _validated(self, model: type[S], section: object, place: Place) -> S | None:
        return validated(model, section, place, self._problems, self._unset)

    def _check_requires(self, options: StoreOptions | None, place: Place) -> None:
        known = Capabilities.names()
        for number, name in enumerate(options.requires if options else ()):
            if name not in known:
                why = f"no such capability{nearest(name, known)}; the names are {listed(known)}"
                self._problems.add((*place, "requires", number), why)
