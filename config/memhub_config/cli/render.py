"""Records, hits and counts as text for people."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from memhub import Hit, Record, Scope, Why
from memhub.records import Json
from memhub_config.cli.output import fancy, visible

__all__ = [
    "block",
    "card",
    "date",
    "day",
    "fields",
    "hits",
    "moment",
    "people",
    "reasons",
    "scope_text",
    "table",
]

BAR: Final = 12
"""Cells of the longest bar of an explanation."""

DIM: Final = "bright_black"


def hits(found: Sequence[Hit], *, explain: bool = False) -> RenderableType:
    """Numbered hits: what was said, where it comes from, and why it is here."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(justify="right", width=len(str(len(found))) + 1)
    grid.add_column(overflow="fold")
    for number, hit in enumerate(found, 1):
        grid.add_row(str(number), _hit(hit, explain=explain))
        if number < len(found):
            grid.add_row()
    return grid


def card(record: Record) -> RenderableType:
    """Everything that a record says, a field a line."""
    return fields(dict(_facts(record)))


def fields(found: Mapping[str, RenderableType]) -> RenderableType:
    """Names and values, aligned."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True, style=DIM)
    grid.add_column(overflow="fold")
    for name, value in found.items():
        grid.add_row(name, value)
    return grid


def table(columns: Sequence[str], rows: Iterable[Sequence[RenderableType]], *, right: str = "") -> Table:
    """A plain table; the columns whose names are in `right` (comma between) are numbers."""
    numbers = right.split(",")
    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style=DIM)
    for name in columns:
        made.add_column(name, justify="right" if name in numbers else "left", overflow="fold")
    for row in rows:
        made.add_row(*row)
    return made


def reasons(why: Why) -> RenderableType:
    """What brought a record here, the strongest first, as bars."""
    parts = sorted(_parts(why), key=lambda part: -part[1])
    if not parts:
        return Text("no part of it was weighed", style=DIM)
    most = max(value for _, value, _ in parts)
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True, max_width=24, overflow="ellipsis")
    grid.add_column(no_wrap=True, width=BAR)
    grid.add_column(no_wrap=True, justify="right")
    grid.add_column(style=DIM)
    for name, value, remark in parts:
        grid.add_row(visible(name), _bar(value / most), f"{value:.2f}", remark)
    return grid


def people(record: Record) -> str:
    """Who said it, as far as is known: `Ada, user`."""
    source = record.provenance
    return visible(", ".join(part for part in (source.author, source.role) if part))


def moment(when: datetime) -> str:
    """A time to the second, in UTC."""
    return when.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def day(when: datetime) -> str:
    """A time to the minute, in UTC."""
    return when.astimezone(UTC).strftime("%Y-%m-%d %H:%M")


def date(when: datetime) -> str:
    """A day as people say it: `4 May 2025`."""
    return f"{when.day} {when:%B %Y}"


def block(name: str, text: str, *, told: str = "") -> RenderableType:
    """A named text, and what is told of it in small print below."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(width=10, style=DIM)
    grid.add_column(overflow="fold")
    parts = [Text(text)] if text else []
    parts += [Text(told, style=DIM)] if told else []
    grid.add_row(name, Group(*parts))
    return Padding(grid, (0, 0, 0, 2))


def scope_text(scope: Scope) -> str:
    """A name as it is; pairs as `tenant=acme, user=u_42`."""
    return visible(scope.name or ", ".join(f"{key}={value}" for key, value in scope.pairs))


def _hit(hit: Hit, *, explain: bool) -> RenderableType:
    record = hit.record
    parts: list[RenderableType] = [Text(visible(record.content)), Text(_origin(record), style=DIM)]
    parts += [Text(line, style=DIM) for line in _history(record)]
    parts.append(Text(record.id, style=DIM))
    if explain and hit.why is not None:
        parts += [Text(f"score {hit.score:.2f}", style=DIM), Padding(reasons(hit.why), (0, 0, 0, 2))]
    return Group(*parts)


def _origin(record: Record) -> str:
    told = [record.kind, people(record), f"{day(record.observed_at)} UTC"]
    told += [visible(f"#{tag}") for tag in record.tags]
    return " · ".join(part for part in told if part) if fancy() else ", ".join(part for part in told if part)


def _history(record: Record) -> Iterator[str]:
    if record.invalid_at is not None:
        by = f", replaced by {record.superseded_by}" if record.superseded_by else ""
        why = f": {visible(record.invalid_reason)}" if record.invalid_reason else ""
        yield f"no longer valid since {day(record.invalid_at)} UTC{by}{why}"
    if record.supersedes is not None:
        yield f"replaces {record.supersedes}"


def _facts(record: Record) -> Iterator[tuple[str, RenderableType]]:
    source = record.provenance
    told: list[tuple[str, Json]] = [
        ("id", record.id),
        ("scope", scope_text(record.scope)),
        ("kind", record.kind),
        ("content", record.content),
        ("tags", ", ".join(record.tags)),
        ("attributes", "\n".join(f"{key} = {_json(value)}" for key, value in record.attributes.items())),
        ("said by", people(record)),
        ("conversation", source.conversation_id),
        ("run", source.run_id),
        ("observed", moment(record.observed_at)),
        ("created", moment(record.created_at)),
        ("updated", moment(record.updated_at)),
        ("expires", _optional(record.expires_at)),
        ("invalid since", _optional(record.invalid_at)),
        ("reason", record.invalid_reason),
        ("replaces", record.supersedes),
        ("replaced by", record.superseded_by),
        ("target", record.target),
        ("payload", None if record.payload is None else _json(record.payload)),
        ("supports", ", ".join(record.supports)),
        ("revision", record.revision),
    ]
    return ((name, Text(visible(str(value)))) for name, value in told if value)


def _optional(when: datetime | None) -> str | None:
    return None if when is None else moment(when)


def _parts(why: Why) -> Iterator[tuple[str, float, str]]:
    for word, value in why.words.items():
        yield word, value, "in its own words"
    for word, value in why.neighbour.items():
        yield word, value, "in the turn before it"
    yield from (
        (name, value, remark)
        for name, value, remark in (
            ("meaning", why.semantic, "close in meaning"),
            ("next turn", why.following, "the turn after it matches"),
            ("speaker", why.speaker, "said by someone you name"),
            ("session", why.session, "its conversation matches"),
        )
        if value
    )


def _bar(share: float) -> str:
    return ("█" if fancy() else "#") * max(1, round(share * BAR))


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
