"""Adapters that mistake one scope for another."""

import fnmatch
import re
from collections.abc import Callable
from dataclasses import replace
from itertools import chain

from broken.fault import Bent, breaks
from memhub import Scope
from memhub.adapter import Read, Write
from memhub.records import Observed, Recalled

UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Mixing(Bent):
    """An adapter that reads more scopes than it was asked to."""

    def matches(self, held: str, asked: str) -> bool:
        raise NotImplementedError

    def asked(self, read: Read) -> Read:
        names = [scope.name for scope in read.scopes if scope.name]
        held = [scope for scope in self._rooms._rooms if scope.name]
        more = [scope for scope in held if any(self.matches(scope.name or "", name) for name in names)]
        return replace(read, scopes=tuple(dict.fromkeys((*read.scopes, *more))))


def like(held: str, asked: str) -> bool:
    """SQL's LIKE: `_` for any character, `%` for any number of them."""
    return re.fullmatch(re.escape(asked).replace("_", ".").replace("%", ".*"), held, re.DOTALL) is not None


@breaks(
    "a_scope_is_no_pattern", "purge_is_no_pattern", "separators_in_a_scope_do_not_collide",
)  # fmt: skip
class TakesScopesForPatterns(Mixing):
    def matches(self, held: str, asked: str) -> bool:
        return like(held, asked)


@breaks("a_scope_is_no_pattern", "words_of_a_query_language_are_scopes")
class TakesScopesForGlobs(Mixing):
    def matches(self, held: str, asked: str) -> bool:
        return fnmatch.fnmatchcase(held, asked)


@breaks(
    "a_scope_is_no_prefix", "a_scope_is_no_pattern", "words_of_a_file_system_are_scopes", "a_name_is_no_pair",
    "purge_is_no_pattern",
)  # fmt: skip
class TakesScopesForPrefixes(Mixing):
    def matches(self, held: str, asked: str) -> bool:
        return held.startswith(asked)


@breaks("separators_in_a_scope_do_not_collide")
class JoinsScopesWithASlash(Mixing):
    def matches(self, held: str, asked: str) -> bool:
        return held.replace(":", "/") == asked.replace(":", "/")


@breaks("case_and_form_of_a_scope_count", "purge_is_no_pattern")
class FoldsScopes(Mixing):
    def matches(self, held: str, asked: str) -> bool:
        return held.casefold() == asked.casefold()


@breaks("the_longest_scope_is_kept")
class CutsScopes(Mixing):
    def matches(self, held: str, asked: str) -> bool:
        return held.encode()[:500] == asked.encode()[:500]


@breaks(
    "an_unknown_scope_is_empty", "a_union_finds_each_record_once", "purge_empties_one_scope",
    "purge_is_no_pattern",
)  # fmt: skip
class FallsBackToEverything(Mixing):
    def matches(self, held: str, asked: str) -> bool:
        return asked not in {scope.name for scope in self._rooms._rooms}


class Choking(Bent):
    """An adapter on which some scopes cannot be used."""

    chokes: Callable[[str], object]

    async def observe(self, write: Write) -> Observed:
        if write.scope.name and self.chokes(write.scope.name):
            raise ValueError(write.scope.name)
        return await super().observe(write)


@breaks("words_of_a_query_language_are_scopes", "a_name_is_no_pair")
class ChokesOnQuotes(Choking):
    chokes = staticmethod(lambda name: '"' in name)


@breaks("words_of_a_file_system_are_scopes")
class ChokesOnDots(Choking):
    chokes = staticmethod(lambda name: ".." in name)


@breaks("a_uuid_is_a_scope")
class ChokesOnUuids(Choking):
    chokes = staticmethod(UUID.fullmatch)


class Routing(Bent):
    """An adapter that keys its records by a text made of the scope."""

    def route(self, scope: Scope) -> str:
        raise NotImplementedError

    async def observe(self, write: Write) -> Observed:
        return await super().observe(replace(write, scope=self._known(write.scope)))

    async def recall(self, read: Read) -> Recalled:
        return await super().recall(replace(read, scopes=tuple(map(self._known, read.scopes))))

    def _known(self, scope: Scope) -> Scope:
        return next((held for held in self._rooms._rooms if self.route(held) == self.route(scope)), scope)


@breaks("a_name_is_no_pair")
class RoutesByText(Routing):
    def route(self, scope: Scope) -> str:
        return str(scope)


@breaks("pairs_do_not_collide")
class RoutesByJoinedPairs(Routing):
    def route(self, scope: Scope) -> str:
        return ",".join(f"{key}:{value}" for key, value in scope.pairs) or repr(scope)


@breaks("keys_of_a_provider_are_plain_labels")
class RoutesByItsOwnFields(Routing):
    def route(self, scope: Scope) -> str:
        return repr(scope).replace("'app_id'", "'run_id'")


@breaks("a_query_for_some_labels_finds_more_specific_scopes", "purge_covers_more_specific_scopes")
class MatchesExactlyInSilence(Bent):
    def asked(self, read: Read) -> Read:
        return replace(read, exact=True)


@breaks("exact_finds_that_very_scope", "pairs_do_not_collide")
class IgnoresExact(Bent):
    def asked(self, read: Read) -> Read:
        return replace(read, exact=False)


@breaks("a_union_finds_each_record_once", "the_most_scopes_are_searched")
class ReadsTheFirstScope(Bent):
    def asked(self, read: Read) -> Read:
        return replace(read, scopes=read.scopes[:1])


@breaks("the_most_scopes_are_searched")
class ReadsFiftyScopes(Bent):
    def asked(self, read: Read) -> Read:
        return replace(read, scopes=read.scopes[:50])


@breaks("overlapping_scopes_find_each_record_once", "a_union_finds_each_record_once")
class ReadsScopeByScope(Bent):
    async def recall(self, read: Read) -> Recalled:
        pages = [await super(ReadsScopeByScope, self).recall(replace(read, scopes=(s,))) for s in read.scopes]
        hits = list(chain.from_iterable(page.hits for page in pages))
        if read.text is None:
            hits.sort(key=lambda hit: hit.record.observed_at, reverse=True)
        return pages[0] if len(pages) == 1 else Recalled(tuple(hits[: read.limit]))


@breaks("a_search_stays_in_its_scope", "neighbours_do_not_cross_scopes")
class SearchesEverywhere(Bent):
    def asked(self, read: Read) -> Read:
        everywhere = tuple(self._rooms._rooms) or read.scopes
        return read if read.text is None else replace(read, scopes=everywhere)
