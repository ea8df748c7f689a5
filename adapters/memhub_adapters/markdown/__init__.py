"""Memories in a folder of Markdown files, which people may read, edit and move."""

from __future__ import annotations

from memhub_adapters.markdown.adapter import MarkdownAdapter
from memhub_adapters.markdown.capabilities import CAPABILITIES, CAPABILITIES_APPEND_ONLY

__all__ = ["CAPABILITIES", "CAPABILITIES_APPEND_ONLY", "MarkdownAdapter"]
