"""What a change of one record asks for: checked before any I/O, by stores and bound memories alike."""

from __future__ import annotations

from memhub import support, validation
from memhub.capabilities import Capabilities
from memhub.records import Patch
from memhub.requests import patch_from

__all__ = ["deletion_from", "invalidation_from", "update_from"]


def update_from(caps: Capabilities, id: str, patch: Patch, revision: str | None) -> tuple[Patch, str | None]:
    """The patch and the revision of an update. Raises InvalidInput and Unsupported."""
    validation.identifier("id", id)
    checked, expected = patch_from(patch), _revision(revision)
    support.check_patch(caps, checked, expected)
    return checked, expected


def invalidation_from(
    caps: Capabilities, id: str, reason: str | None, revision: str | None
) -> tuple[str | None, str | None]:
    """The reason and the revision of an invalidation. Raises InvalidInput and Unsupported."""
    validation.identifier("id", id)
    why, expected = validation.short("reason", reason), _revision(revision)
    caps.require("invalidation", operation="invalidate")
    _check_conditional(caps, "invalidate", expected)
    return why, expected


def deletion_from(caps: Capabilities, id: str, revision: str | None) -> str | None:
    """The revision of a deletion. Raises InvalidInput and Unsupported."""
    validation.identifier("id", id)
    expected = _revision(revision)
    caps.require("delete", operation="delete")
    _check_conditional(caps, "delete", expected)
    return expected


def _revision(value: str | None) -> str | None:
    return None if value is None else validation.identifier("revision", value)


def _check_conditional(caps: Capabilities, operation: str, revision: str | None) -> None:
    if revision is not None:
        caps.require("revisions", operation=operation, argument="revision")
