"""Revisions: a token that changes with every stored change and makes a write conditional."""

from __future__ import annotations

from memhub.conformance.context import Context
from memhub.conformance.definition import rule
from memhub.conformance.expect import equal, raises, true
from memhub.errors import Conflict, NotFound
from memhub.records import Fact, Patch, Query


@rule(needs=["verbatim", "revisions", "patch.content"])
async def every_update_makes_a_new_revision(ctx: Context) -> None:
    """Each update changes the revision, also back to an earlier text; none ever comes back."""
    record = await ctx.keep("a")
    updates = [await ctx.store.update(record.id, Patch(content=text)) for text in ("b", "a", "a")]
    equal(
        len({record.revision, *(one.revision for one in updates)}),
        4,
        "different revisions after three updates",
    )


@rule(needs=["verbatim", "revisions", "invalidation"])
async def invalidating_makes_a_new_revision(ctx: Context) -> None:
    """Invalidating changes the revision; repeating it does not."""
    record = await ctx.keep("a")
    once = await ctx.store.invalidate(record.id)
    true(once.revision != record.revision, "revision: unchanged by invalidate")
    equal((await ctx.store.invalidate(record.id)).revision, once.revision, "revision after a repeat")


@rule(needs=["facts", "revisions", "supersede"])
async def superseding_makes_a_new_revision(ctx: Context) -> None:
    """A record that is superseded has a new revision."""
    record = await ctx.keep("a")
    await ctx.keep(Fact("b", supersedes=record.id))
    true((await ctx.store.get(record.id)).revision != record.revision, "revision: unchanged by supersede")


@rule(needs=["facts", "revisions", "supersede", "delete"])
async def unlinking_makes_a_new_revision(ctx: Context) -> None:
    """A record whose link is cleared, because the linked record was deleted, has a new revision."""
    record = await ctx.keep("a")
    head = await ctx.keep(Fact("b", supersedes=record.id))
    linked = await ctx.store.get(record.id)
    await ctx.store.delete(head.id)
    true((await ctx.store.get(record.id)).revision != linked.revision, "revision: unchanged by unlinking")


@rule(needs=["verbatim", "listing"])
async def reading_changes_nothing(ctx: Context) -> None:
    """Reads, of whatever kind, change neither revision nor updated_at."""
    record = await ctx.keep("read me")
    ctx.clock.advance(days=1)
    for _ in range(2):
        await ctx.texts()
        if ctx.caps.modes:
            await ctx.texts(Query(ctx.scope(), text="read me"))
    equal(await ctx.store.get(record.id), record, "the record after reads")


@rule(needs=["verbatim", "revisions", "patch.content"])
async def a_current_revision_lets_an_update_through(ctx: Context) -> None:
    """An update with the record's revision is applied."""
    record = await ctx.keep("a")
    changed = await ctx.store.update(record.id, Patch(content="b"), revision=record.revision)
    again = await ctx.store.update(record.id, Patch(content="c"), revision=changed.revision)
    equal(again.content, "c", "content")


@rule(needs=["verbatim", "revisions", "patch.content"])
async def a_stale_revision_stops_an_update(ctx: Context) -> None:
    """An update with an earlier revision, or one that never was, is Conflict, and nothing changes."""
    record = await ctx.keep("a")
    changed = await ctx.store.update(record.id, Patch(content="b"))
    for stale in (record.revision, "never was"):
        call = ctx.store.update(record.id, Patch(content="c"), revision=stale)
        await raises(Conflict, call, "update with a stale revision")
    equal(await ctx.store.get(record.id), changed, "the record")


@rule(needs=["verbatim", "revisions", "delete"])
async def a_stale_revision_stops_a_delete(ctx: Context) -> None:
    """A delete with another revision is Conflict, and nothing changes; with the current one it deletes."""
    record = await ctx.keep("a")
    await raises(Conflict, ctx.store.delete(record.id, revision="never was"), "delete with a stale revision")
    equal(await ctx.store.get(record.id), record, "the record")
    await ctx.store.delete(record.id, revision=record.revision)
    await raises(NotFound, ctx.store.get(record.id), "get after a delete with the current revision")


@rule(needs=["verbatim", "revisions", "invalidation"])
async def a_stale_revision_stops_an_invalidate(ctx: Context) -> None:
    """An invalidate with another revision is Conflict, and nothing changes; with the current one it hides."""
    record = await ctx.keep("a")
    call = ctx.store.invalidate(record.id, revision="never was")
    await raises(Conflict, call, "invalidate with a stale revision")
    equal(await ctx.store.get(record.id), record, "the record")
    hidden = await ctx.store.invalidate(record.id, revision=record.revision)
    true(hidden.invalid_at, "invalidate with the current revision: hides nothing")


@rule(needs=["verbatim", "revisions", "patch.content"])
async def without_a_revision_a_change_is_unconditional(ctx: Context) -> None:
    """A change without a revision is applied whatever was changed before."""
    record = await ctx.keep("a")
    for text in ("b", "c"):
        await ctx.store.update(record.id, Patch(content=text))
    equal((await ctx.store.get(record.id)).content, "c", "content")


@rule(needs=["verbatim", "revisions", "patch.content", "delete"])
async def not_found_is_judged_before_conflict(ctx: Context) -> None:
    """A stale revision of a record that is gone is NotFound, not Conflict."""
    record = await ctx.keep("a")
    await ctx.store.delete(record.id)
    update = ctx.store.update(record.id, Patch(content="b"), revision="stale")
    await raises(NotFound, update, "update of a deleted record with a stale revision")
    delete = ctx.store.delete(record.id, revision="stale")
    await raises(NotFound, delete, "delete of a deleted record with a stale revision")
