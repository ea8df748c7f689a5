"""Stores that check less than MemoryStore does, over sound adapters."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC
from types import ModuleType
from typing import Any

from broken.fault import store_breaks
from memhub import MemoryStore
from memhub.capabilities import Capabilities
from memhub.conformance.definition import Rule
from memhub.conformance.rules import bad_input, undeclared_reads, undeclared_verbs, undeclared_writes
from memhub.errors import InvalidInput, NotFound, Unsupported
from memhub.events import Event
from memhub.limits import CONTENT_CHARS, LIMIT, QUERY_CHARS
from memhub.records import Fact, Observation, Observed, Patch, Query, Recalled, Record, Restored
from memhub.search import has_words
from memhub_adapters.in_memory import InMemoryAdapter
from memhub_adapters.in_memory.adapter import CAPABILITIES
from variants import Minimal, Scant, SearchOnly, Semantic, TurnsOnly, declaring

NoSearch = declaring("NoSearch", modes=(), default_mode=None)
NoFacts = declaring("NoFacts", facts="no", turns="verbatim", fact_fields=frozenset())
MeaningOnly = declaring(
    "MeaningOnly", Semantic, modes=("semantic",), default_mode="semantic", neighbours=False
)
NoDelete = declaring("NoDelete", delete=False, purge=False)


def rules_of(*topics: ModuleType) -> list[Rule]:
    return [rule for topic in topics for rule in vars(topic).values() if isinstance(rule, Rule)]


def undeclared(adapter: type[InMemoryAdapter]) -> list[str]:
    """The rules that say what this adapter must refuse."""
    rules = rules_of(undeclared_writes, undeclared_reads, undeclared_verbs)
    return [rule.name for rule in rules if rule.why_skipped(adapter.capabilities) is None]


@store_breaks(
    *(rule.name for rule in rules_of(bad_input)),
    *undeclared(InMemoryAdapter),
    "text_without_a_word_finds_nothing",
    "a_closed_store_says_so",
    "pages_show_everything_once",
)
class AsksFirst(MemoryStore):
    """Reaches for the provider before it looks at the call."""

    async def observe(self, observation: Observation) -> Observed:
        self._reach()
        return await super().observe(observation)

    async def recall(self, query: Query) -> Recalled:
        self._reach()
        return await super().recall(query)

    async def get(self, id: Any) -> Any:
        self._reach()
        return await super().get(id)

    async def update(self, id: str, patch: Patch, *, revision: str | None = None) -> Record:
        self._reach()
        return await super().update(id, patch, revision=revision)

    async def reembed(self, **options: Any) -> int:
        self._reach()
        return await super().reembed(**options)

    async def wait(self, operation_id: str, *, timeout: Any = None) -> Observed:
        self._reach()
        return await super().wait(operation_id)

    def _reach(self) -> None:
        self._adapter.next()  # type: ignore[attr-defined]


@store_breaks("text_that_is_no_text_is_refused", "facts_above_the_limits_are_refused")
class MendsFacts(MemoryStore):
    """Makes bad facts good instead of refusing them."""

    async def observe(self, observation: Observation) -> Observed:
        return await super().observe(
            replace(observation, facts=[_mended(fact) for fact in observation.facts])
        )


def _mended(fact: Fact) -> Fact:
    text = fact.content.replace("\0", "").encode(errors="replace").decode()[:CONTENT_CHARS]
    return replace(fact, content=text if text.strip() else "(blank)")


@store_breaks("questions_above_the_limits_are_refused", "text_that_is_no_text_is_refused")
class MendsQuestions(MemoryStore):
    async def recall(self, query: Query) -> Recalled:
        text = query.text[:QUERY_CHARS] if query.text and query.text.strip() else None
        return await super().recall(replace(query, text=text, limit=max(0, min(query.limit, LIMIT))))


@store_breaks("times_without_a_zone_are_refused")
class GuessesZones(MemoryStore):
    async def observe(self, observation: Observation) -> Observed:
        at = observation.observed_at
        return await super().observe(
            replace(observation, observed_at=at and at.replace(tzinfo=at.tzinfo or UTC))
        )


@store_breaks("ids_that_are_no_ids_are_refused")
class LooksForAnyId(MemoryStore):
    async def get(self, id: Any) -> Any:
        if isinstance(id, str) and not id.isprintable():
            raise NotFound(f"no record {id!r}")
        return await super().get(id)


@store_breaks("patches_without_a_meaning_are_refused")
class TakesEmptyPatches(MemoryStore):
    async def update(self, id: str, patch: Patch, *, revision: str | None = None) -> Record:
        if patch == Patch():
            return await self.get(id)
        return await super().update(id, patch, revision=revision)


@store_breaks("conditions_without_a_meaning_are_refused", "numbers_that_json_loses_are_refused")
class IgnoresStrangeConditions(MemoryStore):
    async def recall(self, query: Query) -> Recalled:
        try:
            return await super().recall(query)
        except InvalidInput:
            if not query.where:
                raise
            return await super().recall(replace(query, where={}))


@store_breaks("records_that_are_incomplete_are_refused")
class RestoresWhatItCan(MemoryStore):
    async def restore(self, records: Sequence[Record]) -> Restored:
        whole = [one for one in records if one.id and one.created_at and one.scope and one.content.strip()]
        return await super().restore(whole)


@store_breaks("a_query_that_contradicts_itself_is_refused")
class PrefersAsOf(MemoryStore):
    async def recall(self, query: Query) -> Recalled:
        return await super().recall(
            replace(query, include_invalidated=query.as_of is None and query.include_invalidated)
        )


@store_breaks("a_cursor_belongs_to_its_query")
class StartsAgain(MemoryStore):
    """Begins anew where a cursor does not fit."""

    async def recall(self, query: Query) -> Recalled:
        try:
            return await super().recall(query)
        except InvalidInput:
            if query.cursor is None or query.text is not None:
                raise
            return await super().recall(replace(query, cursor=None))


@store_breaks("text_without_a_word_finds_nothing")
class ListsForNoWords(MemoryStore):
    async def recall(self, query: Query) -> Recalled:
        blank = (
            query.text is not None and query.text.strip() and not has_words(query.text) and not self._closed
        )
        return await super().recall(replace(query, text=None) if blank else query)


@store_breaks(
    "get_keeps_the_order_asked_for", "a_turn_is_observed_when_it_was_said", "superseding_twice_is_conflict",
    "superseding_touches_one_record", "restored_chains_hold_together",
)  # fmt: skip
class GetsInItsOwnOrder(MemoryStore):
    async def get(self, id: Any) -> Any:
        found = await super().get(id)
        return found[::-1] if isinstance(found, list) else found


@store_breaks("a_closed_store_says_so")
class AnswersWhenClosed(MemoryStore):
    def _open(self) -> None:
        return


class Trusting(MemoryStore):
    """Believes that every provider can do everything."""

    @property
    def capabilities(self) -> Capabilities:
        return replace(CAPABILITIES, modes=("keyword", "semantic", "hybrid"), operations=True)


for adapter in (Minimal, Scant, SearchOnly, TurnsOnly, NoSearch, NoFacts, MeaningOnly, NoDelete):
    store_breaks(*undeclared(adapter), over=adapter)(Trusting)


@store_breaks(
    *[rule for rule in undeclared(Minimal) if rule in {one.name for one in rules_of(undeclared_reads)}],
    over=Minimal,
)
class SaysNoMoreThanNo(MemoryStore):
    """Refuses without saying what, or who."""

    async def recall(self, query: Query) -> Recalled:
        try:
            return await super().recall(query)
        except Unsupported:
            raise Unsupported("not supported") from None


@store_breaks("writes_and_reads_are_told", "changes_are_told", "a_purge_is_told")
class TellsTooMuch(MemoryStore):
    """Counts one more than there are."""

    def subscribe(self, observer: Callable[[Event], object]) -> Callable[[], None]:
        return super().subscribe(lambda event: observer(replace(event, count=event.count + 1)))  # type: ignore[attr-defined, call-arg]
