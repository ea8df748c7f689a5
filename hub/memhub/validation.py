"""Checks of single values. Each raises InvalidInput that names the field, the problem, the remedy."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from memhub import limits
from memhub.errors import InvalidInput
from memhub.records import KINDS, Attributes, Json, Kind

__all__ = [
    "attributes",
    "budget",
    "check_merged_attributes",
    "choice",
    "clean",
    "identifier",
    "items",
    "json_value",
    "kind",
    "moment",
    "number",
    "scalar",
    "short",
    "tags",
    "text",
]

_SCALARS: Final = (str, int, float, bool)


def text(field: str, value: object, most: int) -> str:
    """Non-blank text of at most `most` characters, free of NUL and lone surrogates; returned as given."""
    found = clean(field, value)
    if not found or found.isspace():
        raise InvalidInput(f"{field}: is blank; give some text")
    if len(found) > most:
        raise InvalidInput(f"{field}: has {len(found):,} characters, more than {most:,}; split it")
    return found


def short(field: str, value: object) -> str | None:
    """An optional name: non-empty text within NAME_CHARS, or None."""
    return None if value is None else text(field, value, limits.NAME_CHARS)


def identifier(field: str, value: object) -> str:
    """An id, key or token: 1 to 512 printable characters."""
    if not isinstance(value, str) or not value or not value.isprintable():
        raise InvalidInput(f"{field}: must be 1 to {limits.ID_CHARS} printable characters")
    if len(value) > limits.ID_CHARS:
        raise InvalidInput(f"{field}: has {len(value):,} characters, more than {limits.ID_CHARS}")
    return value


def choice(field: str, value: object, known: Sequence[str]) -> str:
    """One of the known words."""
    if not isinstance(value, str) or value not in known:
        raise InvalidInput(f"{field}: is not one of {', '.join(known)}")
    return value


def kind(field: str, value: object) -> Kind:
    """One of the four kinds."""
    choice(field, value, KINDS)
    return next(known for known in KINDS if known == value)


def moment(field: str, value: object) -> datetime:
    """An aware datetime, in UTC."""
    if not isinstance(value, datetime):
        raise InvalidInput(f"{field}: must be a datetime, not {type(value).__name__}")
    if value.tzinfo is None or value.utcoffset() is None:
        raise InvalidInput(f"{field}: has no time zone; give an aware datetime, such as one in UTC")
    try:
        return value.astimezone(UTC)
    except OverflowError:
        raise InvalidInput(f"{field}: is out of range once in UTC") from None


def budget(value: object, least: int) -> int:
    """A budget in characters that has room for something."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InvalidInput(f"budget: must be a whole number of characters, {least} or more")
    return value


def items(field: str, value: object, most: int) -> Sequence[object]:
    """A list or tuple of at most `most` items."""
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise InvalidInput(f"{field}: must be a list, not {type(value).__name__}")
    if len(value) > most:
        raise InvalidInput(f"{field}: has {len(value):,} items, more than {most:,}; split it")
    return value


def tags(field: str, value: object) -> tuple[str, ...]:
    """Up to 64 tags of up to 128 characters, in order, a repeat dropped."""
    given = items(field, value, limits.TAGS)
    checked = [text(f"{field}[{n}]", tag, limits.TAG_CHARS) for n, tag in enumerate(given)]
    return tuple(dict.fromkeys(checked))


def attributes(field: str, value: object) -> Attributes:
    """Up to 64 flat attributes, 16 KiB as JSON; a copy, lists as lists."""
    if not isinstance(value, Mapping):
        raise InvalidInput(f"{field}: must be a mapping, not {type(value).__name__}")
    if not value:
        return {}
    checked = {_key(field, key): _attribute(f"{field}[{key!r}]", item) for key, item in value.items()}
    _check_size(field, checked)
    return checked


def check_merged_attributes(merged: Attributes) -> None:
    """The limits again, on what an update would leave behind."""
    if merged:
        _check_size("set_attributes", merged)


def json_value(field: str, value: Json) -> Json:
    """A copy of any JSON value of at most 16 KiB and 64 levels, or None."""
    if value is None:
        return None
    try:
        size = len(json.dumps(value, ensure_ascii=False, allow_nan=False).encode())
        copy: Json = json.loads(json.dumps(value))
    except (TypeError, ValueError, RecursionError):
        copy, size = None, 0
    if copy != value:
        raise InvalidInput(f"{field}: is not plain JSON: use text, numbers, booleans, lists and objects")
    if size > limits.ATTRIBUTE_BYTES:
        raise InvalidInput(f"{field}: takes {size:,} bytes as JSON, more than {limits.ATTRIBUTE_BYTES:,}")
    _check_nested(field, copy)
    return copy


def clean(field: str, value: object) -> str:
    """Text free of NUL and lone surrogates."""
    if not isinstance(value, str):
        raise InvalidInput(f"{field}: must be text, not {type(value).__name__}")
    if "\0" in value:
        raise InvalidInput(f"{field}: holds a NUL character; remove it")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InvalidInput(f"{field}: holds a lone surrogate, which is no character; remove it") from None
    return value


def _check_nested(field: str, value: Json, depth: int = 0) -> None:
    if isinstance(value, str):
        clean(field, value)
        return
    if depth > limits.DEPTH:
        raise InvalidInput(f"{field}: is nested deeper than {limits.DEPTH} levels")
    if isinstance(value, Mapping):
        for key, item in value.items():
            clean(field, key)
            _check_nested(field, item, depth + 1)
    elif isinstance(value, Sequence):
        for item in value:
            _check_nested(field, item, depth + 1)


def _key(field: str, key: object) -> str:
    return text(f"{field} key", key, limits.TAG_CHARS)


def _attribute(field: str, value: object) -> str | int | float | bool | list[str | int | float | bool]:
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [scalar(f"{field}[{n}]", item) for n, item in enumerate(value)]
    return scalar(field, value)


def scalar(field: str, value: object) -> str | int | float | bool:
    """Text, a finite number or a boolean."""
    if not isinstance(value, _SCALARS):
        raise InvalidInput(f"{field}: must be text, a number, a boolean or a list of these")
    if isinstance(value, str):
        return clean(field, value)
    return value if isinstance(value, bool) else number(field, value)


def number(field: str, value: object) -> int | float:
    """A finite number; an integer within 2^53."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidInput(f"{field}: must be a number")
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidInput(f"{field}: is not a finite number")
    if isinstance(value, int) and abs(value) > limits.INTEGER:
        raise InvalidInput(f"{field}: lies beyond 2^53, where readers of JSON lose digits; give it as text")
    return value


def _check_size(field: str, value: Attributes) -> None:
    if len(value) > limits.ATTRIBUTE_KEYS:
        raise InvalidInput(f"{field}: has {len(value)} keys, more than {limits.ATTRIBUTE_KEYS}")
    size = len(json.dumps(value, ensure_ascii=False).encode())
    if size > limits.ATTRIBUTE_BYTES:
        raise InvalidInput(f"{field}: takes {size:,} bytes as JSON, more than {limits.ATTRIBUTE_BYTES:,}")
