"""What a scope must hold after a list of writes, for comparing with what a killed process left."""

import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from memhub import Record, Scope

WORKERS = 5
WORDS = [
    "tea",
    "jasmine",
    "oolong",
    "harbour",
    "lantern",
    "violin",
    "garden",
    "winter",
    "Lisbon",
    "train",
    "京都",
    "café",
    "running",
]

Op = list
"""A write as JSON: its verb, then what it is about. Records go by names that never change."""


@dataclass(frozen=True)
class Row:
    """One record; `supersedes` and `superseded_by` are names."""

    version: int = 0
    hidden: bool = False
    supersedes: str | None = None
    superseded_by: str | None = None


@dataclass(frozen=True)
class State:
    """The records of one scope, and the idempotency keys that were used in it."""

    rows: Mapping[str, Row]
    keys: frozenset[str] = frozenset()


EMPTY = State({})


def scope_of(worker: int) -> Scope:
    return Scope(tenant="crash", worker=str(worker))


def content_of(name: str, version: int) -> str:
    chance = random.Random(f"{name} {version}")
    return f"{name} {version} {' '.join(chance.choices(WORDS, k=chance.randint(1, 60)))}"


def after(state: State, op: Op) -> State:
    """The state once this write is applied."""
    rows, keys = dict(state.rows), state.keys
    match op:
        case ["facts" | "turns", names]:
            rows |= {name: Row() for name in names}
        case ["keyed", key, names] if key not in keys:
            rows |= {name: Row() for name in names}
            keys |= {key}
        case ["supersede", old, new]:
            rows[new] = Row(supersedes=old)
            rows[old] = replace(rows[old], hidden=True, superseded_by=new)
        case ["update", name, version]:
            rows[name] = replace(rows[name], version=version)
        case ["invalidate", name]:
            rows[name] = replace(rows[name], hidden=True)
        case ["delete", name]:
            del rows[name]
            rows = {other: _without(row, name) for other, row in rows.items()}
        case ["purge"]:
            return EMPTY
    return State(rows, keys)


def _without(row: Row, name: str) -> Row:
    return replace(
        row,
        supersedes=None if row.supersedes == name else row.supersedes,
        superseded_by=None if row.superseded_by == name else row.superseded_by,
    )


def rows_of(records: Iterable[Record]) -> dict[str, Row]:
    """Stored records as rows; each must be exactly what was written of it, its links intact."""
    named = {record.id: record for record in records}
    assert len(named) == len({name_of(record) for record in named.values()})
    return {name_of(record): _row(record, named) for record in named.values()}


def name_of(record: Record) -> str:
    return record.attributes["name"]


def _row(record: Record, named: Mapping[str, Record]) -> Row:
    version = record.attributes["version"]
    assert record.content == content_of(name_of(record), version)
    before = named[record.supersedes] if record.supersedes else None
    later = named[record.superseded_by] if record.superseded_by else None
    assert before is None or before.superseded_by == record.id
    assert later is None or (later.supersedes == record.id and record.invalid_at is not None)
    return Row(
        version,
        record.invalid_at is not None,
        name_of(before) if before else None,
        name_of(later) if later else None,
    )
