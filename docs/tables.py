"""Writes what documents take from the code: `python docs/tables.py`. The suite fails where one is stale."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
from collections.abc import Callable, Mapping
from itertools import groupby
from pathlib import Path

import memhub_adapters
from memhub import FILTERS_ALL, Capabilities, errors
from memhub.capabilities import FACT_FIELDS, PATCH_FIELDS, TURN_FIELDS
from memhub.conformance.definition import Rule
from memhub.conformance.rules import RULES

README = Path(__file__).parent.parent / "README.md"
CONFORMANCE = Path(__file__).parent / "conformance.md"

ROWS: dict[str, Callable[[Capabilities], object]] = {
    "keeps what it is given": lambda caps: caps.persistent,
    "search by text": lambda caps: ", ".join(caps.modes),
    "neighbouring turns answer too": lambda caps: caps.neighbours,
    "scopes of pairs match by subset": lambda caps: caps.scopes == "subset",
    "several scopes in one query": lambda caps: caps.union,
    "facts": lambda caps: _kept(caps.facts, caps.fact_fields, FACT_FIELDS),
    "turns": lambda caps: _kept(caps.turns, caps.turn_fields, TURN_FIELDS),
    "most in one observation, all or nothing": lambda caps: f"{caps.atomic_facts:,}",
    "filters": lambda caps: "all" if caps.filters == FILTERS_ALL else "some",
    "update": lambda caps: _some(caps.patch, PATCH_FIELDS),
    "conditional writes (`revision`)": lambda caps: caps.revisions,
    "delete": lambda caps: f"yes, {caps.erasure} erasure" if caps.delete else False,
    "invalidate": lambda caps: caps.invalidation,
    "supersede": lambda caps: caps.supersede,
    "the past (`as_of`)": lambda caps: caps.as_of,
    "expiry": lambda caps: caps.expiry,
    "idempotency keys": lambda caps: caps.idempotency,
    "pending operations (`wait`)": lambda caps: caps.operations,
    "listing, most a page": lambda caps: f"{caps.listing:,}" if caps.listing else False,
    "scan, restore": lambda caps: _of(caps, "scan", "restore"),
    "stats, purge": lambda caps: _of(caps, "stats", "purge"),
    "reads see earlier writes": lambda caps: "at once" if caps.consistency == "immediate" else "soon",
}


def adapters() -> str:
    """A column for every adapter that ships, or each flavor of it; a row for what it can do."""
    found = [
        column
        for module in pkgutil.iter_modules(memhub_adapters.__path__)
        if module.ispkg and importlib.util.find_spec(f"memhub_adapters.{module.name}.adapter")
        for column in _columns(importlib.import_module(f"memhub_adapters.{module.name}.adapter").CAPABILITIES)
    ]
    lines = [["", *(name for name, _ in found)], ["---"] * (len(found) + 1)]
    lines += [[name, *(_cell(value(caps)) for _, caps in found)] for name, value in ROWS.items()]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def tree() -> str:
    """The errors, as their own file draws them."""
    _, _, drawn = (errors.__doc__ or "").partition("\n\n")
    return f"```text\n{drawn.strip()}\n```"


def rules() -> str:
    """A table for every topic, a row for every rule."""
    tables = []
    for topic, one in groupby(RULES, key=lambda rule: rule.topic):
        rows = [f"| `{rule.name}` | {rule.summary} | {_applies(rule)} |" for rule in one]
        heading = topic.replace("_", " ").capitalize()
        tables.append("\n".join((f"### {heading}\n", "| Rule | Promise | For |", "|---|---|---|", *rows)))
    return "\n\n".join(tables)


def filled(path: Path) -> str:
    """The text of a document with every generated part made anew."""
    text = path.read_text("utf-8")
    for name, make in PARTS[path].items():
        before, opening, rest = text.partition(f"<!-- {name}: made by docs/tables.py -->\n")
        _, closing, after = rest.partition(f"\n<!-- /{name} -->")
        if not (opening and closing):
            raise SystemExit(f"{path.name}: has no place for {name}")
        text = before + opening + make() + closing + after
    return text


PARTS: dict[Path, dict[str, Callable[[], str]]] = {
    README: {"adapters": adapters, "errors": tree},
    CONFORMANCE: {"rules": rules},
}


def _applies(rule: Rule) -> str:
    """What a store must declare, or leave undeclared, for the rule to say something about it."""
    needs = [f"`{name}`" for name in rule.needs if name != "persistent"]
    lacks = [f"no `{name}`" for name in rule.lacks]
    own = ["a store of its own"] if rule.fresh else []
    return ", ".join((*needs, *lacks, *own)) or "every store"


def _columns(declared: Capabilities | Mapping[str, Capabilities]) -> list[tuple[str, Capabilities]]:
    """Heading and capabilities; an adapter with flavors declares a mapping of them."""
    if isinstance(declared, Capabilities):
        return [(f"`{declared.provider}`", declared)]
    return [(f"`{caps.provider}` {flavor}", caps) for flavor, caps in declared.items()]


def _kept(how: str, fields: frozenset[str], every: frozenset[str]) -> str:
    return how if fields == every or how == "no" else f"{how}, some fields"


def _of(caps: Capabilities, *names: str) -> object:
    held = [name for name in names if caps.has(name)]
    return len(held) == len(names) or ", ".join(held)


def _some(fields: frozenset[str], every: frozenset[str]) -> object:
    return "every field" if fields == every else ", ".join(sorted(fields))


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value) or "no"


if __name__ == "__main__":
    for document in PARTS:
        document.write_text(filled(document), "utf-8")
