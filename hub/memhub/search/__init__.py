"""Search by words: pure, no I/O, shared by every adapter that searches by words."""

from __future__ import annotations

from memhub.search.analyzer import ANALYZER, Analysis, Question, analyze, has_words, question
from memhub.search.documents import BLOCK, STOPS, Document, document, lends, lent_terms, without
from memhub.search.ranking import Candidate, Ranked, blending, listing_key, rank, ranking, why
from memhub.search.scores import Scores
from memhub.search.scoring import Postings, Totals, asked, score

__all__ = [
    "ANALYZER",
    "BLOCK",
    "STOPS",
    "Analysis",
    "Candidate",
    "Document",
    "Postings",
    "Question",
    "Ranked",
    "Scores",
    "Totals",
    "analyze",
    "asked",
    "blending",
    "document",
    "has_words",
    "lends",
    "lent_terms",
    "listing_key",
    "question",
    "rank",
    "ranking",
    "score",
    "why",
    "without",
]
