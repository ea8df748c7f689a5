"""How much of a tree a call is about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from memhub.scope import Scope

__all__ = ["EVERYTHING", "Reach"]


@dataclass(frozen=True, slots=True)
class Reach:
    """The scopes that a query for any of these reaches; all there are where `scopes` is None."""

    scopes: tuple[Scope, ...] | None
    exact: bool = True

    @property
    def listed(self) -> bool:
        """Whether only a look at the root tells which scopes these are."""
        return self.scopes is None or not (self.exact or all(scope.name is not None for scope in self.scopes))

    def covers(self, scope: Scope) -> bool:
        """Whether a scope belongs to it."""
        if self.scopes is None:
            return True
        return scope in self.scopes if self.exact else any(one.covers(scope) for one in self.scopes)


EVERYTHING: Final = Reach(None)
