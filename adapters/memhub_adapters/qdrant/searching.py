"""Search by words, by meaning, or both: lists from Qdrant, the order by the recipe of all adapters.

Qdrant weighs each word by how rare it is among the points of the scopes that the query names, so
other scopes change nothing. From the best of its lists the boosts of `memhub.search` are worked out
here, as everywhere; so is the fusion of words and meaning, by relative scores.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from memhub import filters
from memhub.adapter import Read
from memhub.records import Hit, Recalled, Record, Why
from memhub.search import Candidate, Question, question, rank, why
from memhub.search.analyzer import words
from memhub.search.fusion import fused, relative
from memhub.search.parameters import LEXICAL
from memhub.search.ranking import Ranked
from memhub.search.scores import PlainScores
from memhub_adapters.qdrant.collection import Collection
from memhub_adapters.qdrant.conditions import both, of_ids, scoped, selected
from memhub_adapters.qdrant.engine import Filter, Row, Search, Sparse
from memhub_adapters.qdrant.failure import QdrantFailure
from memhub_adapters.qdrant.points import asked_words, stored_of

__all__ = ["search"]

LIST: Final = 200
"""Length of each list that is fused."""

CANDIDATES: Final = 64
"""Best of the lists among which the boosts reorder; on LoCoMo 50 find 0.4 points of R@10 less than 200."""

TIED: Final = 4
"""How much longer a list is asked for when its end is tied with what must be shown."""


async def search(collection: Collection, read: Read, text: str, mode: str) -> Recalled:
    """The most relevant records that the query admits."""
    corpus = {"must": scoped(read.scopes, exact=read.exact)}
    ask = _Ask(collection, read, selected(read), corpus, question(text))
    if mode == "hybrid":
        return await _hybrid(ask, text)
    if mode == "semantic":
        return await _by_meaning(ask, text)
    rows = await _untied(ask, ask.by_words(max(CANDIDATES, read.limit)), read.limit)
    return await _ranked(ask, rows, {row.id: _worth(row) for row in rows}, {})


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
    gains = {id: (1 - LEXICAL) * gain for id, gain in relative(meaning).items()}
    return await _ranked(ask, [row for row in rows if row.payload.get("type") == "record"], scores, gains)


async def _by_meaning(ask: _Ask, text: str) -> Recalled:
    rows = await _untied(ask, await ask.by_meaning(text, ask.read.limit + 1), ask.read.limit)
    best = sorted(rows, key=lambda row: (_worth(row), *_place(row)), reverse=True)[: ask.read.limit]
    found = [(_record(row), row.score) for row in best]
    explain = ask.read.explain
    return Recalled(
        tuple(Hit(record, score, Why(semantic=score) if explain else None) for record, score in found)
    )


async def _untied(ask: _Ask, search: Search, limit: int) -> list[Row]:
    """The rows of a list, made longer until the last is worth less than the last that must be shown."""
    while True:
        (rows,) = await ask.collection.engine.search(search)
        if len(rows) < search.limit or _worth(rows[-1]) < _worth(rows[limit - 1]):
            return rows
        search = replace(search, limit=TIED * search.limit)


async def _ranked(
    ask: _Ask, rows: Sequence[Row], scores: Mapping[str, float], meaning: Mapping[str, float]
) -> Recalled:
    """The hits among these rows, boosts applied; `meaning` is what that added to each score."""
    numbers = {row.id: number for number, row in enumerate(rows)}
    named = frozenset(number for number, row in enumerate(rows) if _named(row, ask.asks))
    values = PlainScores({number: scores[row.id] for number, row in enumerate(rows)}, named)
    sessions = {row.payload.get("session"): ~number for number, row in enumerate(rows)}
    candidates = [_candidate(row, numbers, sessions) for row in rows]
    turns = any("role" in row.payload for row in rows)
    order = rank(values, len(rows), lambda keys: {key: candidates[key] for key in keys}, turns=turns)
    hits: list[tuple[Ranked, Record]] = []
    for hit in order:
        record = _record(rows[hit.key])
        # What has changed since the lists were made may no longer be shown.
        if filters.admits(record, ask.read):
            hits.append((hit, record))
        if len(hits) == ask.read.limit:
            break
    if not ask.read.explain:
        return Recalled(tuple(Hit(record, hit.score) for hit, record in hits))
    values.parts.update(await _parts(ask, rows, [hit for hit, _ in hits]))
    return Recalled(
        tuple(
            Hit(
                record,
                hit.score,
                replace(why(hit, record, ask.asks, values), semantic=meaning.get(rows[hit.key].id, 0.0)),
            )
            for hit, record in hits
        )
    )


async def _parts(ask: _Ask, rows: Sequence[Row], hits: Sequence[Ranked]) -> dict[str, dict[int, float]]:
    """By term, what it gives to each hit: asked word by word."""
    keys = {rows[hit.key].id: hit.key for hit in hits}
    base = ask.by_words(len(keys), payload=False)
    where = both(base.where, {"must": [of_ids(keys)]})
    terms = asked_words(ask.asks)
    single = [replace(base, vector=Sparse([dimension], [1.0]), where=where) for dimension in terms]
    lists = await ask.collection.engine.search(*single) if keys else []
    gains = ({keys[row.id]: row.score for row in found} for found in lists)
    return dict(zip(terms.values(), gains, strict=False))


def _candidate(row: Row, numbers: Mapping[str, int], sessions: Mapping[str | None, int]) -> Candidate:
    held = row.payload
    return Candidate(
        _place(row),
        sessions[held["session"]] if "session" in held else None,
        numbers.get(held.get("previous", "")),
        "role" in held and "invalid_at" not in held and "expires_at" not in held,
    )


def _place(row: Row) -> tuple[str, str, int, str]:
    """The order of a listing. Times as stored sort as the moments that they are."""
    held = row.payload
    return (held["observed_at"], held["created_at"], held["position"], held.get("id", row.id))


def _named(row: Row, asks: Question) -> bool:
    author = row.payload.get("author")
    return author is not None and not asks.words.isdisjoint(words(author, stored=True))


def _record(row: Row) -> Record:
    stored = stored_of(row)
    if stored is None:
        raise QdrantFailure("UnexpectedAnswer", "done")
    return stored.record


def _worth(row: Row) -> float:
    """A score as far as it can be trusted: engines add up 32-bit floats in any order."""
    return float(f"{row.score:.5g}")
