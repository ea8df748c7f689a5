"""Mem0's failures as the contract's errors: one table. No text of an answer goes any further."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from memhub.errors import AccessDenied, Conflict, HubError, InvalidInput, RateLimited, TimedOut, Unavailable
from memhub_adapters.failure import CONNECTION, TIMEOUTS, Failure
from memhub_adapters.http import HttpFailure

__all__ = ["translate"]

_KINDS: Final = {
    "UnreadableBody": "the answer is no JSON",
    "UnexpectedBody": "the answer has a shape that this flavor of Mem0 does not give; check flavor and endpoint",
    "BodyTooLarge": "the answer is longer than 8 MiB; ask for less",
    "DecodingError": "the answer is compressed in a way that cannot be read",
    "UnsupportedProtocol": "the endpoint is no http or https address",
    "TooManyToList": "the scope holds 1,000 memories or more, which this server cannot list; "
    "search it, or spread it over narrower scopes",
    "TooManyToScan": "the server holds 10,000 memories or more, and does not tell all of their users",
    "TooManyToSearch": "1,000 memories rank above what the filters admit, and the service shows no more; "
    "ask for a narrower scope",
    "FolderInUse": "another process has the folder open; an embedded Mem0 serves one process at a time",
    "AfterClosing": "the store was closed meanwhile",
    "NoModel": "no model is configured, so nothing can be made of turns",
    "ProjectNotFound": "there is no such memory project in this region; check memory_project_id and region",
    "ControlPlaneRefused": "the control plane gives no key; check region, memory_project_id and api_key_id",
    "UnexpectedControlBody": "the control plane answers with something else; check control_endpoint",
    "NoReadyKey": "the memory project has no key that is ready",
    "NoKeyValue": "the control plane gave an empty key",
    "ListingChanged": "the scope kept changing while its pages were read",
    **CONNECTION,
}
"""What we say of a failure that is no status; any other is httpx's own, and told by its name."""

_FINAL: Final = frozenset(
    {
        "AfterClosing",
        "BodyTooLarge",
        "ControlPlaneRefused",
        "FolderInUse",
        "LocalProtocolError",
        "NoModel",
        "ProjectNotFound",
        "TooManyToList",
        "TooManyToScan",
        "TooManyToSearch",
        "UnsupportedProtocol",
    }
)
"""Kinds that a repeat does not mend."""

_LASTING: Final = frozenset({"provider_auth_failed", "provider_bad_request"})


_BY_STATUS: Final[Mapping[int, tuple[type[HubError], str]]] = {
    **dict.fromkeys(
        (400, 413, 414, 422), (InvalidInput, "the service refused the request; nothing was done")
    ),
    **dict.fromkeys(
        (401, 403), (AccessDenied, "the credentials were refused; check the key, and what it may do")
    ),
    402: (Unavailable, "the account's quota is used up; nothing was done"),
    **dict.fromkeys((404, 405), (Unavailable, "nothing answers there; check the endpoint and the flavor")),
    **dict.fromkeys((409, 412), (Conflict, "the service says that its state contradicts the request")),
}
"""Statuses that a repeat does not mend."""

_TOO_MANY: Final = 429
_REQUEST_TIMEOUT: Final = 408
_SERVER: Final = range(500, 600)


def translate(error: Exception) -> HubError | None:
    """The contract's error for a failure; None for anything else."""
    if not isinstance(error, Failure):
        return None
    status = error.status if isinstance(error, HttpFailure) and error.kind == "Status" else None
    return error.told(_of_kind(error.kind) if status is None else _of_status(error, status))


def _of_kind(kind: str) -> HubError:
    if kind in TIMEOUTS:
        return TimedOut(f"no answer in time ({kind})", retryable=True)
    text = _KINDS.get(kind, f"the connection failed with {kind}")
    return Unavailable(text, retryable=kind not in _FINAL)


def _of_status(error: Failure, status: int) -> HubError:
    code, wait = (getattr(error, name, None) for name in ("code", "retry_after"))
    shown = f"{status}, {code}" if code else str(status)
    if status == _TOO_MANY or code == "provider_rate_limited":
        return RateLimited(f"the service asks for patience ({shown})", retryable=True, retry_after=wait)
    if status in _BY_STATUS:
        kind, text = _BY_STATUS[status]
        return kind(f"{text} ({shown})")
    if status not in _SERVER and status != _REQUEST_TIMEOUT:
        return Unavailable(f"the service answers with something else ({shown}); check the endpoint")
    return Unavailable(f"the service failed ({shown})", retryable=code not in _LASTING, retry_after=wait)
