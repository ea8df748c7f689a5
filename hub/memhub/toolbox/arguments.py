"""A tool's arguments as models really send them, read into what the contract takes.

Forgiven: an object as JSON text, even twice over, numbers as text, lists as JSON text or as one bare
item, optional arguments that are null or blank, a query that is missing, kinds in capitals. Never
forgiven: an argument that the tool does not have, since the model would believe that it was heeded.
"""

from __future__ import annotations

import difflib
import json
import math
from collections.abc import Callable, Mapping
from typing import Any, Final

from memhub import validation
from memhub.errors import InvalidInput
from memhub.records import KINDS, Kind
from memhub.toolbox.tools import LIMIT, LIMIT_DEFAULT, Tool

__all__ = ["SHOWN", "read_arguments"]

SHOWN: Final = 64
"""Characters of a name that a model made up which are repeated to it."""


def read_arguments(tool: Tool, given: object) -> dict[str, Any]:
    """The arguments by name, those left out absent. Raises InvalidInput in words for the model."""
    found = _object(given)
    known = [parameter.name for parameter in tool.takes]
    for name in found:
        if name not in known:
            raise InvalidInput(
                f"{tool.name} has no argument {_short(name)}{_near(name, known)}; {_told(tool)}"
            )
    read: dict[str, Any] = {}
    for parameter in tool.takes:
        value = found.get(parameter.name)
        if parameter.shape in _DEFAULTED:
            read[parameter.name] = _DEFAULTED[parameter.shape](parameter.name, value)
        elif parameter.required and value is None:
            raise InvalidInput(f"{parameter.name}: is required; {_told(tool)}")
        elif parameter.required or not _blank(value):
            read[parameter.name] = _READERS[parameter.shape](parameter.name, value)
    return read


def _object(given: object) -> Mapping[str, object]:
    value = given
    for _ in range(2):
        value = _parsed("arguments", value, {}) if isinstance(value, str) else value
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise InvalidInput(f"arguments: must be one JSON object, not {_kind_of(value)}")
    return value


def _parsed(field: str, text: str, empty: object = None) -> object:
    if not text.strip():
        return empty
    try:
        value: object = json.loads(text)
    except ValueError:
        raise InvalidInput(f"{field}: is not valid JSON; send it again") from None
    except RecursionError:
        raise InvalidInput(f"{field}: is nested too deeply") from None
    return value


def _text(field: str, value: object) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = _digits(field, value)
    if not isinstance(value, str):
        raise InvalidInput(f"{field}: must be text, not {_kind_of(value)}")
    return validation.clean(field, value)


def _digits(field: str, value: float) -> str:
    try:
        if isinstance(value, int) or math.isfinite(value):
            return str(value)
    except ValueError:  # an integer of more digits than Python writes out
        pass
    raise InvalidInput(f"{field}: must be text, not a number without digits, or with thousands of them")


def _id(field: str, value: object) -> str:
    return validation.identifier(field, _text(field, value).strip())


def _kind(field: str, value: object) -> Kind:
    word = _text(field, value).strip().lower()
    if word not in KINDS:
        raise InvalidInput(f"{field}: is not one of {', '.join(KINDS)}")
    return validation.kind(field, word)


def _kinds(field: str, value: object) -> list[Kind]:
    return [_kind(field, item) for item in _items(field, value)]


def _tags(field: str, value: object) -> list[str]:
    return [_text(field, item).strip() for item in _items(field, value) if not _blank(item)]


def _items(field: str, value: object) -> list[object]:
    """A list; its JSON text; or one item for a list of one."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        value = _parsed(field, value)
    if isinstance(value, Mapping | bool):
        raise InvalidInput(f"{field}: must be a list of text, not {_kind_of(value)}")
    return list(value) if isinstance(value, list | tuple) else [value]


def _limit(field: str, value: object) -> int:
    if _blank(value):
        return LIMIT_DEFAULT
    try:
        number = (
            float(value) if isinstance(value, int | float | str) and not isinstance(value, bool) else None
        )
    except (ValueError, OverflowError):
        number = None
    if number is None or not 1 <= number <= LIMIT or number != int(number):
        raise InvalidInput(f"{field}: must be a whole number from 1 to {LIMIT}")
    return int(number)


def _query(field: str, value: object) -> str:
    return "" if value is None else _text(field, value)


def _blank(value: object) -> bool:
    """Whether a model says nothing with it: null, blank text, or the word for null."""
    return value is None or (isinstance(value, str) and value.strip().lower() in {"", "null", "none"})


def _told(tool: Tool) -> str:
    names = ", ".join(parameter.name for parameter in tool.takes)
    return f"it takes {names}" + ("" if tool.reads else "; nothing was changed")


def _near(name: object, known: list[str]) -> str:
    found = difflib.get_close_matches(str(name)[:SHOWN], known, n=1)
    return f", did you mean {found[0]}?" if found else ""


def _short(name: object) -> str:
    text = str(name)
    return repr(text if len(text) <= SHOWN else f"{text[:SHOWN]}...")


def _kind_of(value: object) -> str:
    if value is None or isinstance(value, bool):
        return "null" if value is None else "true or false"
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list | tuple):
        return "a list"
    return "a number" if isinstance(value, int | float) else "text" if isinstance(value, str) else "that"


_DEFAULTED: Final[Mapping[str, Callable[[str, object], object]]] = {"limit": _limit, "query": _query}
_READERS: Final[Mapping[str, Callable[[str, object], object]]] = {
    "text": _text,
    "id": _id,
    "kind": _kind,
    "kinds": _kinds,
    "tags": _tags,
}
