"""Qdrant's failures as the contract's errors: one table for the server and the embedded engine."""

from __future__ import annotations

from typing import Final

from memhub.errors import AccessDenied, Conflict, HubError, InvalidInput, RateLimited, TimedOut, Unavailable
from memhub_adapters.failure import CONNECTION, TIMEOUTS
from memhub_adapters.qdrant.failure import QdrantFailure

__all__ = ["translate"]

_TEXTS: Final = {
    "Locked": "another process has this embedded collection open, and only one can; close it there, "
    "or run a Qdrant server and give its url",
    "AfterClosing": "the store was closed meanwhile",
    "Unreadable": "the embedded collection cannot be read; restore its folder from a copy",
    "TooLong": "the answer is longer than is ever read; ask for less",
    "UnexpectedAnswer": "the answer is not what Qdrant gives; check that url leads to a Qdrant server",
    "Exception": "the embedded engine failed; open the store again, and look whether the disk is full",
    "UnsupportedProtocol": "url: is no http or https address",
    **CONNECTION,
}
"""What we say of a failure by its kind; any other is the client's own name for it."""

_DENIED: Final = (AccessDenied, "the credentials were refused; check api_key")
_STATUSES: Final[dict[int, tuple[type[HubError], str]]] = {
    401: _DENIED,
    403: _DENIED,
    404: (Unavailable, "the collection is not there any more; open the store again"),
    408: (TimedOut, "the server gave up waiting"),
    409: (Conflict, "the server says that its state contradicts the request"),
    413: (
        InvalidInput,
        "the request is longer than the server takes; write less at once, or raise its max_request_size_mb",
    ),
    429: (RateLimited, "the server asks for patience"),
}
_REFUSED: Final = (
    Unavailable,
    "the server refused the request; open the store again, and check the url and the server's version",
)
_FAILED: Final = (Unavailable, "the server failed")
_SERVER_ERRORS: Final = 500

_TIMEOUTS: Final = (*TIMEOUTS, "WaitTimeout")
_FINAL: Final = frozenset(
    {
        "AfterClosing",
        "Exception",
        "LocalProtocolError",
        "Locked",
        "PanicException",
        "TooLong",
        "Unreadable",
        "UnsupportedProtocol",
    }
)
"""Kinds that a repeat does not mend."""


def translate(error: Exception, where: str) -> HubError | None:
    """The contract's error for one of Qdrant or the file system; None for anything else."""
    if isinstance(error, OSError):
        found: HubError = Unavailable(f"{error.filename or where}: {error.strerror or type(error).__name__}")
        found.__cause__ = error
        return found
    if not isinstance(error, QdrantFailure):
        return None
    status = error.status
    return error.told(_of_kind(error, where) if status is None else _of_status(error, status, where))


def _of_kind(failure: QdrantFailure, where: str) -> HubError:
    if failure.kind in _TIMEOUTS:
        return TimedOut(f"{where}: no answer in time ({failure.kind})", retryable=True)
    text = _TEXTS.get(failure.kind, f"the call failed with {failure.kind}")
    return Unavailable(f"{where}: {text}", retryable=failure.kind not in _FINAL)


def _of_status(failure: QdrantFailure, status: int, where: str) -> HubError:
    kind, text = _STATUSES.get(status) or (_FAILED if status >= _SERVER_ERRORS else _REFUSED)
    return kind(
        f"{where}: {text} ({status})",
        retryable=kind is RateLimited or kind is TimedOut or status >= _SERVER_ERRORS,
        retry_after=failure.retry_after,
    )
