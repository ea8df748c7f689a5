"""What can be wrong with the tree, and the contract's errors for the file system's."""

from __future__ import annotations

import os
from pathlib import Path

from memhub.errors import HubError, Unavailable
from memhub_adapters.markdown.reach import Reach
from memhub_adapters.sqlite import errors as sqlite_errors

__all__ = ["Fault", "Lost", "Stale", "translate"]


class Fault(Exception):
    """A file that is no memory, or cannot be rewritten; `line` counts from 1."""

    def __init__(self, problem: str, line: int = 1) -> None:
        super().__init__(problem)
        self.problem = problem
        self.line = line


class Stale(Exception):
    """Files have changed that the index does not know yet; look at these scopes, then repeat."""

    def __init__(self, reach: Reach) -> None:
        super().__init__("the index is older than the files")
        self.reach = reach


class Lost(Unavailable):
    """The index went away while in use. It holds nothing of its own: open a new one and repeat."""


def translate(error: Exception, root: Path) -> HubError | None:
    """The contract's error for one of the file system or of the index."""
    if isinstance(error, OSError):
        named = error.filename if error.filename is not None else root
        found = Unavailable(f"{os.fsdecode(named)}: {error.strerror or type(error).__name__}")
        found.__cause__ = error
        return found
    return sqlite_errors.translate(error, root)
