"""Adapters that keep records not quite as they were given."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

from broken.fault import Bent, breaks
from memhub import Scope
from memhub.adapter import Write
from memhub.records import Observed, Provenance, Record


@breaks("content_comes_back_exactly_as_given")
class TrimsContent(Bent):
    def kept(self, record: Record) -> Record:
        return replace(record, content=record.content.strip())


@breaks("content_comes_back_exactly_as_given")
class NormalisesNewlines(Bent):
    def kept(self, record: Record) -> Record:
        return replace(record, content=record.content.replace("\r\n", "\n"))


@breaks(
    "a_record_carries_its_scope_and_times",
    "restored_records_are_complete",
    "restored_chains_hold_together",
    "what_was_purged_can_be_restored",
    "a_key_is_new_where_its_records_were_restored",
    "of_restores_at_once_that_differ_one_wins",
)
class GivesNewRecordsAReason(Bent):
    def shown(self, record: Record) -> Record:
        return record if record.invalid_at else replace(record, invalid_reason="")


@breaks("a_plain_fact_gains_nothing")
class TargetsWhatHasNoTarget(Bent):
    def written(self, write: Write) -> Write:
        return replace(write, facts=tuple(replace(fact, target=fact.target or "?") for fact in write.facts))


@breaks("an_id_names_one_record", widely=True)
class CutsIds(Bent):
    """Ids that agree in their first characters are one id."""

    def _find(self, id: str) -> Any:
        return super()._find(next((held for held in self._rooms._keys if held[:13] == id[:13]), id))

    async def get(self, ids: Any, *, now: datetime) -> list[Record]:
        found = await super().get([self._find(id).record.id for id in ids], now=now)
        return [replace(record, id=id) for record, id in zip(found, ids, strict=False)]


@breaks("get_returns_what_observe_returned", widely=True)
class ReturnsAnEarlierRevision(Bent):
    async def observe(self, write: Write) -> Observed:
        done = await super().observe(write)
        return replace(done, records=tuple(replace(one, revision="early") for one in done.records))


@breaks("recall_returns_what_observe_returned")
class RecallsWithoutRevision(Bent):
    def found(self, read: Any, hits: Any) -> Any:
        return [replace(hit, record=replace(hit.record, revision="?")) for hit in hits]


@breaks(
    "equal_texts_are_two_records",
    "equal_scores_go_by_newest_first",
    "superseding_touches_one_record",
    "a_deleted_record_is_not_recalled",
    "another_key_is_another_observation",
)
class MergesEqualTexts(Bent):
    async def observe(self, write: Write) -> Observed:
        twins = [slot.record for slot in self._rooms.all() if slot.record.scope == write.scope]
        for fact in write.facts:
            for twin in twins:
                if twin.content == fact.content and not twin.invalid_at and not write.idempotency_key:
                    return Observed(records=(twin,))
        return await super().observe(write)


@breaks("kinds_are_kept")
class KeepsNoEpisodesOfFacts(Bent):
    def kept(self, record: Record) -> Record:
        fact = record.kind == "episode" and record.provenance.role is None
        return replace(record, kind="fact") if fact else record


@breaks("tags_are_kept_in_order")
class FoldsRepeatedTags(Bent):
    def kept(self, record: Record) -> Record:
        return replace(record, tags=tuple({tag.casefold(): tag for tag in record.tags[::-1]}.values())[::-1])


@breaks("attributes_keep_their_types")
class DropsWhatIsTooLarge(Bent):
    def kept(self, record: Record) -> Record:
        return replace(record, attributes={k: v for k, v in record.attributes.items() if v != 1e300})


@breaks("attributes_keep_their_types")
class TakesBooleansForNumbers(Bent):
    def shown(self, record: Record) -> Record:
        return replace(
            record, attributes={k: int(v) if v is False else v for k, v in record.attributes.items()}
        )


@breaks("attribute_keys_are_plain_names")
class KeepsItsOwnKeysToItself(Bent):
    def kept(self, record: Record) -> Record:
        kept = {k: v for k, v in record.attributes.items() if not k.startswith("__")}
        return replace(record, attributes=kept)


@breaks("reserved_fields_come_back_untouched")
class SortsSupports(Bent):
    def kept(self, record: Record) -> Record:
        return replace(record, supports=tuple(sorted(record.supports)))


@breaks("provenance_is_kept")
class NeedsAConversation(Bent):
    def kept(self, record: Record) -> Record:
        given = record.provenance
        return replace(record, provenance=Provenance()) if given == Provenance(None, given.run_id) else record


@breaks("times_are_kept_to_the_microsecond")
class BeginsIn1970(Bent):
    def kept(self, record: Record) -> Record:
        return replace(record, observed_at=max(record.observed_at, datetime(1970, 1, 1, tzinfo=UTC)))


@breaks("times_come_back_in_utc")
class ShowsLocalTime(Bent):
    def shown(self, record: Record) -> Record:
        return replace(record, observed_at=record.observed_at.astimezone(timezone(timedelta(hours=1))))


@breaks("an_expiry_is_kept")
class RoundsExpiry(Bent):
    def kept(self, record: Record) -> Record:
        return replace(record, expires_at=record.expires_at and record.expires_at.replace(microsecond=0))


@breaks("pairs_come_back_as_given")
class RenamesKeys(Bent):
    def shown(self, record: Record) -> Record:
        pairs = {key.replace("-", "_"): value for key, value in record.scope.pairs}
        return replace(record, scope=Scope(pairs)) if pairs else record


@breaks("a_returned_record_is_the_callers_own")
class HandsOutItsOwnRecords(Bent):
    async def observe(self, write: Write) -> Observed:
        done = await super().observe(write)
        return replace(done, records=tuple(self.held(record.id) for record in done.records))


@breaks("turns_become_episodes")
class TakesTurnsForFacts(Bent):
    def kept(self, record: Record) -> Record:
        return replace(record, kind="fact") if record.kind == "episode" and record.provenance.role else record


@breaks("roles_are_kept")
class KnowsTwoRoles(Bent):
    def kept(self, record: Record) -> Record:
        given = record.provenance
        return (
            replace(record, provenance=replace(given, role="assistant")) if given.role == "system" else record
        )


@breaks("a_speaker_is_the_author")
class FoldsSpeakers(Bent):
    def kept(self, record: Record) -> Record:
        given = record.provenance
        author = given.author and given.author.lower()
        return replace(record, provenance=replace(given, author=author)) if given.role else record


@breaks("a_turn_is_observed_when_it_was_said")
class RoundsTurns(Bent):
    def written(self, write: Write) -> Write:
        turns = tuple(replace(turn, at=turn.at and turn.at.replace(microsecond=0)) for turn in write.turns)
        return replace(write, turns=turns)


@breaks("a_turn_keeps_tags_and_attributes")
class DropsTagsOfTools(Bent):
    def kept(self, record: Record) -> Record:
        return replace(record, tags=()) if record.provenance.role == "tool" else record


@breaks("a_turn_keeps_its_conversation")
class DropsRunsOfTurns(Bent):
    def written(self, write: Write) -> Write:
        given = replace(write.provenance, run_id=None)
        return replace(write, provenance=given) if write.turns else write


@breaks("the_longest_content_is_kept")
class CutsAtTheLimit(Bent):
    def kept(self, record: Record) -> Record:
        return replace(record, content=record.content.encode()[:200_000].decode(errors="ignore"))


@breaks(
    "contents_of_many_sizes_are_kept", "the_longest_content_is_kept", "words_are_found_as_they_are_written"
)
class CutsAtTwoThousand(Bent):
    def kept(self, record: Record) -> Record:
        return replace(record, content=record.content[:2_000])


@breaks("the_most_tags_are_kept")
class KeepsFiftyTags(Bent):
    def kept(self, record: Record) -> Record:
        return replace(record, tags=record.tags[:50])


@breaks("the_most_attributes_are_kept")
class CutsKeys(Bent):
    def kept(self, record: Record) -> Record:
        return replace(record, attributes={key[:64]: value for key, value in record.attributes.items()})


@breaks("the_longest_names_are_kept")
class CutsNames(Bent):
    def kept(self, record: Record) -> Record:
        names = {n: getattr(record.provenance, n) for n in ("conversation_id", "run_id", "author", "role")}
        return replace(record, provenance=Provenance(**{n: v and v[:255] for n, v in names.items()}))


@breaks("an_unknown_id_is_not_found_by_get", "an_error_says_where_it_arose", widely=True)
class NeverMind(Bent):
    async def get(self, ids: Any, *, now: datetime) -> list[Record]:
        found = await super().get(ids, now=now)
        if len(found) < len(ids):
            raise KeyError(ids[0])
        return found
