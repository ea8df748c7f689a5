"""Errors of a provider as the contract's, where no store stands between an adapter and its caller."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from memhub.errors import HubError

__all__ = ["translated"]

T = TypeVar("T")


async def translated(work: Awaitable[T], translate: Callable[[Exception], HubError | None]) -> T:
    """The result of `work`, for opening and upkeep; a store does the same for every verb.

    Raises what `translate` makes of a native error, with no more of it than that keeps as its cause.
    """
    try:
        return await work
    except HubError:
        raise
    except Exception as error:  # noqa: BLE001 - raised below, without the native error as context
        failed = error
    raise translate(failed) or failed
