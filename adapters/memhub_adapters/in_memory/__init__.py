"""Memory of the process: gone with it. The reference that the conformance kit compares with."""

from __future__ import annotations

from memhub_adapters.in_memory.adapter import InMemoryAdapter

__all__ = ["InMemoryAdapter"]
