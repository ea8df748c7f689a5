"""Mem0 in its three flavors: the Platform, a server of one's own, and in process."""

from __future__ import annotations

from memhub_adapters.mem0.adapter import Mem0Adapter
from memhub_adapters.mem0.flavors import embedded, platform, self_hosted

__all__ = ["Mem0Adapter", "embedded", "platform", "self_hosted"]
