"""A bound memory, served to other processes: thin over the same calls that a product makes."""

from typing import Final

__all__ = ["LOOPBACK"]

LOOPBACK: Final = ("127.0.0.1", "::1", "localhost")
"""Hosts to listen on that only this machine can reach."""
