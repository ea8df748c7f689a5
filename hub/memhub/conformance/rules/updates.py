"""Updates: what the patch gives changes, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from memhub.conformance.context import Context
from memhub.conformance.definition import rule
from memhub.conformance.expect import equal, raises
from memhub.errors import Conflict, NotFound
from memhub.records import Fact, Patch, Provenance, Record


@rule(needs=["verbatim", "patch.content"])
async def an_update_changes_the_text(ctx: Context) -> None:
    """An update of the text returns the record that get then returns, with the new text."""
    record = await ctx.keep("old text")
    ctx.clock.advance(seconds=1)
    changed = await ctx.store.update(record.id, Patch(content="new text"))
    equal(changed.content, "new text", "content")
    equal(await ctx.store.get(record.id), changed, "the record as got")


@rule(needs=["facts.all", "patch.content", "expiry"])
async def an_update_of_the_text_keeps_all_else(ctx: Context) -> None:
    """Updating the text alone keeps tags, attributes, provenance, times and every other field."""
    fact = _full(ctx)
    record = await ctx.keep(fact, at=ctx.clock() - timedelta(days=9), provenance=Provenance("c", "r", "a"))
    ctx.clock.advance(seconds=1)
    await ctx.store.update(record.id, Patch(content="new text"))
    found = await ctx.store.get(record.id)
    promised = replace(record, content="new text", updated_at=ctx.clock(), revision=found.revision)
    equal(found, promised, "the record")


@rule(needs=["facts.all", "patch.all", "expiry"])
async def an_update_of_anything_keeps_the_text(ctx: Context) -> None:
    """Updating each field changes that field alone."""
    later = ctx.clock() + timedelta(days=120)
    changes: tuple[tuple[Patch, dict[str, object]], ...] = (
        (Patch(kind="preference"), {"kind": "preference"}),
        (Patch(tags=["new", "tags"]), {"tags": ("new", "tags")}),
        (Patch(tags=[]), {"tags": ()}),
        (Patch(expires_at=later), {"expires_at": later}),
        (Patch(expires_at=None), {"expires_at": None}),
    )
    for patch, promised in changes:
        record = await ctx.keep(replace(_full(ctx), content=f"before {patch}"))
        await ctx.store.update(record.id, patch)
        await _is(ctx, record, **promised)


@rule(needs=["facts.attributes", "patch.set_attributes", "patch.remove_attributes"])
async def attributes_are_set_and_removed_one_by_one(ctx: Context) -> None:
    """Attributes that the patch does not name stay; removing one that is absent is no error."""
    record = await ctx.keep(Fact("described", attributes={"keep": 1, "change": "old", "remove": True}))
    patch = Patch(set_attributes={"change": ["new"], "add": 0.5}, remove_attributes=["remove", "absent"])
    await ctx.store.update(record.id, patch)
    await _is(ctx, record, attributes={"keep": 1, "change": ["new"], "add": 0.5})


@rule(needs=["verbatim", "distinct", "patch.content"])
async def an_update_touches_one_record(ctx: Context) -> None:
    """Other records stay as they are, those with the same text included."""
    twin, record = await ctx.keep("same text"), await ctx.keep("same text, one word more")
    await ctx.store.update(record.id, Patch(content="same text"))
    equal(await ctx.store.get(twin.id), twin, "another record")


@rule(needs=["verbatim", "patch.content"])
async def a_change_moves_updated_at_alone(ctx: Context) -> None:
    """`updated_at` is the present of the last change; created_at and observed_at stay."""
    record = await ctx.keep("old text")
    for days in (1, 2):
        now = ctx.clock.advance(days=days)
        found = await ctx.store.update(record.id, Patch(content=f"text after {days}"))
        times = (found.updated_at, found.created_at, found.observed_at)
        equal(times, (now, record.created_at, record.observed_at), "updated_at, created_at, observed_at")


@rule(needs=["verbatim"], tier=1)
async def an_unknown_id_is_not_found_by_get(ctx: Context) -> None:
    """An id that the store does not hold is NotFound, alone and among ids that it holds."""
    record, unknown = await ctx.keep("known"), ctx.unique("unknown")
    await raises(NotFound, ctx.store.get(unknown), "get of an unknown id")
    await raises(NotFound, ctx.store.get([record.id, unknown]), "get of a known and an unknown id")
    await raises(NotFound, ctx.store.get("x" * 512), "get of the longest id")


@rule(needs=["update"])
async def an_unknown_id_is_not_found_by_update(ctx: Context) -> None:
    """Updating a record that the store does not hold is NotFound."""
    await raises(
        NotFound, ctx.store.update(ctx.unique("unknown"), _any_patch(ctx)), "update of an unknown id"
    )


@rule(needs=["invalidation"])
async def an_unknown_id_is_not_found_by_invalidate(ctx: Context) -> None:
    """Invalidating a record that the store does not hold is NotFound."""
    await raises(NotFound, ctx.store.invalidate(ctx.unique("unknown")), "invalidate of an unknown id")


@rule(needs=["delete"])
async def an_unknown_id_is_not_found_by_delete(ctx: Context) -> None:
    """Deleting a record that the store does not hold is NotFound."""
    await raises(NotFound, ctx.store.delete(ctx.unique("unknown")), "delete of an unknown id")


@rule(needs=["verbatim", "patch.content", "invalidation"])
async def an_invalidated_record_is_not_updated(ctx: Context) -> None:
    """Updating an invalidated record is Conflict, and nothing changes."""
    record = await ctx.keep("over")
    hidden = await ctx.store.invalidate(record.id)
    await raises(
        Conflict, ctx.store.update(record.id, Patch(content="again")), "update of an invalidated record"
    )
    equal(await ctx.store.get(record.id), hidden, "the record")


def _full(ctx: Context) -> Fact:
    return Fact(
        "old text",
        kind="profile",
        tags=["z", "a"],
        attributes={"importance": 3, "labels": ["a", "b"]},
        expires_at=ctx.clock() + timedelta(days=90),
        target="npc:1",
        payload={"k": [1, None]},
        supports=["x"],
    )


def _any_patch(ctx: Context) -> Patch:
    patches = {
        "content": Patch(content="x"),
        "kind": Patch(kind="fact"),
        "tags": Patch(tags=["x"]),
        "set_attributes": Patch(set_attributes={"x": 1}),
        "remove_attributes": Patch(remove_attributes=["x"]),
    }
    return next(
        (patch for field, patch in patches.items() if field in ctx.caps.patch), Patch(expires_at=None)
    )


async def _is(ctx: Context, record: Record, **changed: object) -> None:
    found = await ctx.store.get(record.id)
    promised = replace(record, **changed, updated_at=ctx.clock(), revision=found.revision)  # type: ignore[arg-type]
    equal(found, promised, f"the record with {', '.join(changed)} changed")
