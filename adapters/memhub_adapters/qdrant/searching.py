"""Search by words, by meaning, or both: lists from Qdrant, the order by the recipe of all adapters.

Qdrant weighs each word by how rare it is among the points of the scopes that the query names, so
other scopes change nothing. From the best of its lists the boosts of `memhub.search` are worked out
here, as everywhere; so is the fusion of words and meaning, by relative scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from memhub import filters
from memhub.adapter import Read
from memhub.records import Hit, Recalled, Why
from memhub.search import Candidate, Question, lends, listing_key, question, rank, why
from memhub.search.analyzer import words
from memhub.search.fusion import fused, relative
from memhub.search.indexing import is_turn
from memhub.search.parameters import LEXICAL
from memhub.search.ranking import Ranked
from memhub.search.scores import PlainScores
from memhub_adapters.qdrant.collection import Collection
from memhub_adapters.qdrant.conditions import both, of_ids, scoped, selected
from memhub_adapters.qdrant.engine import Filter, Row, Search, Sparse
from memhub_adapters.qdrant.points import Stored, asked_words, stored_of

__all__ = ["search"]

LIST: Final = 200
"""Length of each list that is fused."""

CANDIDATES: Final = 64
"""Best of the lists among which the boosts reorder; on LoCoMo 50 find 0.4 points of R@10 less than 200."""

TIED: Final = 4
"""How much longer a list is asked for when its end is tied with what must be shown."""


async def search(collection: Collection, read: Read, text: str, mode: str) -> Recalled:
    """The most relevant records that the query admits."""
    ask = _Ask(collection, read, selected(read), both(scoped(read.scopes, exact=read.exact)), question(text))
    if mode == "hybrid":
        return await _hybrid(ask, text)
    if mode == "semantic":
        return await _by_meaning(ask, text)
    rows = await _untied(ask, ask.by_words(max(CANDIDATES, read.limit)), read.limit)
    return await _ranked(ask, _stored(rows), {row.id: row.score for row in rows}, {})


@dataclass(frozen=True, slots=True)
class _Ask:
    """One question: where, in which corpus words weigh, and what it looks for."""

    collection: Collection
    read: Read
    where: Filter
    corpus: Filter
    asks: Question

    def by_words(self, limit: int, *, payload: bool = True) -> Search:
        dimensions = list(asked_words(self.asks))
        return Search(
            using=self.collection.makers.words,
            vector=Sparse(dimensions, [1.0] * len(dimensions)),
            where=self.where,
            limit=limit,
            corpus=self.corpus,
            payload=payload,
        )

    async def by_meaning(self, text: str, limit: int, *, payload: bool = True) -> Search:
        (vector,) = await self.collection.embed([text])
        return Search(
            using=self.collection.makers.meaning or "",
            vector=vector or [],
            where=self.where,
            limit=limit,
            payload=payload,
        )


async def _hybrid(ask: _Ask, text: str) -> Recalled:
    size = max(LIST, ask.read.limit)
    by_words = ask.by_words(size, payload=False)
    by_meaning = await ask.by_meaning(text, size, payload=False)
    lexical, semantic = await ask.collection.engine.search(by_words, by_meaning)
    meaning = {row.id: row.score for row in semantic}
    scores = fused({row.id: row.score for row in lexical}, meaning)
    best = sorted(scores, key=lambda point: -scores[point])[: max(CANDIDATES, ask.read.limit)]
    rows = await ask.collection.engine.read(best) if best else []
    # What has changed since the lists were made may no longer be shown.
    found = [one for one in _stored(rows) if filters.admits(one.record, ask.read)]
    gains = {id: (1 - LEXICAL) * gain for id, gain in relative(meaning).items()}
    return await _ranked(ask, found, scores, gains)


async def _by_meaning(ask: _Ask, text: str) -> Recalled:
    rows = await _untied(ask, await ask.by_meaning(text, ask.read.limit + 1), ask.read.limit)
    scores = {row.id: row.score for row in rows}
    found = sorted(_stored(rows), key=lambda one: (scores[one.point], *listing_key(one.record)), reverse=True)
    explain = ask.read.explain
    return Recalled(
        tuple(
            Hit(one.record, scores[one.point], Why(semantic=scores[one.point]) if explain else None)
            for one in found[: ask.read.limit]
        )
    )


async def _untied(ask: _Ask, search: Search, limit: int) -> list[Row]:
    """The rows of a list, made longer until the last is worth less than the last that must be shown."""
    while True:
        (rows,) = await ask.collection.engine.search(search)
        if len(rows) < search.limit or _worth(rows[-1]) < _worth(rows[limit - 1]):
            return [replace(row, score=_worth(row)) for row in rows]
        search = replace(search, limit=TIED * search.limit)


async def _ranked(
    ask: _Ask, found: Sequence[Stored], scores: dict[str, float], meaning: dict[str, float]
) -> Recalled:
    """The hits among these candidates, boosts applied; `meaning` is what that added to each score."""
    numbers = {one.point: number for number, one in enumerate(found)}
    named = frozenset(numbers[one.point] for one in found if _named(one, ask.asks))
    values = PlainScores({numbers[one.point]: scores[one.point] for one in found}, named)
    sessions = {one.session: ~number for number, one in enumerate(found)}
    candidates = {numbers[one.point]: _candidate(one, numbers, sessions) for one in found}
    turns = any(is_turn(one.record) for one in found)
    ranked = rank(values, ask.read.limit, lambda keys: {key: candidates[key] for key in keys}, turns=turns)
    if not ask.read.explain:
        return Recalled(tuple(Hit(found[hit.key].record, hit.score) for hit in ranked))
    values.parts.update(await _parts(ask, found, ranked))
    hits = []
    for hit in ranked:
        one = found[hit.key]
        reason = replace(why(hit, one.record, ask.asks, values), semantic=meaning.get(one.point, 0.0))
        hits.append(Hit(one.record, hit.score, reason))
    return Recalled(tuple(hits))


async def _parts(ask: _Ask, found: Sequence[Stored], ranked: Sequence[Ranked]) -> dict[str, dict[int, float]]:
    """By term, what it gives to each hit: asked word by word."""
    keys = {found[hit.key].point: hit.key for hit in ranked}
    base = ask.by_words(len(keys), payload=False)
    where = both(base.where, {"must": [of_ids(keys)]})
    terms = asked_words(ask.asks)
    single = [replace(base, vector=Sparse([dimension], [1.0]), where=where) for dimension in terms]
    lists = await ask.collection.engine.search(*single) if keys else []
    gains = ({keys[row.id]: row.score for row in rows} for rows in lists)
    return dict(zip(terms.values(), gains, strict=False))


def _candidate(stored: Stored, numbers: dict[str, int], sessions: dict[str | None, int]) -> Candidate:
    record = stored.record
    return Candidate(
        listing_key(record),
        sessions[stored.session] if stored.session else None,
        numbers.get(stored.previous or ""),
        lends(record) and is_turn(record),
    )


def _named(stored: Stored, asks: Question) -> bool:
    author = stored.record.provenance.author
    return bool(author) and not asks.words.isdisjoint(words(author or "", stored=True))


def _stored(rows: Sequence[Row]) -> list[Stored]:
    return [one for one in map(stored_of, rows) if one is not None]


def _worth(row: Row) -> float:
    """A score as far as it can be trusted: engines add up 32-bit floats in any order."""
    return float(f"{row.score:.5g}")
