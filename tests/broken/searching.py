"""Adapters that find too much, too little, or in another order."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from broken.fault import Bent, breaks
from memhub.adapter import Read
from memhub.changes import patched
from memhub.records import UNSET, Hit, Patch, Recalled, Record, Why
from memhub.search import listing_key, question
from memhub.search.analyzer import date_words, words
from memhub_adapters.in_memory.adapter import CAPABILITIES, _copied


def spoken(text: str) -> set[str]:
    """The folded words of a text."""
    return set(words(text, stored=True))


def plain(text: str) -> set[str]:
    """Words as a plain engine sees them: case folds, accents do not."""
    return set(re.findall(r"\w+", text.lower()))


class Searches(Bent):
    """Looks at what a search found; a listing is left as it is."""

    def admits(self, record: Record, asked: set[str]) -> bool:
        return True

    def found(self, read: Read, hits: Sequence[Hit]) -> Sequence[Hit]:
        if read.text is None:
            return hits
        asked = spoken(read.text)
        return self.sorted([hit for hit in hits if self.admits(hit.record, asked)])

    def sorted(self, hits: list[Hit]) -> Sequence[Hit]:
        return hits


@breaks("no_text_is_a_syntax_error")
class ParsesQuestions(Bent):
    def asked(self, read: Read) -> Read:
        if read.text and read.text.count("(") != read.text.count(")"):
            raise ValueError("unterminated")
        return read


@breaks("no_text_is_a_syntax_error")
class KnowsColumns(Bent):
    def asked(self, read: Read) -> Read:
        if read.text and re.match(r"[a-z]+:", read.text):
            raise ValueError("no such column")
        return read


@breaks("a_search_has_one_page", "filters_apply_to_a_search")
class PagesSearches(Bent):
    async def recall(self, read: Read) -> Recalled:
        found = await super().recall(read)
        more = read.text is not None and len(found.hits) == read.limit == 1
        return replace(found, cursor="more") if more else found


@breaks("every_declared_mode_finds", "reembedding_changes_nothing")
class DeclaresWhatItCannot(Bent):
    capabilities = replace(CAPABILITIES, modes=("keyword", "semantic"))

    def found(self, read: Read, hits: Sequence[Hit]) -> Sequence[Hit]:
        return [] if read.mode == "semantic" else hits


@breaks("the_default_mode_is_a_declared_one")
class HasNoDefault(Bent):
    capabilities = replace(CAPABILITIES, default_mode=None)


@breaks("a_word_finds_the_texts_that_hold_it")
class FindsParts(Bent):
    """As LIKE does."""

    async def recall(self, read: Read) -> Recalled:
        found = await super().recall(read)
        if read.text is None or not read.text.isalpha():
            return found
        listed = await super().recall(replace(read, text=None))
        held = {hit.record.id for hit in found.hits}
        more = [
            hit for hit in listed.hits if f" {read.text}" in hit.record.content and hit.record.id not in held
        ]
        return replace(found, hits=(*found.hits, *more))


@breaks("several_words_are_any_of_them", "rarer_words_rank_higher", widely=True)
class WantsEveryWord(Searches):
    def admits(self, record: Record, asked: set[str]) -> bool:
        return asked <= spoken(record.content)


@breaks(
    "several_words_are_any_of_them", "rarer_words_rank_higher", "a_turn_answers_to_the_words_before_it",
    "turns_of_a_conversation_are_neighbours_across_calls", "a_deleted_turn_makes_others_neighbours",
    "an_updated_turn_lends_its_new_words", "explain_tells_neighbours_apart", "restored_turns_are_neighbours",
)  # fmt: skip
class FindsTheNewestFirst(Searches):
    def sorted(self, hits: list[Hit]) -> Sequence[Hit]:
        return sorted(hits, key=lambda hit: listing_key(hit.record), reverse=True)


@breaks("rarer_words_rank_higher")
class CountsWords(Searches):
    def sorted(self, hits: list[Hit]) -> Sequence[Hit]:
        if not all(re.fullmatch("(tea|saffron) [a-z]+", hit.record.content) for hit in hits):
            return hits
        return sorted(hits, key=lambda hit: listing_key(hit.record), reverse=True)


@breaks("equal_scores_go_by_newest_first")
class FindsEqualsOldestFirst(Searches):
    def sorted(self, hits: list[Hit]) -> Sequence[Hit]:
        order = sorted(hits, key=lambda hit: listing_key(hit.record))
        return sorted(order, key=lambda hit: -hit.score)


@breaks("case_and_accents_fold")
class MindsAccents(Searches):
    def admits(self, record: Record, asked: set[str]) -> bool:
        accented = re.search("[àâéèêîôû]", record.content) is not None
        return not accented or bool(plain(record.content) & asked)


@breaks("every_script_is_found")
class SplitsAtSpaces(Searches):
    """As FTS5's unicode61 does: a run of letters is one word in any script."""

    async def recall(self, read: Read) -> Recalled:
        found = await super().recall(read)
        if read.text is None or read.text.isascii() or not read.text.isalpha():
            return found
        asked = unicodedata.normalize("NFC", read.text).lower()
        hits = [
            hit for hit in found.hits if asked in plain(hit.record.content) or hit.record.content.isascii()
        ]
        latin = any(ord(letter) < 0x250 for letter in read.text)
        return found if latin else replace(found, hits=tuple(hits))


@breaks("an_emoji_is_a_word")
class SeesNoEmoji(Searches):
    def admits(self, record: Record, asked: set[str]) -> bool:
        return any(word.isalnum() or "_" in word or word.isalpha() for word in asked)


@breaks("words_are_found_as_they_are_written")
class TakesHyphensForNot(Bent):
    def found(self, read: Read, hits: Sequence[Hit]) -> Sequence[Hit]:
        banned = re.findall(r"-(\w+)", read.text or "")
        return [hit for hit in hits if not any(word in hit.record.content for word in banned)]


@breaks("stop_words_count_when_alone")
class ForgetsStopWords(Bent):
    def found(self, read: Read, hits: Sequence[Hit]) -> Sequence[Hit]:
        return hits if read.text is None or question(read.text).terms else []


@breaks("tags_are_searched")
class SearchesNoTags(Searches):
    def admits(self, record: Record, asked: set[str]) -> bool:
        return not asked & spoken(" ".join(record.tags))


@breaks("authors_are_searched")
class SearchesNoAuthors(Searches):
    def admits(self, record: Record, asked: set[str]) -> bool:
        return not asked & spoken(record.provenance.author or "")


@breaks("dates_are_searched")
class SearchesNoDates(Searches):
    def admits(self, record: Record, asked: set[str]) -> bool:
        return not asked & spoken(date_words(record.observed_at))


@breaks(
    "an_updated_text_is_found_by_its_new_words", "an_updated_turn_lends_its_new_words",
    "writes_are_seen_by_others",
)  # fmt: skip
class IndexesOnce(Bent):
    def __init__(self) -> None:
        super().__init__()
        self.indexed: dict[str, str] = {}

    async def update(self, id: str, patch: Patch, *, revision: str | None, now: datetime) -> Record:
        if patch.expires_at is not UNSET:
            return await super().update(id, patch, revision=revision, now=now)
        slot = self._alive(id, revision, now)
        self.indexed.setdefault(id, slot.record.content)
        record = patched(slot.record, patch, now=now)
        self._rooms.save(replace(slot, record=record))
        return _copied(record)

    async def delete(self, id: str, *, revision: str | None, now: datetime) -> None:
        if id in self.indexed and (slot := self._rooms.find(id)):
            self._rooms.save(replace(slot, record=replace(slot.record, content=self.indexed.pop(id))))
        await super().delete(id, revision=revision, now=now)


@breaks("explain_says_which_words_matched", "explain_tells_neighbours_apart")
class ExplainsNothing(Bent):
    def asked(self, read: Read) -> Read:
        return replace(read, explain=False)


@breaks("explain_says_which_words_matched")
class ExplainsUnasked(Bent):
    def found(self, read: Read, hits: Sequence[Hit]) -> Sequence[Hit]:
        return [replace(hit, why=hit.why or Why()) for hit in hits]


@breaks("explain_tells_neighbours_apart")
class ExplainsNeighboursAsItsOwn(Bent):
    def found(self, read: Read, hits: Sequence[Hit]) -> Sequence[Hit]:
        return [replace(hit, why=hit.why and self.mixed(hit.why)) for hit in hits]

    def mixed(self, why: Why) -> Why:
        return replace(why, words={**why.words, **why.neighbour}, neighbour={})


@breaks("the_longest_question_is_answered")
class CutsQuestions(Bent):
    def asked(self, read: Read) -> Read:
        return replace(read, text=read.text and read.text[:10_000])
