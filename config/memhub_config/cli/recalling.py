"""`recall`, `list`, `get`: finding what was remembered."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any

import typer

from memhub import Query, Recalled, Scope
from memhub.interchange import record_to_json
from memhub.limits import DEFAULT_LIMIT
from memhub.records import Mode
from memhub_config.cli import shapes
from memhub_config.cli.options import (
    AsJson,
    Chosen,
    ConfigPath,
    Exact,
    Labels,
    ScopeNames,
    Tags,
    kind_of,
    scopes_of,
    time_of,
    usage,
)
from memhub_config.cli.output import note, print_json, show
from memhub_config.cli.running import on_store

__all__ = ["add_to"]

PANEL = "Recall"

Text = Annotated[str, typer.Argument(metavar="TEXT", help="What to look for, in plain words.")]
Ids = Annotated[list[str], typer.Argument(metavar="ID...", help="One id or several.")]
Limit = Annotated[int, typer.Option("--limit", metavar="N", help="At most so many; 0 to 1000.")]
Kinds = Annotated[
    list[str] | None, typer.Option("--kind", metavar="KIND", help="Only this kind. Repeatable.")
]
Where = Annotated[
    str | None,
    typer.Option("--where", metavar="JSON", help='Compare attributes: \'{"lang": "en", "n": {"gte": 3}}\'.'),
]
Since = Annotated[str | None, typer.Option("--since", metavar="TIME", help="Observed at this time or later.")]
Until = Annotated[str | None, typer.Option("--until", metavar="TIME", help="Observed before this time.")]
AsOf = Annotated[
    str | None, typer.Option("--as-of", metavar="TIME", help="What was known and valid at this time.")
]
Invalidated = Annotated[
    bool, typer.Option("--include-invalidated", metavar="", help="Show also what is no longer valid.")
]
Cursor = Annotated[
    str | None, typer.Option("--cursor", metavar="TOKEN", help="The next page, from the page before.")
]
ModeName = Annotated[str | None, typer.Option("--mode", metavar="MODE", help="keyword, semantic or hybrid.")]
Explain = Annotated[bool, typer.Option("--explain", metavar="", help="Show why each record was recalled.")]


def add_to(app: typer.Typer) -> None:
    """Register the commands."""
    app.command(rich_help_panel=PANEL)(recall)
    app.command("list", rich_help_panel=PANEL)(list_records)
    app.command(rich_help_panel=PANEL)(get)


def recall(
    text: Text,
    *,
    scope: ScopeNames = None,
    label: Labels = None,
    limit: Limit = DEFAULT_LIMIT,
    kind: Kinds = None,
    tag: Tags = None,
    where: Where = None,
    since: Since = None,
    until: Until = None,
    as_of: AsOf = None,
    include_invalidated: Invalidated = False,
    exact: Exact = False,
    mode: ModeName = None,
    explain: Explain = False,
    store: Chosen = None,
    config: ConfigPath = None,
    as_json: AsJson = False,
) -> None:
    """Recall what answers a text, the most relevant first.

    Times are RFC 3339 with a zone, such as 2026-03-01T09:30:00Z.
    """
    times = (since, until, as_of)
    base = _query(scopes_of(scope, label), kind, tag, where, times, include_invalidated=include_invalidated)
    query = replace(base, text=text, limit=limit, exact=exact, mode=_mode(mode), explain=explain)
    found = on_store(config, store, lambda memory: memory.recall(query))
    if as_json:
        print_json(shapes.recalled(found))
    else:
        _show(found, explain=explain)


def list_records(
    *,
    scope: ScopeNames = None,
    label: Labels = None,
    limit: Limit = DEFAULT_LIMIT,
    kind: Kinds = None,
    tag: Tags = None,
    where: Where = None,
    since: Since = None,
    until: Until = None,
    as_of: AsOf = None,
    include_invalidated: Invalidated = False,
    exact: Exact = False,
    cursor: Cursor = None,
    store: Chosen = None,
    config: ConfigPath = None,
    as_json: AsJson = False,
) -> None:
    """List records, the newest first, page by page."""
    times = (since, until, as_of)
    base = _query(scopes_of(scope, label), kind, tag, where, times, include_invalidated=include_invalidated)
    query = replace(base, limit=limit, exact=exact, cursor=cursor)
    found = on_store(config, store, lambda memory: memory.recall(query))
    if as_json:
        print_json(shapes.listing(found))
        return
    _show(found)
    if found.cursor is not None:
        note(f"There are more. For the next page, repeat the command with\n--cursor {found.cursor}")


def get(ids: Ids, *, store: Chosen = None, config: ConfigPath = None, as_json: AsJson = False) -> None:
    """Show records by their ids.

    With --json, one id prints the record, and several print an object with `records`.
    """
    records = on_store(config, store, lambda memory: memory.get(ids))
    if as_json:
        shaped = [record_to_json(record) for record in records]
        print_json(shaped[0] if len(shaped) == 1 else {"records": shaped})
        return
    from memhub_config.cli.render import card

    for number, record in enumerate(records):
        show(*([""] if number else []), card(record))


def _query(
    scopes: Sequence[Scope],
    kinds: Sequence[str] | None,
    tags: Sequence[str] | None,
    where: str | None,
    times: tuple[str | None, str | None, str | None],
    *,
    include_invalidated: bool,
) -> Query:
    since, until, as_of = times
    return Query(
        scopes,
        kinds=[kind_of("--kind", name) for name in kinds or ()],
        tags=tags or (),
        where=_where(where),
        since=time_of("--since", since),
        until=time_of("--until", until),
        as_of=time_of("--as-of", as_of),
        include_invalidated=include_invalidated,
    )


def _show(found: Recalled, *, explain: bool = False) -> None:
    if not found.hits:
        note("Nothing found.")
        return
    from memhub_config.cli.render import hits

    show(hits(found.hits, explain=explain))


def _where(text: str | None) -> dict[str, Any]:
    if text is None:
        return {}
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    return found if isinstance(found, dict) else usage("--where: must be a JSON object")


def _mode(text: str | None) -> Mode | None:
    modes: Sequence[Mode] = ("keyword", "semantic", "hybrid")
    for mode in modes:
        if mode == text:
            return mode
    return None if text is None else usage("--mode: must be keyword, semantic or hybrid")
