"""A stand-in for Mem0's own server: its paths, its answers and its oddities, as they were seen running."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from memhub_adapters.standins.mem0_filters import server
from memhub_adapters.standins.mem0_rows import (
    Refused,
    Routes,
    Row,
    Rows,
    expired,
    facts_of,
    md5,
    nearest,
    routed,
)
from memhub_adapters.standins.messages import Request, Response

__all__ = ["SelfHostedMem0"]

_ID: Final = r"/memories/([^/]+)"
_IDS: Final = ("user_id", "agent_id", "run_id")
_MOST: Final = 1000


class SelfHostedMem0:
    """Answers requests; give it to a `Server`. Without a `key`, anybody may ask."""

    def __init__(self, key: str | None = None) -> None:
        self.rows = Rows()
        self._key = key
        self._routes: Routes = {
            ("POST", "/memories"): self._add,
            ("GET", "/memories"): self._list,
            ("DELETE", "/memories"): self._remove_all,
            ("GET", _ID): self._get,
            ("PUT", _ID): self._put,
            ("DELETE", _ID): self._remove,
            ("GET", _ID + "/history"): self._history,
            ("POST", "/search"): self._search,
            ("GET", "/entities"): self._entities,
        }

    def __call__(self, request: Request) -> Response:
        self.rows.tick += 1
        named = {"x-request-id": uuid.uuid4().hex[:8]}
        if self._key is not None and request.headers.get("x-api-key") != self._key:
            body = {"detail": "Authentication required."}
            return Response(401, body, {**named, "www-authenticate": "Bearer"})
        return replace(routed(self._routes, request, unknown={"detail": "Not Found"}), headers=named)

    def _add(self, request: Request) -> object:
        body = _body(request, "messages")
        ids = _ids(body)
        if not ids:
            detail = "At least one identifier (user_id, agent_id, run_id) is required."
            raise Refused(400, {"detail": detail})
        metadata = {k: v for k, v in (body.get("metadata") or {}).items() if k not in _IDS}
        if body.get("infer") is False:
            return {
                "results": [
                    self._stored(one, ids, metadata, body)
                    for one in body["messages"]
                    if one["role"] != "system"
                ]
            }
        held = {
            row.text for row, _ in nearest(str(body["messages"]), self.rows.of(ids), threshold=-1, most=10)
        }
        texts = [text for text in dict.fromkeys(facts_of(body["messages"])) if text not in held]
        made = [self.rows.add(text, ids, metadata, body.get("expiration_date")) for text in texts]
        return {"results": [{"id": row.id, "memory": row.text, "event": "ADD"} for row in made]}

    def _stored(
        self,
        message: Mapping[str, str],
        ids: dict[str, str],
        metadata: dict[str, Any],
        body: Mapping[str, Any],
    ) -> dict[str, Any]:
        row = self.rows.add(message["content"], ids, metadata, body.get("expiration_date"))
        row.role = message["role"]
        return {"id": row.id, "memory": row.text, "event": "ADD", "actor_id": None, "role": message["role"]}

    def _list(self, request: Request) -> object:
        most = int(request.query.get("top_k", 20))
        if not 0 <= most <= _MOST:
            raise Refused(422, {"detail": [{"type": "less_than_equal", "loc": ["query", "top_k"]}]})
        ids = _ids(request.query)
        if not ids:
            # On Qdrant the server reads the rows of such a listing wrongly.
            return {"results": [dict.fromkeys((*_shown(row), "score")) for row in self.rows.all.values()]}
        shown = [
            row for row in self.rows.of(ids) if _visible(row, request.query.get("show_expired") == "true")
        ]
        rows = [_shown(row) for row in sorted(shown, key=lambda row: row.id)[:most]]
        return {"results": [{name: value for name, value in row.items() if name != "score"} for row in rows]}

    def _get(self, request: Request, id: str) -> object:
        row = self.rows.all.get(id)
        return None if row is None else _shown(row)

    def _put(self, request: Request, id: str) -> object:
        body = _body(request)
        if not body.keys() & {"text", "metadata", "expiration_date"}:
            raise Refused(
                400, {"detail": "At least one of text, metadata, or expiration_date must be provided."}
            )
        row = self._known(id)
        self.rows.change(row, body.get("text"), body.get("metadata"), merge=True)
        if "expiration_date" in body:
            row.expires = body["expiration_date"]
        return {"message": "Memory updated successfully!"}

    def _remove(self, request: Request, id: str) -> object:
        self.rows.remove(self._known(id).id)
        return {"message": "Memory deleted successfully"}

    def _remove_all(self, request: Request) -> object:
        ids = _ids(request.query)
        if not ids:
            raise Refused(400, {"detail": "At least one identifier is required."})
        for row in self.rows.of(ids):
            self.rows.remove(row.id)
        return {"message": "All relevant memories deleted"}

    def _history(self, request: Request, id: str) -> object:
        return self.rows.history.get(id, [])

    def _search(self, request: Request) -> object:
        body = _body(request, "query")
        test = server({**(body.get("filters") or {}), **_ids(body)})
        if not str(body["query"]).strip():
            raise Refused(400, {"detail": "query must not be empty"})
        rows = [
            row
            for row in self.rows.all.values()
            if test(row) and _visible(row, bool(body.get("show_expired")))
        ]
        threshold, most = body.get("threshold"), body.get("top_k")
        found = nearest(
            body["query"],
            rows,
            threshold=0.1 if threshold is None else threshold,
            most=20 if most is None else most,
        )
        return {"results": [{**_shown(row), "score": score} for row, score in found]}

    def _entities(self, request: Request) -> object:
        counts: dict[tuple[str, str], int] = {}
        for row in self.rows.all.values():
            for name, value in row.ids.items():
                key = (name.removesuffix("_id"), value)
                counts[key] = counts.get(key, 0) + 1
        return [{"id": id, "type": kind, "total_memories": n} for (kind, id), n in sorted(counts.items())]

    def _known(self, id: str) -> Row:
        if id not in self.rows.all:
            detail = f"Memory with id {id} not found. Please provide a valid 'memory_id'"
            raise Refused(404, {"detail": detail})
        return self.rows.all[id]


def _body(request: Request, *needed: str) -> dict[str, Any]:
    body = request.json if isinstance(request.json, dict) else {}
    missing = [{"type": "missing", "loc": ["body", name]} for name in needed if name not in body]
    if missing or not isinstance(request.json, dict):
        raise Refused(422, {"detail": missing or [{"type": "model_attributes_type", "loc": ["body"]}]})
    return body


def _ids(given: Mapping[str, Any]) -> dict[str, str]:
    """The ids of a request, trimmed; whitespace inside one is refused."""
    found = {name: str(given[name]).strip() for name in _IDS if given.get(name)}
    if any(len(value.split()) > 1 for value in found.values()):
        raise Refused(400, {"detail": "Invalid entity id: cannot contain whitespace."})
    return found


def _visible(row: Row, show_expired: bool) -> bool:
    return show_expired or not expired(row)


def _shown(row: Row) -> dict[str, Any]:
    """A row as the server answers it: absent ids are absent keys, and so are an absent expiry and role."""
    shown: dict[str, Any] = {
        "id": row.id,
        "memory": row.text,
        "hash": md5(row.text),
        "metadata": row.metadata or None,
        "score": None,
        "created_at": row.created,
        "updated_at": row.updated,
        **row.ids,
    }
    more = {"expiration_date": row.expires, "role": row.role}
    return {**shown, **{name: value for name, value in more.items() if value is not None}}
