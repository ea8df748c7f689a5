"""How a refusal must look."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from memhub.conformance.context import Context
from memhub.conformance.expect import equal, raises, true
from memhub.errors import InvalidInput, Unsupported

__all__ = ["Call", "invalid", "refused"]

Call = Callable[[], Awaitable[object]]


async def refused(ctx: Context, operation: str, argument: str, call: Call) -> None:
    """The call raises Unsupported before any I/O, naming provider, operation and argument."""
    before, what = ctx.notes.calls, f"{operation}({argument})"
    error = await raises(Unsupported, call(), what)
    equal(
        (error.provider, error.operation), (ctx.caps.provider, operation), f"provider and operation of {what}"
    )
    for name in (ctx.caps.provider, operation, argument):
        true(name in error.message, f"the refusal of {what} must name {name}; it says: {error.message}")
    equal(ctx.notes.calls, before, f"calls that reached the adapter with {what}")


async def invalid(ctx: Context, field: str, call: Call) -> None:
    """The call raises InvalidInput before any I/O, naming the field."""
    before = ctx.notes.calls
    error = await raises(InvalidInput, call(), f"a bad {field or 'call'}")
    true(field in error.message, f"the error must name {field}; it says: {error.message}")
    equal(ctx.notes.calls, before, f"calls that reached the adapter with a bad {field or 'call'}")
