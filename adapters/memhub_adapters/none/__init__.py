"""No memory at all, on purpose: everything is accepted and nothing is kept."""

from __future__ import annotations

from memhub_adapters.none.adapter import NoneAdapter

__all__ = ["NoneAdapter"]
