"""Looking after a store's own files: for hosts, where the provider has any."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol, runtime_checkable

__all__ = ["Progress", "Upkeep"]

Progress = Callable[[int, int], object]
"""Called with what is done and what there is in all, in pages or records."""


@runtime_checkable
class Upkeep(Protocol):
    """What `MemoryStore.upkeep` gives. Safe while the store is in use, from any process."""

    async def backup(self, target: Path, *, progress: Progress | None = None) -> None:
        """Copy the whole store, as it is at one moment, to a new file; verified before it appears.

        Raises InvalidInput when `target` exists.
        """

    async def restore_backup(self, source: Path, *, progress: Progress | None = None) -> None:
        """Replace all that the store holds by a backup, verified first; all or nothing."""

    async def check(self, *, deep: bool = False) -> list[str]:
        """What is wrong with the files, a line each; `deep` reads every record and the whole index."""

    async def reindex(self) -> int:
        """Rebuild the index from the records, in one step; returns how many records."""

    async def compact(self) -> None:
        """Rewrite the files: what was deleted leaves their unused space too, and that space is freed."""
