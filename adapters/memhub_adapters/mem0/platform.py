"""The dialect of Mem0's Platform, version 3: trailing slashes, wrapped ids, events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memhub_adapters.mem0.dialect import Call, Dialect, Page, quoted, unexpected
from memhub_adapters.mem0.gateway import Added, Message, Metadata
from memhub_adapters.mem0.rows import rows_of

__all__ = ["PlatformDialect"]


class PlatformDialect(Dialect):
    """`Authorization: Token`; scope ids at the top level of an addition and inside `filters` elsewhere."""

    memory = "/v1/memories/{}/"
    most_found = 1000

    def headers(self, key: str | None) -> dict[str, str]:
        return {"authorization": f"Token {key}"}

    def ping(self) -> Call:
        return Call("GET", "/v1/ping/")

    def answered(self, body: Any) -> None:  # noqa: ANN401 - any JSON value
        if not isinstance(body, dict) or "status" not in body:
            raise unexpected()

    def add(self, user: str, messages: Sequence[Message], metadata: Metadata, *, infer: bool) -> Call:
        body = {"messages": list(messages), "user_id": user, "metadata": metadata, "infer": infer}
        return Call("POST", "/v3/memories/add/", body=body)

    def added(self, body: Any) -> Added:  # noqa: ANN401 - any JSON value
        """Stored texts come at once; extraction is told by an event without results."""
        if isinstance(body, dict) and "results" not in body:
            if not isinstance(body.get("event_id"), str):
                raise unexpected()
            return Added(event=body["event_id"])
        return super().added(body)

    def rows(self, user: str, page: int) -> Call:
        body = {"filters": _of(user), "show_expired": True}
        return Call("POST", "/v3/memories/", {"page": str(page), "page_size": "100"}, body)

    def page(self, body: Any) -> Page:  # noqa: ANN401 - any JSON value
        if not isinstance(body, dict):
            raise unexpected()
        count = body.get("count")
        return Page(rows_of(body), body.get("next") is not None, count if isinstance(count, int) else None)

    def search(self, user: str, text: str, most: int) -> Call:
        body = {"query": text, "filters": _of(user), "top_k": most, "threshold": 0.0, "show_expired": True}
        return Call("POST", "/v3/memories/search/", body=body)

    def event(self, id: str) -> Call:
        return Call("GET", f"/v1/event/{quoted(id)}/")

    def users(self, page: int) -> Call:
        return Call("GET", "/v1/entities/", {"page": str(page), "page_size": "100"})

    def users_of(self, body: Any) -> tuple[list[str], bool]:  # noqa: ANN401 - any JSON value
        if not isinstance(body, dict) or not isinstance(body.get("results"), list):
            raise unexpected()
        named = [one.get("name") for one in body["results"] if one.get("type") == "user"]
        return [name for name in named if isinstance(name, str)], body.get("next") is not None


def _of(user: str) -> dict[str, Any]:
    return {"AND": [{"user_id": user}]}
