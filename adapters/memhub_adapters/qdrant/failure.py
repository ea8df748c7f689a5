"""A call to Qdrant that came to nothing usable, embedded or remote, told without any of its text."""

from __future__ import annotations

from memhub_adapters.failure import Effect, Failure

__all__ = ["QdrantFailure"]


class QdrantFailure(Failure):
    """`kind` is the client's name for what went wrong, or ours. `retry_after` is in seconds."""

    def __init__(
        self, kind: str, effect: Effect, *, status: int | None = None, retry_after: float | None = None
    ) -> None:
        super().__init__(kind, effect)
        self.status = status
        self.retry_after = retry_after

    def facts(self) -> dict[str, str | int | None]:
        return {"status": self.status}
