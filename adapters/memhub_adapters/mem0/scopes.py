"""Scopes as native user ids: private, reversible, of letters, digits, `.`, `_` and `-` alone.

`Scope("player:42")` is `memhub-name..player.3a42`; `Scope(tenant="acme")` is
`memhub-pairs..tenant..acme`. Every other byte is a dot and two digits, so two dots can only be a
separator, `*` cannot appear, and no two scopes share an id. What does not begin like this is not ours.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from memhub.errors import InvalidInput
from memhub.scope import Scope

__all__ = ["scope_of", "user_of"]

_NAME: Final = "memhub-name"
_PAIRS: Final = "memhub-pairs"
_UNSAFE: Final = re.compile(rb"[^A-Za-z0-9_-]")
_TEXT: Final = re.compile(r"(?:[A-Za-z0-9_-]|\.[0-9a-f]{2})+")


def user_of(scope: Scope) -> str:
    """The native user id of exactly this scope."""
    if scope.name is not None:
        return f"{_NAME}..{_escaped(scope.name)}"
    return "..".join((_PAIRS, *(_escaped(text) for pair in scope.pairs for text in pair)))


@lru_cache(4096)
def scope_of(user: str | None) -> Scope | None:
    """The scope whose user id this is; None for one that `user_of` does not make."""
    if user is None:
        return None
    kind, *parts = user.split("..")
    if not all(_TEXT.fullmatch(part) for part in parts):
        return None
    try:
        texts = [_plain(part) for part in parts]
        scope = _scope(kind, texts)
    except (UnicodeDecodeError, InvalidInput):
        return None
    return scope if scope is not None and user_of(scope) == user else None


def _scope(kind: str, texts: list[str]) -> Scope | None:
    if kind == _NAME and len(texts) == 1:
        return Scope(texts[0])
    if kind == _PAIRS and texts and len(texts) % 2 == 0:
        return Scope(dict(zip(texts[::2], texts[1::2], strict=True)))
    return None


def _escaped(text: str) -> str:
    return _UNSAFE.sub(lambda found: b".%02x" % found[0][0], text.encode()).decode("ascii")


def _plain(escaped: str) -> str:
    return re.sub(
        rb"\.([0-9a-f]{2})", lambda found: bytes.fromhex(found[1].decode()), escaped.encode()
    ).decode()
