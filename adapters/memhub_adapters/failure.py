"""Failure: a provider's call that came to nothing usable, told without any of its text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

from memhub.errors import HubError, NativeError

__all__ = ["CONNECTION", "NEVER_SENT", "TIMEOUTS", "Effect", "Failure"]

Effect = Literal["none", "unknown", "done"]
"""What a failed call did: nothing; perhaps something, now or later; or what it did it has done."""


CONNECTION: Final[Mapping[str, str]] = {
    "ConnectError": "no connection: nothing listens there, or its name is unknown; check the address, "
    "and that the server runs",
    "ProxyError": "no connection: the proxy refuses it",
    "ReadError": "the connection was lost",
    "WriteError": "the connection was lost",
    "CloseError": "the connection was lost",
    "LocalProtocolError": "the request cannot be sent; look for a line break or a letter outside ASCII in the key",
    "RemoteProtocolError": "the connection was lost, or what answers speaks no HTTP; check the address",
}
"""What httpx's names for a failed connection mean."""


TIMEOUTS: Final = ("ConnectTimeout", "PoolTimeout", "ReadTimeout", "WriteTimeout")
"""httpx's names for an answer that did not come in time."""

NEVER_SENT: Final = (
    "InvalidURL",
    "ConnectError",
    "ConnectTimeout",
    "PoolTimeout",
    "UnsupportedProtocol",
    "LocalProtocolError",
    "ProxyError",
)
"""httpx's names for a request that did not leave, and so did nothing."""


class Failure(Exception):
    """What adapters raise in place of errors whose text could hold a key or a memory.

    `lost`: a write that may yet show, so that not even a call made to be repeated may repeat it.
    """

    def __init__(self, kind: str, effect: Effect) -> None:
        super().__init__(kind)
        self.kind = kind
        self.effect = effect
        self.lost = False

    def facts(self) -> dict[str, str | int | None]:
        """What else is known, and harmless."""
        return {}

    def told(self, error: HubError) -> HubError:
        """The contract's error with a harmless stand-in for this one as its cause."""
        error.unapplied = self.effect == "none"
        error.retryable = error.retryable and not self.lost
        error.__cause__ = NativeError(self.kind, **self.facts()).with_traceback(self.__traceback__)
        return error
