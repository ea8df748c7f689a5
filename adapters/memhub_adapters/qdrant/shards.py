"""The embedded collections that this process has open: each once, whoever uses it.

Qdrant's edge engine locks a collection's folder for one process. Within it, the adapters that name
the same folder share one shard, and the last of them to close closes it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from memhub_adapters.qdrant.failure import QdrantFailure

if TYPE_CHECKING:
    import qdrant_edge

__all__ = ["Lease", "Shard"]

_OPEN: dict[Path, Shard] = {}
_OPENING = Lock()


@dataclass(slots=True)
class Shard:
    """An open collection. `writing` is held through every request that changes it.

    `engine` is None until there is a collection.
    """

    folder: Path
    engine: qdrant_edge.EdgeShard | None = None
    writing: Lock = field(default_factory=Lock)
    users: int = 0


class Lease:
    """One adapter's use of a shard: taken on first use, given back by `close`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._shard: Shard | None = None

    def shard(self) -> Shard:
        """The shard, opened where the folder holds a collection."""
        if self._shard is None:
            with _OPENING:
                self._shard = self._shard or _taken(self._folder.resolve())
        return self._shard

    def close(self) -> None:
        """Give the shard back; safe twice and without use."""
        with _OPENING:
            shard, self._shard = self._shard, None
            if shard is None:
                return
            shard.users -= 1
            if shard.users == 0:
                del _OPEN[shard.folder]
                if shard.engine is not None:
                    shard.engine.close()


def _taken(folder: Path) -> Shard:
    shard = _OPEN.get(folder) or Shard(folder)
    if shard.engine is None and (folder / "segments").is_dir():
        shard.engine = _loaded(folder)
    _OPEN[folder] = shard
    shard.users += 1
    return shard


def _loaded(folder: Path) -> qdrant_edge.EdgeShard:
    import qdrant_edge

    try:
        return qdrant_edge.EdgeShard.load(str(folder))
    except Exception as error:  # noqa: BLE001 - the engine raises nothing finer
        kind = "Locked" if "WouldBlock" in str(error) else "Unreadable"
    raise QdrantFailure(kind, "none")
