"""Providers by name: ours, and what other packages register. None is imported before it is named."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from importlib.metadata import EntryPoint, entry_points
from typing import Final

from memhub import InvalidConfig
from memhub_config.models import ROUTING, Section, StoreOptions
from memhub_config.provider import Provider

__all__ = ["BUILT_IN", "GROUP", "known", "load"]

GROUP: Final = "memhub.providers"
"""The entry-point group of third-party providers."""

BUILT_IN: Final = ("in_memory", "sqlite", "markdown", "qdrant", "postgres", "mem0", "volc_memory", "none")
"""Our own, each a module here with a `PROVIDER`."""


def known() -> tuple[str, ...]:
    """The names of every provider that a store may use; ours first."""
    return (*BUILT_IN, *sorted(_registered()))


def load(name: str) -> Provider:
    """The provider of a known name. InvalidConfig when it cannot be imported, or is none."""
    if name in BUILT_IN:
        found = importlib.import_module(f"{__name__}.{name}").PROVIDER
    else:
        found = _load_entry(_registered()[name])
    return _checked(name, found)


def _registered() -> dict[str, EntryPoint]:
    """Entry points by name. InvalidConfig for a name that is taken."""
    entries = set(entry_points(group=GROUP))
    found: dict[str, EntryPoint] = {}
    for entry in sorted(entries, key=lambda entry: (entry.name, entry.value)):
        if entry.name in found or entry.name in BUILT_IN or entry.name in StoreOptions.model_fields:
            others = [entry] if entry.name not in found else [found[entry.name], entry]
            raise InvalidConfig(
                f"provider {entry.name!r}: the name is taken more than once, by {_packages(others)}; uninstall one"
            )
        found[entry.name] = entry
    return found


def _load_entry(entry: EntryPoint) -> object:
    try:
        loaded: object = entry.load()
    except Exception as found:  # noqa: BLE001 - another package's import may fail in any way
        why = type(found).__name__
    else:
        return loaded
    raise InvalidConfig(f"provider {entry.name!r}: {_packages([entry])} fails to import with {why}")


def _checked(name: str, found: object) -> Provider:
    if not isinstance(found, Provider) or found.name != name:
        raise InvalidConfig(
            f"provider {name!r}: its entry point must be a memhub_config.Provider of that name"
        )
    if not (isinstance(found.settings, type) and issubclass(found.settings, Section)):
        raise InvalidConfig(f"provider {name!r}: its settings must derive from memhub_config.Section")
    if taken := sorted(ROUTING & set(found.settings.model_fields)):
        raise InvalidConfig(f"provider {name!r}: has the field {taken[0]}, but a scope is given per call")
    return found


def _packages(entries: Iterable[EntryPoint]) -> str:
    return " and ".join(entry.dist.name if entry.dist else entry.value for entry in entries)
