"""Every error that Memhub raises.

HubError
├── InvalidInput        the call is wrong; nothing was done
│   └── InvalidConfig   the configuration is wrong; nothing was opened
├── NotFound            this store holds no such record
├── Unsupported         the provider cannot do this; refused before any I/O
├── Conflict            the stored state contradicts the call; nothing changed
└── Unavailable         the provider could not answer
    ├── RateLimited     it asked for patience; see `retry_after`
    ├── TimedOut        no answer within the deadline
    ├── AccessDenied    it refused the credentials (401, 403)
    └── Closed          this store has been closed
"""

from __future__ import annotations

from typing import ClassVar

__all__ = [
    "AccessDenied",
    "Closed",
    "Conflict",
    "HubError",
    "InvalidConfig",
    "InvalidInput",
    "NativeError",
    "NotFound",
    "RateLimited",
    "TimedOut",
    "Unavailable",
    "Unsupported",
]


class HubError(Exception):
    """Base of the five kinds. Its text never holds a key, a token or a body that could hold one.

    `retryable` is True only if repeating this very call cannot apply it twice.
    `retry_after` is in seconds, None when the provider did not say.
    `unapplied` is set by an adapter that knows the call changed nothing (a refused
    connection, a lock that was never taken); the hub then lets even an unkeyed write be repeated.
    """

    code: ClassVar[str] = "error"

    def __init__(
        self,
        message: str,
        *,
        provider: str | None = None,
        store: str | None = None,
        operation: str | None = None,
        retryable: bool = False,
        retry_after: float | None = None,
        unapplied: bool = False,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.provider = provider
        self.store = store
        self.operation = operation
        self.retryable = retryable
        self.retry_after = retry_after
        self.unapplied = unapplied

    def __str__(self) -> str:
        place = ".".join(part for part in (self.store, self.operation) if part)
        return f"{place}: {self.message}" if place else self.message


class InvalidInput(HubError):
    """The call is wrong. The text names the field, what is wrong with it and the remedy."""

    code = "invalid_input"


class InvalidConfig(InvalidInput):
    """The configuration is wrong. The text names the file, the field and the nearest valid name."""

    code = "invalid_config"


class NotFound(HubError):
    """No such record in this store, whatever the reason: never there, deleted, expired, elsewhere."""

    code = "not_found"


class Unsupported(HubError):
    """The provider cannot do this. The text names provider, operation and argument, and why."""

    code = "unsupported"


class Conflict(HubError):
    """The stored state contradicts the call: a stale revision, a reused key, a second successor."""

    code = "conflict"


class Unavailable(HubError):
    """The provider could not answer."""

    code = "unavailable"


class RateLimited(Unavailable):
    """The provider asked for patience; `retry_after` says how long, where it said."""

    code = "rate_limited"


class TimedOut(Unavailable):
    """No answer within the deadline. A pending operation stays alive."""

    code = "timed_out"


class AccessDenied(Unavailable):
    """The provider refused the credentials. Repeating will not help."""

    code = "access_denied"


class Closed(Unavailable):
    """The store has been closed."""

    code = "closed"


class NativeError(Exception):
    """Stands in as `__cause__` for a provider's own error, whose text could hold a secret.

    It keeps the type's name, the traceback and what is harmless: status, provider code, request id.
    """

    def __init__(self, kind: str, **facts: str | int | None) -> None:
        self.kind = kind
        self.facts = {name: value for name, value in facts.items() if value is not None}
        detail = ", ".join(f"{name}={value}" for name, value in self.facts.items())
        super().__init__(f"{kind} ({detail})" if detail else kind)
