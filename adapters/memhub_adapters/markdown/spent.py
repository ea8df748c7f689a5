"""Idempotency keys whose records are all deleted. No file holds them any more, so they are kept here.

One small file a key, below `.memhub/spent` in folders named as the scopes' own, until the scope is
purged. It holds the key and a digest of what was said under it, never any content.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from memhub.errors import Unavailable
from memhub.scope import Scope
from memhub_adapters.markdown.look import MOST_BYTES
from memhub_adapters.markdown.names import folder_of, scope_of
from memhub_adapters.markdown.reach import Reach
from memhub_adapters.markdown.tree import OWN, Stamp, Tree

__all__ = ["spent_digest", "spent_files", "spent_path", "spent_text"]

FOLDER: Final = f"{OWN}/spent"
SUFFIX: Final = ".json"


def spent_path(scope: Scope, key: str) -> str:
    """The file of a key."""
    return "/".join((FOLDER, *folder_of(scope), hashlib.sha256(key.encode()).hexdigest() + SUFFIX))


def spent_text(key: str, digest: str) -> bytes:
    """What it holds."""
    return json.dumps({"idempotency_key": key, "digest": digest}, ensure_ascii=False).encode()


def spent_digest(tree: Tree, scope: Scope, key: str) -> str | None:
    """The digest of what was said under a spent key, None for a key that is not."""
    path = spent_path(scope, key)
    try:
        data, _ = tree.read(path, MOST_BYTES)
        return str(json.loads(data)["digest"])
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, KeyError):
        raise Unavailable(f"{path} is damaged; remove it to forget that its key was used") from None


def spent_files(tree: Tree, reach: Reach, pending: Iterable[str] = ()) -> Iterator[tuple[str, Stamp | None]]:
    """The files of the spent keys of these scopes, also those of `pending` paths, not written yet."""
    inner = Tree(Path(tree.root, FOLDER), suffix=SUFFIX)
    for scope in inner.scopes(reach):
        for name, stamp in inner.files(scope).items():
            yield "/".join((FOLDER, *folder_of(scope), name.decode())), Stamp(*stamp)
    for path in pending:
        if path.startswith(f"{FOLDER}/"):
            found = scope_of(path.removeprefix(f"{FOLDER}/").split("/")[:-1])
            if found is not None and reach.covers(found):
                yield path, None
