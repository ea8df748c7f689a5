"""A clock that tests set, and an adapter that fails as told."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from memhub import HubError
from memhub.adapter import Read, Write
from memhub.records import Observed, Recalled
from memhub_adapters.in_memory import InMemoryAdapter


class SetClock:
    """The present, until it is moved."""

    def __init__(self, now: datetime = datetime(2026, 3, 1, 12, tzinfo=UTC)) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def advance(self, **by: float) -> datetime:
        self.now += timedelta(**by)
        return self.now


class Faulty(InMemoryAdapter):
    """Raises the given errors, one a call, then works. `known` maps an error that it knows."""

    def __init__(
        self, *errors: BaseException, known: Callable[[Exception], HubError | None] = lambda error: None
    ) -> None:
        super().__init__()
        self.errors = list(errors)
        self.known = known
        self.calls = 0
        self.closed = 0
        self.slept: list[float] = []

    async def sleep(self, seconds: float) -> None:
        """Stands in for the sleep between attempts."""
        self.slept.append(seconds)

    async def observe(self, write: Write) -> Observed:
        self._fail()
        return await super().observe(write)

    async def recall(self, read: Read) -> Recalled:
        self._fail()
        return await super().recall(read)

    async def ping(self) -> None:
        self._fail()

    async def aclose(self) -> None:
        self.closed += 1
        self._fail()

    def translate(self, error: Exception) -> HubError | None:
        return self.known(error)

    def _fail(self) -> None:
        self.calls += 1
        if self.errors:
            raise self.errors.pop(0)
