"""The options that commands share, and what their texts mean."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Final, NoReturn, cast

import typer

from memhub import InvalidInput, Scope
from memhub.interchange import time_from_json
from memhub.records import KINDS, Kind

__all__ = [
    "USAGE_ERROR",
    "AsJson",
    "Attribute",
    "Chosen",
    "ConfigPath",
    "Exact",
    "KindName",
    "Labels",
    "Revision",
    "ScopeName",
    "ScopeNames",
    "Tags",
    "Time",
    "attributes",
    "kind_of",
    "optional_scope",
    "pairs",
    "scope_of",
    "scopes_of",
    "time_of",
    "usage",
]

# Where typer keeps click's UsageError differs between its releases; BadParameter is exported by all.
USAGE_ERROR: Final = cast("type[Exception]", typer.BadParameter.__mro__[1])

_COMMON: Final = "Common options"

ConfigPath = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="PATH",
        help="The configuration file; else MEMHUB_CONFIG, ./memhub.yaml, or the built-in default.",
        rich_help_panel=_COMMON,
    ),
]
AsJson = Annotated[
    bool, typer.Option("--json", metavar="", help="Print data, and errors, as JSON.", rich_help_panel=_COMMON)
]
Chosen = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="NAME",
        help="The store; may be left out where the configuration has one.",
        rich_help_panel=_COMMON,
    ),
]
ScopeName = Annotated[
    str | None,
    typer.Option("--scope", metavar="NAME", help="Whose memory: a name.", rich_help_panel=_COMMON),
]
ScopeNames = Annotated[
    list[str] | None,
    typer.Option(
        "--scope",
        metavar="NAME",
        help="Whose memory: a name. Repeat it for the union of several.",
        rich_help_panel=_COMMON,
    ),
]
Labels = Annotated[
    list[str] | None,
    typer.Option(
        "--label",
        metavar="KEY=VALUE",
        help="Whose memory, as pairs in place of a name. Repeat it for several pairs.",
        rich_help_panel=_COMMON,
    ),
]
KindName = Annotated[str | None, typer.Option("--kind", metavar="KIND", help=f"One of {', '.join(KINDS)}.")]
Tags = Annotated[list[str] | None, typer.Option("--tag", metavar="TAG", help="A tag; repeat it for several.")]
Attribute = Annotated[
    list[str] | None,
    typer.Option(
        "--attribute",
        metavar="KEY=VALUE",
        help="An attribute; the value is JSON where it can be (3, true, [1, 2]), else text. Repeatable.",
    ),
]
Revision = Annotated[
    str | None,
    typer.Option("--revision", metavar="TOKEN", help="Only if the record still has this revision."),
]
Exact = Annotated[
    bool, typer.Option("--exact", metavar="", help="This very scope, not all that has its labels.")
]
Time = str | None


def usage(message: str) -> NoReturn:
    """End with a usage error."""
    raise USAGE_ERROR(message)


def scope_of(name: str | None, labels: Sequence[str] | None) -> Scope:
    """The one scope that was given; a usage error for none, both, or a label that is no pair."""
    scope = optional_scope(name, labels)
    return scope if scope is not None else usage("no scope; give --scope NAME, or --label KEY=VALUE")


def scopes_of(names: Sequence[str] | None, labels: Sequence[str] | None) -> list[Scope]:
    """The scopes of a query: several names, or one set of labels."""
    if names and labels:
        return usage("two scopes; give --scope or --label, not both")
    return [scope_of(name, None) for name in names] if names else [scope_of(None, labels)]


def optional_scope(name: str | None, labels: Sequence[str] | None) -> Scope | None:
    """The scope, or None where none was given."""
    if name is not None and labels:
        return usage("two scopes; give --scope or --label, not both")
    if name is None and not labels:
        return None
    try:
        return Scope(name if name is not None else pairs("--label", labels))
    except InvalidInput as found:
        message = found.message
    return usage(message)


def pairs(option: str, given: Sequence[str] | None) -> dict[str, str]:
    """KEY=VALUE texts as a mapping; a usage error for one without `=`, or a key that is given twice."""
    found: dict[str, str] = {}
    for text in given or ():
        key, equals, value = text.partition("=")
        if not equals or not key:
            usage(f"{option}: must be KEY=VALUE")
        if key in found:
            usage(f"{option}: gives {key!r} twice")
        found[key] = value
    return found


def attributes(option: str, given: Sequence[str] | None) -> dict[str, Any]:
    """Attributes from KEY=VALUE: numbers, booleans and lists as JSON, everything else as text."""
    return {key: _value(text) for key, text in pairs(option, given).items()}


def time_of(option: str, text: str | None) -> datetime | None:
    """The time of an option; a usage error for one that is wrong or has no zone."""
    if text is None:
        return None
    try:
        return time_from_json(option, text)
    except InvalidInput as found:
        message = found.message
    return usage(message)


def kind_of(option: str, text: str) -> Kind:
    """A kind by its name."""
    for kind in KINDS:
        if kind == text:
            return kind
    return usage(f"{option}: must be one of {', '.join(KINDS)}")


def _value(text: str) -> object:
    try:
        value: object = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return text
    return text if value is None or isinstance(value, dict) else value


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)
