"""A conversation as JSON Lines: read, and checked whole before any of it is written."""

from __future__ import annotations

import difflib
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from memhub import InvalidInput, Observation, Provenance, Scope, Turn
from memhub.interchange import time_from_json
from memhub.requests import write_from

__all__ = ["FIELDS", "Line", "conversations", "read_lines"]

FIELDS: Final = ("role", "content", "speaker", "at", "conversation_id", "tags", "attributes")
TOLD: Final = 20
"""Bad lines that an error tells of; the rest is counted."""

_ANY: Final = (Scope("any"), datetime(2000, 1, 1, tzinfo=UTC))


@dataclass(frozen=True, slots=True)
class Line:
    """One turn, the number of its line (1 first), and a digest of what the line says."""

    number: int
    turn: Turn
    conversation: str | None
    digest: str


def read_lines(raw: bytes, source: str) -> list[Line]:
    """Every turn of the file. InvalidInput names each bad line and its field; blank lines are skipped."""
    lines: list[Line] = []
    problems: list[str] = []
    for number, text in enumerate(raw.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        if text.strip():
            try:
                lines.append(_line(number, text))
            except InvalidInput as found:
                problems.append(f"line {number}: {found.message}")
    if problems:
        raise InvalidInput(_told(source, problems))
    return lines


def conversations(lines: Sequence[Line], default: str | None = None) -> dict[str, list[Line]]:
    """The turns by conversation, in the order of their first lines.

    Lines without a conversation belong to `default`; without that, to one conversation that is
    named after the first of them, so that a file which grows keeps its name.
    """
    grouped: dict[str, list[Line]] = {}
    for line in lines:
        if line.conversation is None and default is None:
            default = f"import-{line.digest[:12]}"
        grouped.setdefault(line.conversation or str(default), []).append(line)
    return grouped


def _line(number: int, raw: bytes) -> Line:
    given = _parsed(raw)
    for name in given:
        if name not in FIELDS:
            near = difflib.get_close_matches(name, FIELDS, n=1)
            raise InvalidInput(f"{name}: no such field" + (f"; did you mean {near[0]}?" if near else ""))
    for name in ("role", "content"):
        if name not in given:
            raise InvalidInput(f"{name}: is required")
    at = given.get("at")
    turn = Turn(
        given["role"],
        given["content"],
        speaker=given.get("speaker"),
        at=None if at is None else time_from_json("at", at),
        tags=given.get("tags", ()),
        attributes=given.get("attributes", {}),
    )
    conversation = given.get("conversation_id")
    _check(turn, conversation)
    plain = json.dumps(given, sort_keys=True, ensure_ascii=False)
    return Line(number, turn, conversation, hashlib.sha256(plain.encode()).hexdigest())


def _parsed(raw: bytes) -> dict[str, Any]:
    """The line's object without its nulls, which say nothing."""
    try:
        value: object = json.loads(raw.decode(), object_pairs_hook=_once)
    except UnicodeDecodeError as found:
        problem = f"is not UTF-8 (byte {found.start + 1})"
    except json.JSONDecodeError as found:
        problem = f"is not JSON: {found.msg}, column {found.colno}"
    except ValueError:
        problem = "holds a number of too many digits"
    except RecursionError:
        problem = "is nested too deeply"
    else:
        if isinstance(value, dict):
            return {name: item for name, item in value.items() if item is not None}
        problem = "must be an object with role and content"
    raise InvalidInput(problem)


def _once(pairs: Sequence[tuple[str, object]]) -> Mapping[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise InvalidInput(f"{_repeated(pairs)}: is given twice; keep one")
    return found


def _repeated(pairs: Sequence[tuple[str, object]]) -> str:
    names = [name for name, _ in pairs]
    return next(name for name in names if names.count(name) > 1)


def _check(turn: Turn, conversation: str | None) -> None:
    """What the hub would say of this turn alone, in the words of the file."""
    scope, now = _ANY
    try:
        write_from(Observation(scope, turns=[turn], provenance=Provenance(conversation)), now)
    except InvalidInput as found:
        message = found.message.replace("turns[0].", "").replace("provenance.", "")
    else:
        return
    raise InvalidInput(message)


def _told(source: str, problems: Sequence[str]) -> str:
    if len(problems) == 1:
        return f"{source}, {problems[0]}; nothing was written"
    return "\n  ".join(_rows(source, problems))


def _rows(source: str, problems: Sequence[str]) -> Iterator[str]:
    yield f"{source} has {len(problems):,} bad lines; nothing was written:"
    yield from problems[:TOLD]
    if len(problems) > TOLD:
        yield f"and {len(problems) - TOLD:,} more"
