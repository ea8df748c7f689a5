"""Bindings by name: who may write where and read what, said once, by the host.

A binding holds templates; the product gives the values: `hub.bind("player", player="42")` fills
`{player}` into `player:{player}` or `{"user": "{player}"}`. `{{` and `}}` are plain braces. A text
takes one value at most, so that two values can never run together into a third.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from memhub.errors import InvalidConfig, InvalidInput
from memhub.requests import check_scope
from memhub.scope import Scope

if TYPE_CHECKING:
    from memhub.bound import BoundMemory
    from memhub.store import MemoryStore

__all__ = ["Binding", "ScopeTemplate"]

_PART: Final = re.compile(r"\{\{|\}\}|\{([A-Za-z_]\w*)\}|[{}]", re.ASCII)


class ScopeTemplate:
    """A scope with places for values. Raises InvalidConfig for a text that is no template."""

    def __init__(self, of: str | Mapping[str, str]) -> None:
        self._of = of if isinstance(of, str) else dict(of)
        texts = [of] if isinstance(of, str) else [*of.values()]
        self.values = frozenset(name for text in texts for name in _values(text))
        check_scope(self.fill(dict.fromkeys(self.values, "value")))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ScopeTemplate) and self._of == other._of

    def __hash__(self) -> int:
        return hash(self._of if isinstance(self._of, str) else frozenset(self._of.items()))

    def fill(self, values: Mapping[str, str]) -> Scope:
        """The scope with these values in their places."""
        if isinstance(self._of, str):
            return Scope(_filled(self._of, values))
        return Scope({key: _filled(text, values) for key, text in self._of.items()})


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """How a store is bound. `read` are the scopes that it may also read, all in the same store."""

    store: str
    scope: ScopeTemplate
    read: tuple[ScopeTemplate, ...] = ()
    exact: bool = True
    readonly: bool = False

    @property
    def values(self) -> frozenset[str]:
        """The names of the values that it needs."""
        return self.scope.values.union(*(template.values for template in self.read))

    def bind(self, store: MemoryStore, values: Mapping[str, str]) -> BoundMemory:
        """The memory for these values. InvalidInput when one is missing, blank, or unknown."""
        for name in sorted({*self.values, *values}):
            if name not in values:
                raise InvalidInput(f"{name}: is required here; the values are {_listed(self.values)}")
            if name not in self.values:
                raise InvalidInput(f"{name}: is no value here; the values are {_listed(self.values)}")
            if not isinstance(values[name], str) or not values[name].strip():
                raise InvalidInput(f"{name}: must be non-blank text")
        read = [template.fill(values) for template in self.read]
        return store.bind(self.scope.fill(values), read=read, exact=self.exact, readonly=self.readonly)


def _values(text: str) -> Iterable[str]:
    names = []
    for part in _PART.finditer(text):
        if part[0] in "{}":
            raise InvalidConfig(f"has a lone {part[0]}; a value is {{name}}, and a plain brace is doubled")
        if part[1] is not None:
            names.append(part[1])
    if len(names) > 1:
        raise InvalidConfig("takes two values in one text, where they could run together; use pairs")
    return names


def _filled(text: str, values: Mapping[str, str]) -> str:
    return _PART.sub(lambda part: part[0][0] if part[1] is None else values[part[1]], text)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "none"
