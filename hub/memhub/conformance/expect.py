"""What rules say when a promise is broken, or not made. Plain `assert` would vanish under `python -O`."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Final, TypeVar

from memhub.errors import HubError

__all__ = ["Broken", "Skipped", "equal", "raises", "true"]

E = TypeVar("E", bound=HubError)
SHOWN: Final = 200
"""Characters of a value that a message shows."""


class Broken(AssertionError):
    """An adapter breaks the contract. The text says what was found and what was promised."""


class Skipped(Exception):
    """The rule says nothing about this store; the text says why."""


def true(found: object, promise: str) -> None:
    """Raise Broken, naming the promise, unless `found` is true."""
    if not found:
        raise Broken(promise)


def equal(found: object, promised: object, what: str) -> None:
    """Raise Broken, showing both, unless they are equal."""
    if found != promised:
        raise Broken(f"{what}: found {_shown(found)}, not {_shown(promised)}")


async def raises(kind: type[E], call: Awaitable[object], what: str) -> E:
    """The error of that kind which the call must raise; Broken when it raises none, or another."""
    try:
        done = await call
    except kind as error:
        return error
    except HubError as error:
        raise Broken(f"{what}: raises {type(error).__name__} ({error}), not {kind.__name__}") from error
    raise Broken(f"{what}: returns {_shown(done)} and raises no {kind.__name__}")


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}... ({len(text):,} characters)"
