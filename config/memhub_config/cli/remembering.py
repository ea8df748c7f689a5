"""`observe`: remembering one thing."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Annotated

import typer

from memhub import Fact, InvalidInput, Observation, Observed, Provenance, Turn
from memhub.records import ROLES, Role
from memhub_config.cli import shapes
from memhub_config.cli.options import (
    AsJson,
    Attribute,
    Chosen,
    ConfigPath,
    KindName,
    Labels,
    ScopeName,
    Tags,
    attributes,
    kind_of,
    scope_of,
    time_of,
    usage,
)
from memhub_config.cli.output import note, print_json, show
from memhub_config.cli.running import on_store

__all__ = ["add_to"]

PANEL = "Remember"


Content = Annotated[str, typer.Argument(metavar="TEXT", help="What to remember; - reads it from stdin.")]
Supersedes = Annotated[
    str | None, typer.Option("--supersedes", metavar="ID", help="The record that this one corrects.")
]
ExpiresAt = Annotated[
    str | None, typer.Option("--expires-at", metavar="TIME", help="When it is to be forgotten.")
]
RoleName = Annotated[
    str | None,
    typer.Option("--role", metavar="ROLE", help=f"Remember a turn, not a fact: {', '.join(ROLES)}."),
]
Author = Annotated[
    str | None, typer.Option("--author", metavar="NAME", help="Who says it: the speaker of a turn.")
]
Conversation = Annotated[
    str | None, typer.Option("--conversation", metavar="ID", help="The conversation it belongs to.")
]
Run = Annotated[str | None, typer.Option("--run", metavar="ID", help="The run it belongs to.")]
ObservedAt = Annotated[
    str | None, typer.Option("--observed-at", metavar="TIME", help="When it was said; now by default.")
]
Key = Annotated[
    str | None,
    typer.Option("--idempotency-key", metavar="KEY", help="A repeat with this key writes nothing."),
]


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command(rich_help_panel=PANEL)(observe)


def observe(
    text: Content,
    *,
    scope: ScopeName = None,
    label: Labels = None,
    kind: KindName = None,
    tag: Tags = None,
    attribute: Attribute = None,
    supersedes: Supersedes = None,
    expires_at: ExpiresAt = None,
    role: RoleName = None,
    author: Author = None,
    conversation: Conversation = None,
    run: Run = None,
    observed_at: ObservedAt = None,
    idempotency_key: Key = None,
    store: Chosen = None,
    config: ConfigPath = None,
    as_json: AsJson = False,
) -> None:
    """Remember one fact, exactly as given, or one turn of a conversation with --role."""
    whose, at = scope_of(scope, label), time_of("--observed-at", observed_at)
    if role is not None and (kind or supersedes or expires_at):
        usage("--kind, --supersedes and --expires-at are for facts; leave out --role")
    fact = Fact(
        _read_text(text),
        kind=kind_of("--kind", kind or "fact"),
        tags=tag or (),
        attributes=attributes("--attribute", attribute),
        supersedes=supersedes,
        expires_at=time_of("--expires-at", expires_at),
    )
    given = Observation(whose, observed_at=at, provenance=Provenance(conversation, run, author))
    said = replace(given, facts=[fact]) if role is None else replace(given, turns=[_turn(role, fact)])
    keyed = replace(said, idempotency_key=idempotency_key)
    _print(on_store(config, store, lambda memory: memory.observe(keyed)), as_json=as_json)


def _turn(role: str, said: Fact) -> Turn:
    return Turn(_role(role), said.content, tags=said.tags, attributes=said.attributes)


def _print(done: Observed, *, as_json: bool) -> None:
    if as_json:
        print_json(shapes.observed(done))
        return
    from memhub_config.cli.render import card

    for record in done.records:
        show(card(record))
    if done.operation is not None and done.operation.status == "pending":
        show(f"Accepted as operation {done.operation.id}; not finished yet.")
    elif done.replayed:
        note("This key had been seen: nothing was written.")
    elif not done.persisted:
        note("This store keeps nothing.")


def _role(text: str) -> Role:
    for role in ROLES:
        if role == text:
            return role
    return usage(f"--role: must be one of {', '.join(ROLES)}")


def _read_text(text: str) -> str:
    if text != "-":
        return text
    try:
        return sys.stdin.buffer.read().decode().removesuffix("\n")
    except UnicodeDecodeError as found:
        problem = f"stdin: is not UTF-8 (byte {found.start + 1})"
    raise InvalidInput(problem)
