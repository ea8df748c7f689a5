"""What is wrong with a configuration: gathered, placed in its file, told all at once."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable, Mapping
from typing import Final

from memhub import InvalidConfig

__all__ = ["Place", "Problems", "dotted", "listed", "nearest", "spaced"]

Place = tuple[str | int, ...]

_PLAIN: Final = re.compile(r"[\w-]+")


def dotted(place: Place) -> str:
    """The path to a field as people write it: `stores.notes.requires[1]`.

    A key is shown up to its colon: in braces, `{api_key:secret}` without a space is one key.
    """
    text = ""
    for part in place:
        if isinstance(part, int):
            text += f"[{part}]"
        elif part:
            before, colon, _ = part.partition(":")
            shown = f"{before}:..." if colon else part
            name = shown if _PLAIN.fullmatch(shown) else json.dumps(shown, ensure_ascii=False)
            text += f".{name}" if text else name
    return text


def nearest(name: str, known: Iterable[str]) -> str:
    """`; did you mean 'path'?`, or nothing when no known name is near."""
    found = difflib.get_close_matches(name.lower(), list(known), n=1, cutoff=0.6)
    return f"; did you mean {found[0]!r}?" if found else ""


def spaced(name: str) -> str:
    """What to do about a key that holds a colon, or nothing for any other."""
    return "; put a space after the colon" if ":" in name else ""


def listed(names: Iterable[str]) -> str:
    """Names as a list to read: `a, b, c`."""
    return ", ".join(names) or "none"


class Problems:
    """The problems of one source, each at a place in it. Never holds a value of the file."""

    def __init__(self, source: str, lines: Mapping[Place, int]) -> None:
        self._source = source
        self._lines = lines
        self._found: dict[Place, str] = {}

    def add(self, place: Place, message: str) -> None:
        """Note one problem. The first one at a place stands: what follows from it is no news."""
        self._found.setdefault(place, message)

    def check(self) -> None:
        """Raise InvalidConfig with every problem noted so far, in the order of the file."""
        if self._found:
            raise self.error()

    def error(self) -> InvalidConfig:
        """The error that tells them all."""
        told = sorted(self._found.items(), key=lambda problem: self._line(problem[0]) or 0)
        if len(told) == 1:
            return InvalidConfig(self._told(*told[0], source=f"{self._source}, "))
        rows = "\n".join(f"  {self._told(place, message)}" for place, message in told)
        return InvalidConfig(f"{self._source} has {len(told)} problems:\n{rows}")

    def _told(self, place: Place, message: str, *, source: str = "") -> str:
        line = self._line(place)
        where = source + (f"line {line}: " if line else "")
        if not line and source:
            where = f"{self._source}: "
        name = dotted(place)
        return f"{where}{name}: {message}" if name else f"{where}{message}"

    def _line(self, place: Place) -> int | None:
        """The line of the field itself, else of the nearest thing around it."""
        for length in range(len(place), 0, -1):
            if place[:length] in self._lines:
                return self._lines[place[:length]]
        return None
