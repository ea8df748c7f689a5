"""Adapters that hide too little, or forget what was valid when."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from broken.fault import Bent, breaks
from memhub import filters
from memhub.adapter import Read, Write
from memhub.changes import expired
from memhub.errors import Conflict
from memhub.records import Fact, Hit, Observed, Patch, Record

TICK = timedelta(microseconds=1)


@breaks("an_invalidated_record_is_kept_with_its_reason", "what_is_only_invalidated_can_be_superseded")
class KeepsNoReason(Bent):
    async def invalidate(self, id: str, reason: str | None, *, revision: str | None, now: datetime) -> Record:
        return await super().invalidate(id, None, revision=revision, now=now)


@breaks(
    "an_invalidated_record_is_hidden", "restored_history_stays_hidden", "deleting_a_head_brings_nothing_back",
    "deleting_a_link_unlinks_its_neighbours",
)  # fmt: skip
class ListsTheInvalidated(Bent):
    def asked(self, read: Read) -> Read:
        return read if read.text or read.as_of else replace(read, include_invalidated=True)

    def found(self, read: Read, hits: Sequence[Hit]) -> Sequence[Hit]:
        if read.text or read.as_of or read.include_invalidated:
            return hits
        return [hit for hit in hits if not hit.record.superseded_by]


@breaks("an_invalidated_record_is_not_searched", "an_invalidated_turn_lends_nothing")
class SearchesTheInvalidated(Bent):
    def asked(self, read: Read) -> Read:
        return read if read.text is None or read.as_of else replace(read, include_invalidated=True)

    def found(self, read: Read, hits: Sequence[Hit]) -> Sequence[Hit]:
        return [hit for hit in hits if read.text is None or not hit.record.superseded_by]


@breaks(
    "include_invalidated_lists_everything", "an_invalidated_record_is_not_searched", "a_chain_shows_its_head"
)
class NeverIncludesTheInvalidated(Bent):
    def asked(self, read: Read) -> Read:
        return replace(read, include_invalidated=False)


@breaks("include_invalidated_lists_everything")
class ListsTheInvalidatedLast(Bent):
    def found(self, read: Read, hits: Sequence[Hit]) -> Sequence[Hit]:
        if read.text or not read.include_invalidated:
            return hits
        return sorted(
            hits, key=lambda hit: hit.record.invalid_at is not None and not hit.record.superseded_by
        )


@breaks("invalidating_again_changes_nothing")
class TakesTheLastReason(Bent):
    async def invalidate(self, id: str, reason: str | None, *, revision: str | None, now: datetime) -> Record:
        record = await super().invalidate(id, reason, revision=revision, now=now)
        return self.store(replace(record, invalid_reason=reason))


class Sees(Bent):
    """Judges itself what was valid at a time."""

    def valid(self, record: Record, moment: datetime) -> bool:
        raise NotImplementedError

    async def recall(self, read: Read) -> object:
        if read.as_of is None:
            return await super().recall(read)
        found = await super().recall(replace(read, as_of=None, include_invalidated=True, limit=1_000))
        return replace(found, hits=tuple(hit for hit in found.hits if self.valid(hit.record, read.moment)))


@breaks("as_of_shows_what_was_valid_then")
class EndsAfterTheInstant(Sees):
    def valid(self, record: Record, moment: datetime) -> bool:
        ends = record.invalid_at and (record.invalid_at if record.superseded_by else record.invalid_at + TICK)
        return record.observed_at <= moment and (not ends or ends > moment) and not expired(record, moment)


@breaks(
    "as_of_shows_what_was_valid_then", "as_of_shows_the_link_that_was_valid_then", "as_of_applies_to_a_search"
)
class ForgetsWhenItBegan(Sees):
    def valid(self, record: Record, moment: datetime) -> bool:
        return (not record.invalid_at or record.invalid_at > moment) and not expired(record, moment)


@breaks("as_of_shows_what_was_valid_then", "as_of_shows_the_link_that_was_valid_then")
class SeesTheValidOfToday(Sees):
    def valid(self, record: Record, moment: datetime) -> bool:
        return record.observed_at <= moment and not record.invalid_at and not expired(record, moment)


@breaks("as_of_leaves_out_what_had_expired_then")
class ForgetsExpiryThen(Sees):
    def valid(self, record: Record, moment: datetime) -> bool:
        return record.observed_at <= moment and (not record.invalid_at or record.invalid_at > moment)


@breaks("as_of_applies_to_a_search")
class SearchesThePresent(Bent):
    def asked(self, read: Read) -> Read:
        return replace(read, as_of=None) if read.text else read


@breaks("as_of_shows_the_text_of_today")
class ShowsTheTextOfThen(Bent):
    def __init__(self) -> None:
        super().__init__()
        self.first: dict[str, str] = {}

    async def update(self, id: str, patch: Patch, *, revision: str | None, now: datetime) -> Record:
        if slot := self._rooms.find(id):
            self.first.setdefault(id, slot.record.content)
        return await super().update(id, patch, revision=revision, now=now)

    def found(self, read: Read, hits: Sequence[Hit]) -> Sequence[Hit]:
        return [replace(hit, record=self.then(hit.record)) for hit in hits] if read.as_of else hits

    def then(self, record: Record) -> Record:
        return replace(record, content=self.first.get(record.id, record.content))


class Corrects(Bent):
    """Looks at what a correction did to the old record; `old` may change it."""

    def old(self, before: Record, after: Record, new: Record) -> Record:
        return after

    async def observe(self, write: Write) -> Observed:
        named = {fact.supersedes for fact in write.facts if fact.supersedes}
        before = {id: slot.record for id in named if (slot := self._rooms.find(id))}
        done = await super().observe(write)
        for new in done.records:
            if new.supersedes in before and not done.replayed:
                was = before[new.supersedes]
                self.store(self.old(was, self.held(was.id), new))
        return done


@breaks("a_correction_links_both_ways")
class TouchesNoOldRecord(Corrects):
    def old(self, before: Record, after: Record, new: Record) -> Record:
        return replace(after, updated_at=before.updated_at)


@breaks(
    "a_correction_links_both_ways", "a_chain_shows_its_head", "a_search_finds_the_head",
    "a_link_ends_at_the_later_observation", "as_of_shows_the_link_that_was_valid_then",
    "what_is_only_invalidated_can_be_superseded", "superseding_touches_one_record",
    "deleting_a_head_brings_nothing_back", "deleting_a_link_unlinks_its_neighbours",
)  # fmt: skip
class HidesNoOldRecord(Corrects):
    def old(self, before: Record, after: Record, new: Record) -> Record:
        return replace(after, invalid_at=None)


@breaks("a_link_ends_at_the_later_observation")
class EndsAtTheCorrection(Corrects):
    def old(self, before: Record, after: Record, new: Record) -> Record:
        return replace(after, invalid_at=before.invalid_at or new.observed_at)


@breaks("what_is_only_invalidated_can_be_superseded")
class EndsAnew(Corrects):
    def old(self, before: Record, after: Record, new: Record) -> Record:
        return replace(after, invalid_at=max(before.observed_at, new.observed_at))


@breaks("superseding_touches_one_record")
class RetiresTwins(Corrects):
    def old(self, before: Record, after: Record, new: Record) -> Record:
        for slot in list(self._rooms.all()):
            if slot.record.content == before.content and slot.record.id != before.id:
                self.store(replace(slot.record, invalid_at=after.invalid_at))
        return after


@breaks("a_search_finds_the_head")
class SearchesTheWholeChain(Bent):
    def asked(self, read: Read) -> Read:
        return read if read.text is None or read.as_of else replace(read, include_invalidated=True)

    def found(self, read: Read, hits: Sequence[Hit]) -> Sequence[Hit]:
        if read.text is None:
            return hits
        return [hit for hit in hits if hit.record.superseded_by or filters.admits(hit.record, read)]


class Writes(Bent):
    """Bends what is written before anything is judged."""

    def written(self, write: Write) -> Write:
        return replace(write, facts=tuple(self.fact(fact, write) for fact in write.facts))

    def fact(self, fact: Fact, write: Write) -> Fact:
        return fact


@breaks(
    "superseding_what_is_absent_is_not_found", "a_failed_observation_spends_no_key",
    "an_observation_is_all_or_nothing",
)  # fmt: skip
class CorrectsNothing(Writes):
    def fact(self, fact: Fact, write: Write) -> Fact:
        absent = fact.supersedes is not None and self._rooms.find(fact.supersedes) is None
        return replace(fact, supersedes=None) if absent else fact


@breaks("superseding_across_scopes_is_not_found")
class CorrectsAnyScope(Writes):
    def fact(self, fact: Fact, write: Write) -> Fact:
        slot = self._rooms.find(fact.supersedes) if fact.supersedes else None
        return replace(fact, supersedes=None) if slot and slot.record.scope != write.scope else fact


@breaks("superseding_twice_is_conflict", "of_two_corrections_one_wins", "errors_do_not_quote_memories")
class CorrectsAgain(Writes):
    def fact(self, fact: Fact, write: Write) -> Fact:
        slot = self._rooms.find(fact.supersedes) if fact.supersedes else None
        known = (write.scope, write.idempotency_key) in self._ledger
        return replace(fact, supersedes=None) if slot and slot.record.superseded_by and not known else fact


@breaks("superseding_twice_at_once_is_conflict")
class CorrectsTwiceAtOnce(Writes):
    def written(self, write: Write) -> Write:
        first = {fact.supersedes: n for n, fact in reversed(list(enumerate(write.facts)))}
        facts = [
            fact if fact.supersedes is None or first[fact.supersedes] == n else replace(fact, supersedes=None)
            for n, fact in enumerate(write.facts)
        ]
        return replace(write, facts=tuple(facts))


@breaks("what_is_only_invalidated_can_be_superseded")
class CorrectsOnlyTheValid(Writes):
    def fact(self, fact: Fact, write: Write) -> Fact:
        slot = self._rooms.find(fact.supersedes) if fact.supersedes else None
        if slot and slot.record.invalid_at and not slot.record.superseded_by:
            raise Conflict("the record is invalidated")
        return fact


@breaks("deleting_a_head_brings_nothing_back")
class BringsTheOldBack(Bent):
    async def delete(self, id: str, *, revision: str | None, now: datetime) -> None:
        slot = self._find(id)
        await super().delete(id, revision=revision, now=now)
        before = self._rooms.find(slot.record.supersedes or "")
        if before and slot.record.superseded_by is None:
            self.store(replace(before.record, invalid_at=None))


@breaks("deleting_a_link_unlinks_its_neighbours")
class NamesTheDeleted(Bent):
    async def delete(self, id: str, *, revision: str | None, now: datetime) -> None:
        slot = self._find(id)
        await super().delete(id, revision=revision, now=now)
        after = self._rooms.find(slot.record.superseded_by or "")
        if after:
            self.store(replace(after.record, supersedes=id))
