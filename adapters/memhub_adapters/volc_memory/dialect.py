"""The dialect of Volcengine's Mem0: the Platform's older one, with jobs in place of events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from memhub_adapters.mem0.dialect import Call, Dialect, Page, quoted, unexpected
from memhub_adapters.mem0.gateway import Added, Message, Metadata
from memhub_adapters.mem0.rows import rows_of

__all__ = ["VolcDialect"]

_PAGE: Final = 100
"""Rows of one page."""


class VolcDialect(Dialect):
    """`Authorization: Token`; the user at the top level everywhere, and always."""

    memory = "/v1/memories/{}/"
    most_found = 1000

    def headers(self, key: str | None) -> dict[str, str]:
        return {"authorization": f"Token {key}"}

    def ping(self) -> Call:
        return self.rows("memhub-ping", 1)

    def add(self, user: str, messages: Sequence[Message], metadata: Metadata, *, infer: bool) -> Call:
        """Extraction is a job; storing as it is cannot be one, and is refused as one."""
        body = {"messages": list(messages), "user_id": user, "metadata": metadata}
        return Call("POST", "/v1/memories/", body={**body, "infer": infer, "async_mode": infer})

    def added(self, body: Any) -> Added:  # noqa: ANN401 - any JSON value
        """Exactly one result with an `event_id` is a job; anything else is what was stored."""
        items = body.get("results") if isinstance(body, dict) else None
        if isinstance(items, list) and any(isinstance(item, dict) and "event_id" in item for item in items):
            if len(items) != 1 or not isinstance(items[0]["event_id"], str):
                raise unexpected()
            if "memory" not in items[0]:
                return Added(event=items[0]["event_id"])
        return super().added(body)

    def rows(self, user: str, page: int) -> Call:
        return Call("GET", "/v1/memories/", {"user_id": user, "page": str(page), "page_size": str(_PAGE)})

    def page(self, body: Any) -> Page:  # noqa: ANN401 - any JSON value
        """A page where the service knows pages, else everything at once, with or without `results`.

        Where it does not say whether there is another, a full one is followed by a look.
        """
        rows, told = rows_of(body), body if isinstance(body, dict) else {}
        more = told["next"] is not None if "next" in told else len(rows) >= _PAGE
        count = told.get("count")
        return Page(rows, more, count if isinstance(count, int) else None)

    def search(self, user: str, text: str, most: int) -> Call:
        return Call("POST", "/v1/memories/search/", body={"query": text, "top_k": most, "user_id": user})

    def event(self, id: str) -> Call:
        return Call("GET", f"/v1/job/{quoted(id)}/")
