"""Scope: whose memory it is. Owned by the product, opaque to adapters."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from memhub.errors import InvalidInput

__all__ = ["Scope"]


@dataclass(frozen=True, init=False, repr=False)
class Scope:
    """A name, `Scope("player:42")`, or pairs, `Scope(tenant="acme", user="u_42")`; never both.

    Pairs whose keys are no Python names come as a mapping: `Scope({"tenant-id": "acme"})`.
    Texts are compared code point by code point: no folding, no pattern, no prefix.
    Raises InvalidInput for an empty scope, an empty text, or anything that is not text.
    """

    name: str | None
    pairs: tuple[tuple[str, str], ...]

    def __init__(self, of: str | Mapping[str, str] | None = None, /, **labels: str) -> None:
        if of is not None and labels:
            raise InvalidInput("scope: give a name, a mapping of pairs, or pairs as keywords; one of these")
        name, pairs = (None, dict(of)) if isinstance(of, Mapping) else (of, labels)
        if name is None and not pairs:
            raise InvalidInput("scope: is empty; give a name or at least one pair")
        for text in (name,) if name is not None else (*pairs, *pairs.values()):
            if not isinstance(text, str) or not text:
                raise InvalidInput("scope: every name, key and value must be non-empty text")
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "pairs", tuple(sorted(pairs.items())))

    @classmethod
    def parse(cls, canonical: str) -> Scope:
        """The scope whose canonical text this is. Raises InvalidInput when it is none."""
        try:
            value = json.loads(canonical)
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, str | dict):
            raise InvalidInput("scope: canonical text is a JSON string or a JSON object of strings")
        return cls(value)

    @cached_property
    def canonical(self) -> str:
        """JSON: a string for a name, an object with sorted keys for pairs. Equal scopes, equal texts."""
        return _json(self.name if self.name is not None else dict(self.pairs))

    @cached_property
    def labels(self) -> frozenset[str]:
        """What a subset match compares: one JSON text a label, a name of its own kind."""
        if self.name is not None:
            return frozenset((_json(self.name),))
        return frozenset(_json(list(pair)) for pair in self.pairs)

    def covers(self, other: Scope) -> bool:
        """Whether a query for this scope reaches records of `other`: `other` has all these labels."""
        return self.labels <= other.labels

    def __str__(self) -> str:
        return self.name if self.name is not None else self.canonical

    def __repr__(self) -> str:
        return f"Scope({self.name!r})" if self.name is not None else f"Scope({dict(self.pairs)!r})"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
