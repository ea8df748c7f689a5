"""Adapters that change more, less, or something else; and revisions that stop nothing."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from hashlib import sha256
from typing import Any

from broken.fault import Bent, breaks
from memhub.adapter import Read
from memhub.changes import new_revision
from memhub.errors import Conflict, NotFound
from memhub.records import UNSET, Hit, Patch, Record

GIVEN = re.compile(r"[0-9a-f]{8}-.*")
"""What an id looks like that the adapter gave."""


class Changes(Bent):
    """An adapter with places to bend an update: the patch, and what is stored."""

    def patch(self, patch: Patch) -> Patch:
        return patch

    def changed(self, before: Record, after: Record) -> Record:
        return after

    async def update(self, id: str, patch: Patch, *, revision: str | None, now: datetime) -> Record:
        before = self._rooms.find(id)
        await super().update(id, self.patch(patch), revision=revision, now=now)
        assert before is not None
        return self.store(self.changed(before.record, self.held(id)))


@breaks("an_update_changes_the_text", widely=True)
class ReturnsWhatWasBefore(Changes):
    async def update(self, id: str, patch: Patch, *, revision: str | None, now: datetime) -> Record:
        before = self._rooms.find(id)
        after = await super().update(id, patch, revision=revision, now=now)
        return before.record if before else after


@breaks("an_update_of_the_text_keeps_all_else")
class DropsAttributes(Changes):
    def changed(self, before: Record, after: Record) -> Record:
        return replace(after, attributes={}) if before.content != after.content else after


@breaks("an_update_of_anything_keeps_the_text")
class CannotEmptyTags(Changes):
    def changed(self, before: Record, after: Record) -> Record:
        return replace(after, tags=after.tags or before.tags)


@breaks("an_update_of_anything_keeps_the_text", "an_expiry_can_be_moved_and_cleared")
class CannotClearExpiry(Changes):
    def patch(self, patch: Patch) -> Patch:
        return replace(patch, expires_at=patch.expires_at or UNSET)


@breaks("attributes_are_set_and_removed_one_by_one")
class ReplacesAttributes(Changes):
    def changed(self, before: Record, after: Record) -> Record:
        added = {k: v for k, v in after.attributes.items() if before.attributes.get(k) != v}
        return replace(after, attributes=added or after.attributes)


@breaks("an_update_touches_one_record")
class TouchesTwins(Changes):
    def changed(self, before: Record, after: Record) -> Record:
        for slot in list(self._rooms.all()):
            if slot.record.content == after.content and slot.record.id != after.id:
                self.store(replace(slot.record, updated_at=after.updated_at, revision=new_revision()))
        return after


@breaks("a_change_moves_updated_at_alone", "an_update_of_the_text_keeps_all_else")
class ObservesAnew(Changes):
    def changed(self, before: Record, after: Record) -> Record:
        return replace(after, created_at=after.updated_at)


@breaks("a_change_moves_updated_at_alone")
class UpdatesOnce(Changes):
    def changed(self, before: Record, after: Record) -> Record:
        first = before.updated_at == before.created_at
        return after if first else replace(after, updated_at=before.updated_at)


class Lenient(Bent):
    """Takes ids that nobody gave for ids of something."""

    def strange(self, id: str) -> bool:
        return self._rooms.find(id) is None and not GIVEN.fullmatch(id)


@breaks("an_unknown_id_is_not_found_by_update")
class UpdatesWhatIsNotThere(Lenient):
    async def update(self, id: str, patch: Patch, *, revision: str | None, now: datetime) -> Record:
        if self.strange(id):
            raise Conflict("no such record to update")
        return await super().update(id, patch, revision=revision, now=now)


@breaks("an_unknown_id_is_not_found_by_invalidate")
class InvalidatesWhatIsNotThere(Lenient):
    async def invalidate(self, id: str, reason: str | None, *, revision: str | None, now: datetime) -> Record:
        if self.strange(id):
            raise Conflict("no such record to invalidate")
        return await super().invalidate(id, reason, revision=revision, now=now)


@breaks("an_unknown_id_is_not_found_by_delete")
class DeletesWhatIsNotThere(Lenient):
    async def delete(self, id: str, *, revision: str | None, now: datetime) -> None:
        if not self.strange(id):
            await super().delete(id, revision=revision, now=now)


@breaks("an_unknown_id_is_not_found_by_get", "an_error_says_where_it_arose", "restoring_is_all_or_nothing")
class GetsSomethingElse(Lenient):
    async def get(self, ids: Sequence[str], *, now: datetime) -> list[Record]:
        if any(self.strange(id) for id in ids):
            raise Conflict("no such record")
        return await super().get(ids, now=now)


@breaks("an_invalidated_record_is_not_updated")
class UpdatesWhatIsInvalidated(Bent):
    async def update(self, id: str, patch: Patch, *, revision: str | None, now: datetime) -> Record:
        slot = self._rooms.find(id)
        hidden = slot is not None and slot.record.invalid_at is not None and revision is None
        if slot is not None and hidden:
            self._rooms.save(replace(slot, record=replace(slot.record, invalid_at=None)))
        return await super().update(id, patch, revision=revision, now=now)


@breaks("every_update_makes_a_new_revision")
class RevisesByContent(Changes):
    def changed(self, before: Record, after: Record) -> Record:
        return replace(after, revision=sha256(after.content.encode()).hexdigest())


@breaks("invalidating_makes_a_new_revision")
class RevisesNoInvalidation(Bent):
    async def invalidate(self, id: str, reason: str | None, *, revision: str | None, now: datetime) -> Record:
        before = self._rooms.find(id)
        record = await super().invalidate(id, reason, revision=revision, now=now)
        return self.store(record if before is None else replace(record, revision=before.record.revision))


@breaks("invalidating_makes_a_new_revision", "invalidating_again_changes_nothing")
class RevisesEachInvalidation(RevisesNoInvalidation):
    async def invalidate(self, id: str, reason: str | None, *, revision: str | None, now: datetime) -> Record:
        record = await Bent.invalidate(self, id, reason, revision=revision, now=now)
        return self.store(replace(record, revision=new_revision()))


class Keeping(Bent):
    """Gives records their earlier revision back after some writes."""

    def keeping(self, revisions: dict[str, str]) -> None:
        for id, revision in revisions.items():
            if slot := self._rooms.find(id):
                self._rooms.save(replace(slot, record=replace(slot.record, revision=revision)))

    def revisions(self) -> dict[str, str]:
        return {slot.record.id: slot.record.revision for slot in self._rooms.all()}


@breaks("superseding_makes_a_new_revision")
class RevisesNoSuperseding(Keeping):
    async def observe(self, write: Any) -> Any:
        before = self.revisions()
        done = await super().observe(write)
        self.keeping(before)
        return done


@breaks("unlinking_makes_a_new_revision")
class RevisesNoUnlinking(Keeping):
    async def delete(self, id: str, *, revision: str | None, now: datetime) -> None:
        before = self.revisions()
        await super().delete(id, revision=revision, now=now)
        self.keeping(before)


@breaks("reading_changes_nothing")
class NotesEachReading(Bent):
    def found(self, read: Read, hits: Sequence[Hit]) -> Sequence[Hit]:
        for hit in hits:
            slot = self._find(hit.record.id)
            late = read.now if read.text else hit.record.updated_at
            self._rooms.save(replace(slot, record=replace(slot.record, updated_at=late)))
        return hits


def revisions(*rules: str, **verbs: Callable[[str | None], str | None]) -> None:
    """Put an adapter on the shelf that sees another revision than the one given, by verb."""

    class Sees(Bent):
        async def update(self, id: str, patch: Patch, *, revision: str | None, now: datetime) -> Record:
            return await super().update(id, patch, revision=self.seen("update", revision), now=now)

        async def invalidate(
            self, id: str, reason: str | None, *, revision: str | None, now: datetime
        ) -> Record:
            return await super().invalidate(id, reason, revision=self.seen("invalidate", revision), now=now)

        async def delete(self, id: str, *, revision: str | None, now: datetime) -> None:
            await super().delete(id, revision=self.seen("delete", revision), now=now)

        def seen(self, verb: str, revision: str | None) -> str | None:
            return verbs[verb](revision) if verb in verbs else revision

    Sees.__name__ = "".join(f"{verb.title()}{how.__name__.title()}" for verb, how in verbs.items())
    breaks(*rules)(Sees)


def unconditionally(revision: str | None) -> str | None:
    return None


def never(revision: str | None) -> str | None:
    return revision and "something else"


revisions("a_stale_revision_stops_an_update", "of_two_conditional_updates_one_wins", update=unconditionally)
revisions("a_stale_revision_stops_a_delete", delete=unconditionally)
revisions("a_stale_revision_stops_an_invalidate", invalidate=unconditionally)
revisions(
    "a_current_revision_lets_an_update_through",
    "of_two_conditional_updates_one_wins",
    "increments_at_once_are_all_counted",
    update=never,
)


@breaks(
    "without_a_revision_a_change_is_unconditional", "a_change_moves_updated_at_alone",
    "every_update_makes_a_new_revision", "a_change_is_seen_at_once",
)  # fmt: skip
class WantsARevision(Bent):
    def __init__(self) -> None:
        super().__init__()
        self.touched: set[str] = set()

    async def update(self, id: str, patch: Patch, *, revision: str | None, now: datetime) -> Record:
        if revision is None and id in self.touched:
            raise Conflict("give a revision")
        self.touched.add(id)
        return await super().update(id, patch, revision=revision, now=now)


@breaks("not_found_is_judged_before_conflict")
class ConflictsOverNothing(Bent):
    async def delete(self, id: str, *, revision: str | None, now: datetime) -> None:
        if revision is not None and self._rooms.find(id) is None:
            raise Conflict("revision: is stale")
        await super().delete(id, revision=revision, now=now)


@breaks("an_expired_record_is_not_updated")
class ConflictsOverTheExpired(Bent):
    async def update(self, id: str, patch: Patch, *, revision: str | None, now: datetime) -> Record:
        try:
            return await super().update(id, patch, revision=revision, now=now)
        except NotFound:
            if revision is None or self._rooms.find(id) is None:
                raise
            raise Conflict("revision: is stale") from None
