"""The other direction, writing: what is not declared is refused before any I/O, by name."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import Final

from memhub.conformance.context import Context
from memhub.conformance.definition import rule
from memhub.conformance.rules.refusing import refused
from memhub.records import Fact, Provenance, Turn

FACTS: Final = {
    "kind": Fact("x", kind="profile"),
    "tags": Fact("x", tags=["a"]),
    "attributes": Fact("x", attributes={"a": 1}),
    "target": Fact("x", target="a"),
    "payload": Fact("x", payload={"a": 1}),
    "supports": Fact("x", supports=["a"]),
}
TURNS: Final = {
    "speaker": Turn("user", "x", speaker="Ann"),
    "attributes": Turn("user", "x", attributes={"a": 1}),
    "tags": Turn("user", "x", tags=["a"]),
}


@rule(lacks=["facts"])
async def undeclared_facts_are_refused(ctx: Context) -> None:
    """A store that keeps no facts refuses them."""
    await refused(ctx, "observe", "facts", lambda: ctx.keep(Fact("x")))


@rule(lacks=["turns"])
async def undeclared_turns_are_refused(ctx: Context) -> None:
    """A store that keeps no turns refuses them."""
    await refused(ctx, "observe", "turns", lambda: ctx.keep(Turn("user", "x")))


@rule(needs=["facts"], lacks=["facts.all"])
async def undeclared_fields_of_facts_are_refused(ctx: Context) -> None:
    """What a store cannot keep of a fact is refused, never dropped."""
    for name, fact in FACTS.items():
        if name not in ctx.caps.fact_fields:
            await refused(ctx, "observe", name, partial(ctx.keep, fact))
    fact, then = Fact("x"), ctx.clock() - timedelta(days=1)
    if "observed_at" not in ctx.caps.fact_fields:
        await refused(ctx, "observe", "observed_at", lambda: ctx.keep(fact, at=then))
    if "provenance" not in ctx.caps.fact_fields:
        await refused(ctx, "observe", "provenance", lambda: ctx.keep(fact, provenance=Provenance("c")))


@rule(needs=["turns"], lacks=["turns.all"])
async def undeclared_fields_of_turns_are_refused(ctx: Context) -> None:
    """What a store cannot keep of a turn is refused, never dropped."""
    if "role" not in ctx.caps.turn_fields:
        await refused(ctx, "observe", "role", partial(ctx.keep, Turn("user", "x")))
        return
    turns = {**TURNS, "at": Turn("user", "x", at=ctx.clock() - timedelta(days=1))}
    for name, turn in turns.items():
        if name not in ctx.caps.turn_fields:
            await refused(ctx, "observe", name, partial(ctx.keep, turn))
    if "provenance" not in ctx.caps.turn_fields:
        call = partial(ctx.keep, Turn("user", "x"), provenance=Provenance("c"))
        await refused(ctx, "observe", "provenance", call)


@rule(needs=["facts"], lacks=["batches"])
async def more_facts_than_declared_are_refused(ctx: Context) -> None:
    """An observation of more facts than a store takes at once is refused, not split."""
    count = ctx.caps.atomic_facts + 1
    await refused(ctx, "observe", "facts", lambda: ctx.keep_all(*[Fact("x")] * count))


@rule(needs=["facts"], lacks=["supersede"])
async def undeclared_supersedes_is_refused(ctx: Context) -> None:
    """A store without corrections refuses `supersedes`."""
    await refused(ctx, "observe", "supersedes", lambda: ctx.keep(Fact("x", supersedes="some-id")))


@rule(needs=["facts"], lacks=["expiry"])
async def undeclared_expiry_is_refused(ctx: Context) -> None:
    """A store without expiry refuses `expires_at`."""
    fact = Fact("x", expires_at=ctx.clock() + timedelta(days=1))
    await refused(ctx, "observe", "expires_at", lambda: ctx.keep(fact))


@rule(needs=["verbatim"], lacks=["idempotency"])
async def undeclared_keys_are_refused(ctx: Context) -> None:
    """A store without idempotency refuses a key."""
    await refused(ctx, "observe", "idempotency_key", lambda: ctx.keep("x", key="k"))
