"""Volcengine's Mem0: the same memories behind another dialect, with keys from its control plane."""

from __future__ import annotations

from memhub_adapters.volc_memory.adapter import VolcMemoryAdapter

__all__ = ["VolcMemoryAdapter"]
