"""Packed postings, and BM25 over them: with numpy and without, to the last bit."""

import math
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memhub import Provenance, Record, Scope
from memhub.search import (
    BLOCK,
    STOPS,
    Candidate,
    Totals,
    document,
    lends,
    lent_terms,
    question,
    rank,
    score,
    scoring,
    without,
)
from memhub.search.analyzer import Question
from memhub.search.documents import AUTHOR, LENGTHS, length_code
from memhub.search.parameters import K1, OWN, PREVIOUS, B
from memhub.search.scores import ArrayScores, PlainScores, Scores, raised

NOW = datetime(2026, 3, 7, tzinfo=UTC)
RECORD = Record(
    id="r",
    scope=Scope("me"),
    kind="fact",
    content="Jasmine tea",
    created_at=NOW,
    updated_at=NOW,
    observed_at=NOW,
    revision="1",
)


class TestLengths:
    @given(st.integers(0, 200_000), st.integers(0, 200_000))
    def test_a_longer_text_never_has_a_smaller_code(self, one: int, other: int) -> None:
        small, large = sorted((one, other))
        assert 0 <= length_code(small) <= length_code(large) <= 255

    def test_lengths_grow_with_their_codes(self) -> None:
        assert len(LENGTHS) == 256
        assert all(one < other for one, other in pairwise(LENGTHS))

    @given(st.integers(0, LENGTHS[-1]))
    def test_a_length_comes_back_within_three_percent(self, length: int) -> None:
        assert LENGTHS[length_code(length)] == pytest.approx(length, rel=0.03)

    def test_short_lengths_come_back_exactly(self) -> None:
        assert [LENGTHS[length_code(n)] for n in range(128)] == list(range(128))


class TestDocuments:
    def test_what_a_record_is_found_by(self) -> None:
        found = document(replace(RECORD, tags=("drink",), provenance=Provenance(author="Zoë Lang")))
        words = ("jasmin", "tea", "drink", "zoe", "lang", "7", "march", "2026")
        assert found.terms == {**dict.fromkeys(words, OWN), AUTHOR + "zoe": OWN, AUTHOR + "lang": OWN}
        assert LENGTHS[found.length] == len(words)

    def test_a_lent_word_counts_half(self) -> None:
        found = document(RECORD, {"tea": 1, "cup": 2})
        assert (found.terms["tea"], found.terms["cup"]) == (OWN + PREVIOUS, 2 * PREVIOUS)

    @pytest.mark.parametrize("changes", [{"invalid_at": NOW}, {"expires_at": NOW}])
    def test_what_is_hidden_or_will_expire_lends_nothing(self, changes: dict[str, object]) -> None:
        assert lends(RECORD)
        assert lent_terms(RECORD) == {"jasmin": 1, "tea": 1}
        assert not lends(replace(RECORD, **changes))
        assert lent_terms(replace(RECORD, **changes)) is None
        assert lent_terms(None) is None

    @given(st.sets(st.integers(0, 2**BLOCK - 1)), st.data())
    def test_a_record_is_taken_out_of_a_blob_and_nothing_else_is(
        self, places: set[int], data: st.DataObject
    ) -> None:
        text = data.draw(st.sampled_from(["tea", "tea and the cup", "was it"]))
        found = document(replace(RECORD, content=text))
        for term in found.entries(0):
            blob = b"".join(found.entries(place)[term] for place in sorted(places))
            for gone in range(2**BLOCK):
                left = b"".join(found.entries(place)[term] for place in sorted(places - {gone}))
                assert without(blob, gone, stops=term == STOPS) == left

    def test_a_count_fits_a_byte(self) -> None:
        assert document(replace(RECORD, content="tea " * 5_000)).entries(0)["tea"][1] == 255


triples = st.tuples(st.integers(1, 255), st.integers(0, 255))
blocks = st.dictionaries(st.integers(0, 2**BLOCK - 1), triples, min_size=1, max_size=8)
rows = st.dictionaries(st.integers(0, 40), blocks, max_size=4).map(
    lambda found: [
        (number << BLOCK, b"".join(bytes((place, *triple)) for place, triple in block.items()))
        for number, block in found.items()
    ]
)


def values(found: Scores) -> dict[int, float]:
    return {key: found.base(key) for key in found.head(len(found))}


named = st.frozensets(st.integers(0, 40 << BLOCK), max_size=5)


@given(rows, rows, named, st.integers(1, 30), st.sampled_from([0, 1 << 40]))
def test_numpy_changes_no_bit(
    one: list, other: list, authors: frozenset[int], count: int, apart: int
) -> None:
    asks = question("jasmine tea")
    far = [(first + apart, blob) for first, blob in other]
    postings = dict(zip(asks.terms, (one, far), strict=True))
    postings["@zoe"] = [(key >> BLOCK << BLOCK, bytes((key & 127, OWN, 9))) for key in authors]
    asks = replace(asks, words=frozenset({"zoe"}))
    totals = Totals(10_000, 120_000)
    plain = score(asks, postings, totals)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scoring, "VECTOR", 1)
        fast = score(asks, postings, totals)
    assert values(fast) == values(plain)
    assert sorted(fast.head(count)) == sorted(plain.head(count))
    assert fast.named == plain.named == authors


def test_numpy_is_used_for_long_postings_and_finds_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    asks = question("jasmine tea")
    postings = {
        term: [
            (n << BLOCK, bytes(byte for place in range(128) for byte in (place, step + n % 9, 10 + n)))
            for n in range(100)
        ]
        for step, term in enumerate(asks.terms, 4)
    }
    totals = Totals(10_000, 120_000)
    fast = score(asks, postings, totals)
    assert isinstance(fast, ArrayScores)
    monkeypatch.setattr(scoring, "_numpy", lambda: False)
    plain = score(asks, postings, totals)
    assert isinstance(plain, PlainScores)
    assert values(plain) == values(fast)
    assert len(fast) == 100 * 128


def test_the_formula_is_bm25() -> None:
    asks = question("tea")
    postings = {"tea": [(0, bytes((3, 2 * OWN, 20)))]}
    expected_idf = math.log(1 + (10 - 1 + 0.5) / (1 + 0.5))
    expected = expected_idf * 2 * (K1 + 1) / (2 + K1 * (1 - B + B * 20 / 15))
    assert values(score(asks, postings, Totals(10, 150))) == {3: pytest.approx(expected)}


@given(st.integers(1, 200), st.integers(1, 200))
def test_a_rarer_word_is_worth_more_and_none_is_worth_nothing(one: int, other: int) -> None:
    asks = question("tea cup")
    rare, common = sorted((one, other))
    postings = {
        "tea": [(0, bytes(byte for place in range(min(rare, 128)) for byte in (place, OWN, 10)))],
        "cup": [(1 << 32, bytes(byte for place in range(min(common, 128)) for byte in (place, OWN, 10)))],
    }
    found = score(asks, postings, Totals(200, 2_000))
    assert found.base(0) >= found.base(1 << 32) > 0


def test_explaining_changes_no_score_and_adds_up() -> None:
    asks = question("jasmine tea")
    postings = {term: [(0, bytes((n, OWN, 10)) + bytes((9, OWN, 12)))] for n, term in enumerate(asks.terms)}
    explained = score(asks, postings, Totals(20, 200), explain=True)
    assert values(explained) == values(score(asks, postings, Totals(20, 200)))
    for key, value in values(explained).items():
        assert value == pytest.approx(sum(part.get(key, 0.0) for part in explained.parts.values()))


def test_stop_words_alone_count_each_once() -> None:
    asks = question("who was it")
    numbers = sorted(asks.stops)
    postings = {STOPS: [(0, bytes((0, 2, *numbers[:2])) + bytes((1, 1, numbers[0])))]}
    found = score(asks, postings, Totals(10, 100))
    assert found.base(0) > found.base(1) > 0


def scored(held: dict[int, float]) -> Scores:
    return PlainScores(held, frozenset())


@given(
    st.dictionaries(st.integers(0, 500), st.sampled_from([1.0, 2.0, 3.0]), max_size=60),
    st.integers(1, 20),
    st.integers(1, 4),
)
def test_filters_apply_before_the_cut(held: dict[int, float], limit: int, every: int) -> None:
    def fetch(keys: list[int]) -> dict[int, Candidate]:
        return {key: Candidate((key,)) for key in keys if key % every == 0}

    found = [hit.key for hit in rank(scored(held), limit, fetch, turns=False)]
    admitted = sorted((key for key in held if key % every == 0), key=lambda key: (-held[key], -key))
    assert found == admitted[:limit]


def test_boosts_reorder_and_never_add() -> None:
    candidates = {
        1: Candidate((1,), session=1),
        2: Candidate((2,), session=1, previous=1),
        3: Candidate((3,)),
        4: Candidate((4,), session=1, previous=2, lends=False),
    }
    held = {1: 1.0, 2: 1.2, 3: 1.3}
    hits = rank(scored(held), 10, lambda keys: {key: candidates[key] for key in keys}, turns=True)
    assert {hit.key for hit in hits} == held.keys()
    first = next(hit for hit in hits if hit.key == 1)
    assert first.following == pytest.approx(0.2 * 1.2)
    assert first.score == pytest.approx(1.0 + first.following + first.session)


def test_a_question_that_names_its_author_prefers_the_authors_words() -> None:
    asks = Question({"tea": "tea"}, {}, frozenset({"zoe", "tea"}))
    entry = bytes((0, OWN, 10)) + bytes((1, OWN, 10))
    postings = {"tea": [(0, entry)], AUTHOR + "zoe": [(0, bytes((1, OWN, 10)))]}
    found = score(asks, postings, Totals(10, 100))
    assert found.named == {1}
    assert raised(found, 1) == pytest.approx(1.3 * raised(found, 0))
