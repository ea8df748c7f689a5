"""The kit's clock: it stands still until a rule moves it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

__all__ = ["Clock"]


class Clock:
    """The present, until it is moved. Callable, so that a store takes it as its clock.

    Without `start`, the present of the machine in whole seconds.
    """

    def __init__(self, start: datetime | None = None) -> None:
        self.now = start or datetime.now(UTC).replace(microsecond=0)

    def __call__(self) -> datetime:
        return self.now

    def advance(self, **by: float) -> datetime:
        """Move on by weeks, days, hours, minutes, seconds or microseconds; the new present."""
        self.now += timedelta(**by)
        return self.now
