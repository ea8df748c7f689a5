"""Qdrant: hybrid search over one collection, on a server or embedded."""

from __future__ import annotations

from memhub_adapters.qdrant.adapter import MEMORY, QdrantAdapter

__all__ = ["MEMORY", "QdrantAdapter"]
