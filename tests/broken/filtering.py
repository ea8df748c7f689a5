"""Adapters that filter by something else than they were asked to."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from broken.fault import Bent, breaks
from memhub import filters
from memhub.adapter import Read
from memhub.records import Hit, Patch, Recalled, Record
from memhub_adapters.in_memory.adapter import _copied


@breaks("kinds_filter")
class FiltersByTheFirstKind(Bent):
    def asked(self, read: Read) -> Read:
        return replace(read, kinds=read.kinds[:1])


class Sieves(Bent):
    """Filters what was found itself, in place of the engine."""

    part = "where"

    def admits(self, record: Record, read: Read) -> bool:
        raise NotImplementedError

    async def recall(self, read: Read) -> Recalled:
        if not (given := getattr(read, self.part)):
            return await super().recall(read)
        everything = replace(read, **{self.part: type(given)()}, limit=1_000, cursor=None)
        hits = [hit for hit in (await super().recall(everything)).hits if self.admits(hit.record, read)]
        start, end = int(read.cursor or 0), int(read.cursor or 0) + read.limit
        return Recalled(tuple(hits[start:end]), str(end) if end < len(hits) else None)


@breaks("all_tags_must_match")
class FiltersByAnyTag(Sieves):
    part = "tags"

    def admits(self, record: Record, read: Read) -> bool:
        return bool(set(record.tags) & set(read.tags))


@breaks("a_tag_is_an_exact_text")
class FoldsTags(Sieves):
    part = "tags"

    def admits(self, record: Record, read: Read) -> bool:
        return {tag.casefold() for tag in read.tags} <= {tag.casefold() for tag in record.tags}


@breaks("times_filter_from_since_until_before")
class IncludesUntil(Bent):
    def asked(self, read: Read) -> Read:
        return replace(read, until=read.until and read.until + timedelta(microseconds=1))


class Compares(Sieves):
    """Judges each condition with a matcher of its own."""

    def holds(self, value: Any, operator: str, wanted: Any) -> bool:
        raise NotImplementedError

    def admits(self, record: Record, read: Read) -> bool:
        return all(
            self.holds(record.attributes.get(field), operator, wanted)
            for field, conditions in read.where.items()
            for operator, wanted in conditions.items()
        )


def sound(value: Any, operator: str, wanted: Any) -> bool:
    return filters.matches({} if value is None else {"field": value}, {"field": {operator: wanted}})


def compares(*rules: str) -> Callable[[Callable[[Any, str, Any], bool]], type]:
    """Put an adapter on the shelf that judges every condition with the decorated function."""

    def shelved(holds: Callable[[Any, str, Any], bool]) -> type:
        name = "".join(word.title() for word in holds.__name__.split("_"))
        return breaks(*rules)(type(name, (Compares,), {"holds": staticmethod(holds)}))

    return shelved


@compares("equality_minds_the_type", "in_finds_any_of_several")
def takes_true_for_one(value: Any, operator: str, wanted: Any) -> bool:
    if operator not in ("eq", "in"):
        return sound(value, operator, wanted)
    values = value if isinstance(value, list) else [value]
    return any(one in (wanted if operator == "in" else [wanted]) for one in values)


@compares("equality_minds_the_type", "in_finds_any_of_several", "any_element_of_a_list_matches")
def compares_texts_of_numbers(value: Any, operator: str, wanted: Any) -> bool:
    if operator not in ("eq", "in"):
        return sound(value, operator, wanted)
    values = map(str, value if isinstance(value, list) else [value])
    return any(one in map(str, wanted if operator == "in" else [wanted]) for one in values)


@compares("equality_of_texts_is_exact", "in_finds_any_of_several")
def folds_texts(value: Any, operator: str, wanted: Any) -> bool:
    def fold(one: Any) -> Any:
        return (
            [fold(item) for item in one]
            if isinstance(one, list)
            else one.lower()
            if isinstance(one, str)
            else one
        )

    return sound(fold(value), operator, fold(wanted))


@compares("equality_keeps_every_digit")
def rounds_numbers(value: Any, operator: str, wanted: Any) -> bool:
    real = isinstance(value, float) and isinstance(wanted, float)
    return abs(value - wanted) < 1e-9 if real and operator == "eq" else sound(value, operator, wanted)


@compares("any_element_of_a_list_matches", "in_finds_any_of_several")
def compares_the_first_element(value: Any, operator: str, wanted: Any) -> bool:
    first = value[:1] if isinstance(value, list) and operator in ("eq", "in") else value
    return sound(first, operator, wanted)


@compares("ne_is_the_exact_negation")
def ne_needs_a_value(value: Any, operator: str, wanted: Any) -> bool:
    return sound(value, operator, wanted) and not (operator == "ne" and value is None)


@compares("not_in_is_the_exact_negation")
def not_in_asks_each_element(value: Any, operator: str, wanted: Any) -> bool:
    if operator != "not_in" or not isinstance(value, list):
        return sound(value, operator, wanted)
    return any(sound(one, "not_in", wanted) for one in value)


@compares("in_finds_any_of_several")
def in_takes_whole_numbers(value: Any, operator: str, wanted: Any) -> bool:
    if operator == "in":
        return sound(value, "in", [*[one for one in wanted if not isinstance(one, float)], object()])
    return sound(value, operator, wanted)


@compares("exists_takes_an_empty_list_for_absent")
def an_empty_list_exists(value: Any, operator: str, wanted: Any) -> bool:
    return (value is not None) is wanted if operator == "exists" else sound(value, operator, wanted)


@compares("exists_takes_an_empty_list_for_absent")
def what_is_false_does_not_exist(value: Any, operator: str, wanted: Any) -> bool:
    return bool(value) is wanted if operator == "exists" else sound(value, operator, wanted)


@compares("ranges_are_numeric")
def ranges_take_texts(value: Any, operator: str, wanted: Any) -> bool:
    number = float(value) if operator in ("gt", "gte", "lt", "lte") and isinstance(value, str) else value
    return sound(number, operator, wanted)


@compares("ranges_are_numeric")
def ranges_leave_out_their_end(value: Any, operator: str, wanted: Any) -> bool:
    return sound(value, operator.removesuffix("e") if operator in ("gte", "lte") else operator, wanted)


@breaks("conditions_are_all_of", "the_most_conditions_are_answered")
class FiltersByAnyCondition(Sieves):
    def admits(self, record: Record, read: Read) -> bool:
        return any(filters.matches(record.attributes, {f: c}) for f, c in read.where.items())


@breaks("the_most_conditions_are_answered")
class TakesFiftyConditions(Sieves):
    def admits(self, record: Record, read: Read) -> bool:
        return filters.matches(record.attributes, dict(list(read.where.items())[:50]))


@breaks("keys_in_where_are_plain_names")
class TakesKeysForPaths(Sieves):
    def admits(self, record: Record, read: Read) -> bool:
        return filters.matches(record.attributes, {f.partition(".")[0]: c for f, c in read.where.items()})


@breaks("filters_come_before_the_limit")
class FiltersAPage(Bent):
    async def recall(self, read: Read) -> Recalled:
        if read.text is not None or read.cursor:
            return await super().recall(read)
        found = await super().recall(replace(read, kinds=(), tags=()))
        hits = [hit for hit in found.hits if filters.admits(hit.record, read)]
        return replace(found, hits=tuple(hits))


@breaks("filters_apply_to_a_search")
class FiltersWhatWasSearched(Bent):
    async def recall(self, read: Read) -> Recalled:
        if read.text is None:
            return await super().recall(read)
        found = await super().recall(replace(read, tags=(), where={}))
        hits: Sequence[Hit] = [hit for hit in found.hits if filters.admits(hit.record, read)]
        return replace(found, hits=tuple(hits))


@breaks("a_limit_is_honoured", "a_search_has_one_page", widely=True)
class ReturnsOneMore(Bent):
    def asked(self, read: Read) -> Read:
        return replace(read, limit=read.limit + 1)


@breaks("an_update_cannot_outgrow_the_limits")
class GrowsWithoutLimit(Bent):
    async def update(self, id: str, patch: Patch, *, revision: str | None, now: datetime) -> Record:
        record = await super().update(id, replace(patch, set_attributes={}), revision=revision, now=now)
        record = replace(record, attributes={**record.attributes, **patch.set_attributes})
        self._rooms.save(replace(self._find(id), record=record))
        return _copied(record)
