"""`update`, `invalidate`, `delete`, `purge`, `sweep`: changing and forgetting."""

from __future__ import annotations

from typing import Annotated

import typer

from memhub import UNSET, Patch, Record
from memhub.interchange import record_to_json
from memhub_config.cli.options import (
    AsJson,
    Chosen,
    ConfigPath,
    Exact,
    KindName,
    Labels,
    Revision,
    ScopeName,
    Tags,
    attributes,
    kind_of,
    scope_of,
    time_of,
    usage,
)
from memhub_config.cli.output import on_terminal, print_json, show, visible
from memhub_config.cli.running import on_store

__all__ = ["add_to"]

PANEL = "Change and forget"

Id = Annotated[str, typer.Argument(metavar="ID", help="The record's id.")]


NewContent = Annotated[str | None, typer.Option("--content", metavar="TEXT", help="The new text.")]
NoTags = Annotated[bool, typer.Option("--no-tags", metavar="", help="Remove all tags.")]
SetAttribute = Annotated[
    list[str] | None,
    typer.Option("--set-attribute", metavar="KEY=VALUE", help="Add or change an attribute. Repeatable."),
]
RemoveAttribute = Annotated[
    list[str] | None,
    typer.Option("--remove-attribute", metavar="KEY", help="Remove an attribute. Repeatable."),
]
ExpiresAt = Annotated[
    str | None, typer.Option("--expires-at", metavar="TIME", help="When it is to be forgotten.")
]
NoExpiry = Annotated[bool, typer.Option("--no-expiry", metavar="", help="Never forget it on its own.")]
Reason = Annotated[str | None, typer.Option("--reason", metavar="TEXT", help="Why it is no longer valid.")]
Yes = Annotated[bool, typer.Option("--yes", metavar="", help="Do not ask, also on a terminal.")]


def add_to(app: typer.Typer) -> None:
    """Register the commands."""
    for command in (update, invalidate, delete, purge, sweep):
        app.command(rich_help_panel=PANEL)(command)


def update(
    id: Id,
    *,
    content: NewContent = None,
    kind: KindName = None,
    tag: Tags = None,
    no_tags: NoTags = False,
    set_attribute: SetAttribute = None,
    remove_attribute: RemoveAttribute = None,
    expires_at: ExpiresAt = None,
    no_expiry: NoExpiry = False,
    revision: Revision = None,
    store: Chosen = None,
    config: ConfigPath = None,
    as_json: AsJson = False,
) -> None:
    """Change a record; what is not given stays.

    --tag replaces all tags.
    """
    if tag and no_tags:
        usage("give --tag or --no-tags, not both")
    if expires_at is not None and no_expiry:
        usage("give --expires-at or --no-expiry, not both")
    patch = Patch(
        content=UNSET if content is None else content,
        kind=UNSET if kind is None else kind_of("--kind", kind),
        tags=() if no_tags else tag or UNSET,
        set_attributes=attributes("--set-attribute", set_attribute),
        remove_attributes=remove_attribute or (),
        expires_at=None if no_expiry else time_of("--expires-at", expires_at) or UNSET,
    )
    _print(
        on_store(config, store, lambda memory: memory.update(id, patch, revision=revision)), as_json=as_json
    )


def invalidate(
    id: Id,
    *,
    reason: Reason = None,
    revision: Revision = None,
    store: Chosen = None,
    config: ConfigPath = None,
    as_json: AsJson = False,
) -> None:
    """Hide a record from recall, and keep it as history."""
    record = on_store(config, store, lambda memory: memory.invalidate(id, reason, revision=revision))
    _print(record, as_json=as_json)


def delete(
    id: Id,
    *,
    revision: Revision = None,
    store: Chosen = None,
    config: ConfigPath = None,
    as_json: AsJson = False,
) -> None:
    """Forget a record: nothing of it is ever returned again."""
    on_store(config, store, lambda memory: memory.delete(id, revision=revision))
    if as_json:
        print_json({"deleted": id})
    else:
        show(visible(f"Deleted {id}."))


def purge(
    *,
    scope: ScopeName = None,
    label: Labels = None,
    exact: Exact = False,
    yes: Yes = False,
    store: Chosen = None,
    config: ConfigPath = None,
    as_json: AsJson = False,
) -> None:
    """Remove all that a scope covers, its history too.

    On a terminal it asks first.
    """
    whose = scope_of(scope, label)
    if on_terminal() and not yes and not as_json:
        typer.confirm(f"Remove everything in {visible(str(whose))}?", abort=True, err=True)
    count = on_store(config, store, lambda memory: memory.purge(whose, exact=exact))
    _print_count("purged", count, as_json=as_json)


def sweep(*, store: Chosen = None, config: ConfigPath = None, as_json: AsJson = False) -> None:
    """Remove the records that have expired. Nothing else does."""
    _print_count("swept", on_store(config, store, lambda memory: memory.sweep()), as_json=as_json)


def _print(record: Record, *, as_json: bool) -> None:
    if as_json:
        print_json(record_to_json(record))
        return
    from memhub_config.cli.render import card

    show(card(record))


def _print_count(verb: str, count: int, *, as_json: bool) -> None:
    if as_json:
        print_json({verb: count})
    else:
        show(f"Removed {count:,} {'record' if count == 1 else 'records'}.")
