"""Adapters that answer or end badly, and faults of those that declare less or work another way."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from broken.fault import Bent, breaks
from memhub.adapter import Read, Write
from memhub.capabilities import Capabilities
from memhub.changes import new_records, new_revision
from memhub.errors import Conflict
from memhub.records import Hit, Observed, Recalled, Record
from memhub.upkeep import Progress
from variants import Extracting, Merging, Minimal, Nothing, Semantic, Slow


@breaks("an_open_store_answers")
class DoesNotAnswer(Bent):
    async def ping(self) -> None:
        raise OSError("no route")


@breaks("closing_twice_is_harmless")
class ClosesOnce(Bent):
    closed = False

    async def aclose(self) -> None:
        if self.closed:
            raise OSError("closed already")
        self.closed = True


@breaks("errors_do_not_quote_memories")
class QuotesWhatConflicts(Bent):
    async def observe(self, write: Write) -> Observed:
        try:
            return await super().observe(write)
        except Conflict as error:
            quoted = write.facts[0].content if write.facts else ""
            raise Conflict(f"{error.message}: {quoted}") from None


@breaks("the_kit_has_something_to_test")
class DeclaresNothing(Bent):
    capabilities = Capabilities(provider="in_memory", facts="no")


@breaks("extracted_facts_are_accounted_for")
class ExtractsIntoThinAir(Extracting):
    async def observe(self, write: Write) -> Observed:
        return Observed(records=tuple(new_records(write))) if write.turns else await super().observe(write)


@breaks("an_unknown_operation_is_not_found")
class WaitsForAnything(Slow):
    async def wait(self, operation_id: str, *, now: datetime) -> Observed:
        return self.done.get(operation_id) or Observed()


@breaks("a_finished_operation_holds_its_records")
class TellsOnce(Slow):
    async def wait(self, operation_id: str, *, now: datetime) -> Observed:
        done = await super().wait(operation_id, now=now)
        self.done[operation_id] = replace(done, records=())
        return done


@breaks("an_equal_text_is_the_record_that_is_there")
class MergesWithoutAWord(Merging):
    async def observe(self, write: Write) -> Observed:
        return replace(await super().observe(write), replayed=False)


@breaks("an_equal_text_is_the_record_that_is_there")
class MergesWhatDiffers(Merging):
    async def observe(self, write: Write) -> Observed:
        facts = tuple(replace(fact, kind="fact") if fact.content == "once" else fact for fact in write.facts)
        return await super().observe(replace(write, facts=facts))


@breaks("reembedding_changes_nothing")
class LosesWhatItEmbeds(Semantic):
    async def reembed(self, progress: Progress | None = None) -> int:
        slots = list(self._rooms.all())
        for slot in slots:
            self._rooms.save(replace(slot, record=replace(slot.record, revision=new_revision())))
        return len(slots)


@breaks("a_store_that_keeps_nothing_says_so")
class ClaimsToKeep(Nothing):
    async def observe(self, write: Write) -> Observed:
        return Observed(records=tuple(new_records(write)))


@breaks("a_store_that_keeps_nothing_says_so")
class FindsSomething(Nothing):
    async def recall(self, read: Read) -> Recalled:
        record = Record(
            id="x", scope=read.scopes[0], kind="fact", content="x", revision="1",
            created_at=read.now, updated_at=read.now, observed_at=read.now,
        )  # fmt: skip
        return Recalled((Hit(record),))


@breaks("a_store_that_keeps_nothing_has_nothing_to_change")
class DeletesNothing(Nothing):
    async def delete(self, id: str, *, revision: str | None, now: datetime) -> None:
        return


@breaks("an_append_only_store_keeps_everything", "reading_changes_nothing")
class ForgetsAfterADay(Minimal):
    async def get(self, ids: Sequence[str], *, now: datetime) -> list[Record]:
        found = await super().get(ids, now=now)
        return [record for record in found if record.created_at > now - timedelta(days=1)]
