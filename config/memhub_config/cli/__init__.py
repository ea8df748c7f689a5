"""The `memhub` command: thin over the same calls that a product makes."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; its exit code: 0 done, 1 an error of ours, 2 a usage error, 130 interrupted."""
    from memhub_config.cli.app import run

    return run([_text(given) for given in (sys.argv[1:] if arguments is None else arguments)])


def _text(given: str) -> str:
    """The argument as UTF-8, also where the locale could not say so."""
    try:
        return os.fsencode(given).decode()
    except UnicodeError:
        return given
