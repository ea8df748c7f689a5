"""The dialect of a Mem0 server of one's own: no version, no trailing slash, everything at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from memhub_adapters.http import HttpFailure
from memhub_adapters.mem0.dialect import Call, Dialect, Page, unexpected
from memhub_adapters.mem0.gateway import Message, Metadata
from memhub_adapters.mem0.rows import rows_of

__all__ = ["MOST_LISTED", "SelfHostedDialect"]

MOST_LISTED: Final = 1000
"""Rows of one user that the server lists; there is no second page."""

_MOST_COUNTED: Final = 10_000
"""Rows of everybody that the server looks at to tell which users there are."""


class SelfHostedDialect(Dialect):
    """`X-API-Key`; filters need the user at their top level; an unknown id answers 200 with null."""

    memory = "/memories/{}"

    def headers(self, key: str | None) -> dict[str, str]:
        return {} if key is None else {"x-api-key": key}

    def ping(self) -> Call:
        return Call("GET", "/memories", {"user_id": "memhub-ping", "top_k": "1"})

    def add(self, user: str, messages: Sequence[Message], metadata: Metadata, *, infer: bool) -> Call:
        body = {"messages": list(messages), "user_id": user, "metadata": metadata, "infer": infer}
        return Call("POST", "/memories", body=body)

    def rows(self, user: str, page: int) -> Call:
        return Call("GET", "/memories", {"user_id": user, "top_k": str(MOST_LISTED), "show_expired": "true"})

    def page(self, body: Any) -> Page:  # noqa: ANN401 - any JSON value
        rows = rows_of(body)
        return Page(rows, cut=len(rows) >= MOST_LISTED)

    def search(self, user: str, text: str, most: int) -> Call:
        body = {"query": text, "filters": {"user_id": user}, "top_k": most}
        return Call("POST", "/search", body={**body, "threshold": 0.0, "show_expired": True})

    def users(self, page: int) -> Call:
        return Call("GET", "/entities")

    def users_of(self, body: Any) -> tuple[list[str], bool]:  # noqa: ANN401 - any JSON value
        counts = [_entity(one) for one in body] if isinstance(body, list) else None
        if counts is None:
            raise unexpected()
        users = {id: count for kind, id, count in counts if kind == "user"}
        if sum(users.values()) >= _MOST_COUNTED:
            raise HttpFailure("TooManyToScan", "none")
        return list(users), False


def _entity(given: object) -> tuple[str, str, int]:
    """Kind, id and number of memories."""
    if not isinstance(given, dict):
        raise unexpected()
    kind, id, count = given.get("type"), given.get("id"), given.get("total_memories")
    if not isinstance(kind, str) or not isinstance(id, str) or not isinstance(count, int):
        raise unexpected()
    return kind, id, count
