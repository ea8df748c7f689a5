"""Values as YAML text on one line: plain where that is safe in every YAML, else in double quotes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

__all__ = ["Value", "block", "inline"]

Value = str | int | float | bool | None | Sequence["Value"] | Mapping[str, "Value"]

_PLAIN: Final = re.compile(r"[^\W\d_](?:[\w ./@+-]*[\w/@+-])?")
_UUID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_REVISION: Final = re.compile(r"[0-9a-f]{16}/[0-9a-f]{8}")
_DIGEST: Final = re.compile(r"(?=[0-9e]*[abcdf])[0-9a-f]{64}")
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})?Z", re.ASCII)
_WORDS: Final = frozenset(("true", "false", "yes", "no", "on", "off", "y", "n", "null"))
"""What some YAML takes for something other than text, in whatever case."""

_ESCAPES: Final = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_UNPRINTABLE: Final = re.compile(
    '[\\x00-\\x1f"\\\\\\x7f-\\x9f\\u2028\\u2029\\ud800-\\udfff\\ufeff\\ufffe\\uffff]'
)
KEY_CHARS: Final = 1000
"""Longest key without a `?` before it: YAML gives up looking for the colon after 1,024."""


def inline(value: Value) -> str:
    """A value on one line; lists and objects in brackets."""
    if isinstance(value, str):
        return _text(value)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int | float):
        return _number(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_key(key)}: {inline(item)}" for key, item in value.items()) + "}"
    return "[" + ", ".join(map(inline, value)) + "]"


def block(values: Mapping[str, Value], *, indent: str, newline: str) -> str:
    """An object as lines of `key: value`, each after `indent` and ended by `newline`."""
    return "".join(f"{indent}{_key(key)}: {inline(value)}{newline}" for key, value in values.items())


def _text(text: str) -> str:
    plain = _PLAIN.fullmatch(text) or any(
        known.fullmatch(text) for known in (_UUID, _TIME, _REVISION, _DIGEST)
    )
    if plain and text.casefold() not in _WORDS:
        return text
    return '"' + _UNPRINTABLE.sub(_escape, text) + '"'


def _escape(found: re.Match[str]) -> str:
    character = found[0]
    return _ESCAPES.get(character) or f"\\u{ord(character):04x}"


def _number(value: float) -> str:
    """Floats always with a point, which older YAML needs before an exponent."""
    text = repr(value)
    if isinstance(value, int) or "." in text:
        return text
    mantissa, sign, exponent = text.partition("e")
    return f"{mantissa}.0{sign}{exponent}"


def _key(key: str) -> str:
    text = _text(key)
    return text if len(text) <= KEY_CHARS else f"? {text} "
