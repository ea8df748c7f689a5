"""Scopes as folders, and memories as file names: readable, reversible, the same on every disk.

A character that some disk forbids, folds or normalises is written as the lower-case hex of its
UTF-8 bytes: `Ann & Bo` is `%41nn & %42o`. So two scopes never share a folder on a disk that
ignores case or Unicode normal forms, every name is legal on Windows, and none leaves the root.
Pairs are `key=value,key=value`; within texts both signs are escaped, so a name is never a pair.
What is too long for one folder goes on in a folder inside it; a lone `%` at the end says so.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final
from urllib.parse import unquote_to_bytes

from memhub.errors import InvalidInput
from memhub.records import Record
from memhub.scope import Scope

__all__ = ["CONTINUED", "SUFFIX", "derived_id", "file_name", "folder_of", "scope_of", "short_id"]

CONTINUED: Final = "%"
"""The end of a folder's name that says: the scope's name goes on inside."""

SUFFIX: Final = ".md"
"""The end of every memory's file name."""

COMPONENT_BYTES: Final = 200
"""Longest folder name, in UTF-8: below the 255 of every disk, also once it decomposes accents."""

SLUG_BYTES: Final = 60
"""Longest part of a file name that comes from the content."""

_FORBIDDEN: Final = frozenset('<>:"/\\|?*%=,')
_PORTS: Final = (f"{port}{digit}" for port in ("com", "lpt") for digit in "0123456789¹²³")
_DEVICES: Final = frozenset(("con", "prn", "aux", "nul", "conin$", "conout$", *_PORTS))
_SHORT: Final = re.compile(r"[0-9a-z]{8}\Z", re.ASCII)


@lru_cache(maxsize=4096)
def folder_of(scope: Scope) -> tuple[str, ...]:
    """The folders, one inside the other, that hold the scope's memories."""
    return tuple(_components(list(_tokens(scope))))


def scope_of(folders: Sequence[str]) -> Scope | None:
    """The scope whose folders these are, as a disk lists them; None where they are no scope's."""
    names = tuple(unicodedata.normalize("NFC", name) for name in folders)
    text = "".join(name.removesuffix(CONTINUED) for name in names[:-1]) + names[-1]
    try:
        scope = _parsed(text)
    except (UnicodeDecodeError, InvalidInput, ValueError):
        return None
    return scope if folder_of(scope) == names else None


def file_name(record: Record, *, longer: bool = False) -> str:
    """The name of a new memory's file: its day, its first words, the end of its id.

    `longer` gives a name that no other record has, for when the short one is taken.
    """
    mark = hashlib.sha256(record.id.encode()).hexdigest()[:32] if longer else short_id(record.id)
    parts = (record.observed_at.date().isoformat(), _slug(record.content), mark)
    return "-".join(filter(None, parts)) + SUFFIX


def short_id(id: str) -> str:
    """Eight characters that stand for an id in its file's name."""
    end = id[-8:]
    return end if _SHORT.match(end) else hashlib.sha256(id.encode()).hexdigest()[:8]


def derived_id(scope: Scope, name: str, *, turn: int = 0) -> str:
    """The id of a file that holds none: a UUID of version 8, made from its scope and its name.

    `turn` counts on where another file already holds the id in writing.
    """
    place = f"{scope.canonical}\n{unicodedata.normalize('NFC', name)}\n{turn}"
    text = hashlib.sha256(place.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{text[:8]}-{text[8:12]}-8{text[13:16]}-8{text[17:20]}-{text[20:32]}"


def _tokens(scope: Scope) -> Iterator[str]:
    """Characters as written, and the signs between texts."""
    if scope.name is not None:
        yield from map(_written, scope.name)
    for number, (key, value) in enumerate(scope.pairs):
        if number:
            yield ","
        yield from map(_written, key)
        yield "="
        yield from map(_written, value)


@lru_cache(maxsize=4096)
def _written(character: str) -> str:
    return character if _is_plain(character) else _escaped(character)


def _is_plain(character: str) -> bool:
    """Whether every disk keeps this character apart from all others, whatever stands beside it."""
    if character in _FORBIDDEN or not character.isprintable():
        return False
    if character.casefold() != character or character.upper().casefold() != character:
        return False
    return not (unicodedata.category(character).startswith("M") or _composes(character))


def _composes(character: str) -> bool:
    """Whether a normal form changes it, or joins it to the letter before, as Korean vowels are."""
    jamo = "\u1160" <= character <= "\u11ff"
    return jamo or any(not unicodedata.is_normalized(form, character) for form in ("NFC", "NFKC"))


def _escaped(character: str) -> str:
    return "".join(f"%{byte:02x}" for byte in character.encode())


def _components(tokens: list[str]) -> Iterator[str]:
    """The tokens in names that fit; all but the last end with CONTINUED."""
    name: list[str] = []
    size = 0
    for token in tokens:
        length = len(token.encode())
        if size + length > COMPONENT_BYTES:
            yield _legal(name) + CONTINUED
            name, size = [], 0
        name.append(token)
        size += length
    if name[-1] in (".", " "):
        name[-1] = _escaped(name[-1])
    yield _legal(name)


def _legal(name: list[str]) -> str:
    """A name that is neither hidden nor one of Windows's devices."""
    stem = "".join(name).partition(".")[0].rstrip()
    first = _escaped(name[0]) if name[0] in (".", " ") or stem in _DEVICES else name[0]
    return first + "".join(name[1:])


def _parsed(text: str) -> Scope:
    if "=" not in text:
        return Scope(_unescaped(text))
    pairs = [tuple(map(_unescaped, pair.split("="))) for pair in text.split(",")]
    return Scope(dict(pairs))  # type: ignore[arg-type]


def _unescaped(text: str) -> str:
    return unquote_to_bytes(text).decode()


def _slug(content: str) -> str:
    """The first words of a content, in small letters without accents, of any script."""
    parts = unicodedata.normalize("NFKD", content[: 4 * SLUG_BYTES]).casefold()
    plain = "".join(part for part in parts if not unicodedata.category(part).startswith("M"))
    kept = (c if c.isalnum() and _is_plain(c) else "-" for c in unicodedata.normalize("NFC", plain))
    words = re.sub("-+", "-", "".join(kept)).strip("-")
    cut = words.encode()[:SLUG_BYTES].decode(errors="ignore")
    if len(cut) < len(words) and words[len(cut)] != "-":
        cut = cut.rpartition("-")[0] or cut
    return cut.strip("-")
