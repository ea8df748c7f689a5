"""A stand-in for Mem0's Platform, version 3, as its documentation describes it."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any, Final

from memhub_adapters.standins.mem0_filters import platform
from memhub_adapters.standins.mem0_rows import (
    IDS,
    Refused,
    Routes,
    Row,
    Rows,
    expired,
    facts_of,
    nearest,
    routed,
)
from memhub_adapters.standins.messages import Request, Response

__all__ = ["PlatformMem0"]

_ID: Final = r"/v1/memories/([^/]+)/"
_MOST: Final = 1000
_BATCH: Final = 1000
_PAGE: Final = 200


class PlatformMem0:
    """Answers requests; give it to a `Server`.

    An extraction is PENDING, then RUNNING, for `polls` looks at its event. What is stored is listed
    at once, and found by a search only `lag` requests later. A repeated text in one scope is merged.
    `merge` says whether metadata of an update is merged, which the documentation leaves open.
    """

    def __init__(self, key: str, *, polls: int = 2, lag: int = 3, merge: bool = True) -> None:
        self.rows = Rows()
        self._key = key
        self._polls = polls
        self._lag = lag
        self._merge = merge
        self._events: dict[str, dict[str, Any]] = {}
        self._routes: Routes = {
            ("GET", "/v1/ping/"): self._ping,
            ("POST", "/v3/memories/add/"): self._add,
            ("POST", "/v3/memories/"): self._list,
            ("POST", "/v3/memories/search/"): self._search,
            ("GET", _ID): self._get,
            ("PUT", _ID): self._put,
            ("DELETE", _ID): self._remove,
            ("GET", _ID + "history/"): self._history,
            ("DELETE", "/v1/batch/"): self._remove_several,
            ("GET", r"/v1/event/([^/]+)/"): self._event,
            ("GET", "/v1/entities/"): self._entities,
        }

    def __call__(self, request: Request) -> Response:
        self.rows.tick += 1
        if request.headers.get("authorization") != f"Token {self._key}":
            return Response(401, {"detail": "Invalid API key. You can find your API key on the dashboard."})
        return routed(self._routes, request, unknown={"detail": "Not found."})

    def _ping(self, request: Request) -> object:
        return {"status": "ok", "org_id": "org", "project_id": "project", "user_email": "a@b.example"}

    def _add(self, request: Request) -> object:
        body = _body(request)
        ids = {name: body[name] for name in IDS if body.get(name)}
        if not ids or not body.get("messages"):
            raise Refused(400, {"error": "400 Bad Request", "details": {"message": "Invalid input data."}})
        event = str(uuid.uuid4())
        if body.get("infer") is not False:
            self._events[event] = {"left": self._polls, "ids": ids, "body": body, "results": []}
            return {"event_id": event, "status": "PENDING"}
        texts = [one["content"] for one in body["messages"] if one["role"] != "system"]
        results = [_result(row) for text in texts for row in self._new(text, ids, body)]
        return {
            "message": "Memories stored successfully",
            "status": "SUCCEEDED",
            "event_id": event,
            "results": results,
        }

    def _new(self, text: str, ids: Mapping[str, str], body: Mapping[str, Any]) -> list[Row]:
        """The new row; none where the scope holds that very text already."""
        if any(row.text == text for row in self.rows.of(ids)):
            return []
        return [self.rows.add(text, ids, body.get("metadata") or {}, body.get("expiration_date"))]

    def _event(self, request: Request, id: str) -> object:
        event = self._events.get(id)
        if event is None:
            raise Refused(404, {"error": "Event not found or you don't have permission to access it."})
        if event["left"]:
            event["left"] -= 1
            return {
                "id": id,
                "event_type": "ADD",
                "status": "RUNNING" if event["left"] else "PENDING",
                "results": [],
            }
        if "done" not in event:
            made = [
                row
                for text in facts_of(event["body"]["messages"])
                for row in self._new(text, event["ids"], event["body"])
            ]
            event["done"] = [_result(row) for row in made]
        return {"id": id, "event_type": "ADD", "status": "SUCCEEDED", "results": event["done"]}

    def _list(self, request: Request) -> object:
        body = _body(request)
        test = platform(body.get("filters"))
        size, number = min(int(request.query.get("page_size", 100)), _PAGE), int(request.query.get("page", 1))
        rows = [row for row in self.rows.all.values() if test(row) and _visible(row, body)][::-1]
        shown = [_listed(row) for row in rows[size * (number - 1) : size * number]]
        more = "https://api.mem0.ai/v3/memories/?page=..." if len(rows) > size * number else None
        return {"count": len(rows), "next": more, "previous": None, "results": shown}

    def _search(self, request: Request) -> object:
        body = _body(request)
        test, most = platform(body.get("filters")), body.get("top_k", 10)
        if not str(body.get("query") or "").strip() or not 1 <= most <= _MOST:
            raise Refused(400, {"error": "query must not be empty and top_k must be within 1 and 1000"})
        ready = [row for row in self.rows.all.values() if self.rows.tick - row.born > self._lag]
        rows = [row for row in ready if test(row) and _visible(row, body)]
        found = nearest(body["query"], rows, threshold=body.get("threshold", 0.1), most=most)
        return {"results": [_found(row, score) for row, score in found]}

    def _get(self, request: Request, id: str) -> object:
        return _listed(self._known(id))

    def _put(self, request: Request, id: str) -> object:
        body, row = _body(request), self._known(id)
        self.rows.change(row, body.get("text"), body.get("metadata"), merge=self._merge)
        if "expiration_date" in body:
            row.expires = body["expiration_date"]
        return _listed(row)

    def _remove(self, request: Request, id: str) -> object:
        self.rows.remove(self._known(id).id)
        return {"message": "Memory deleted successfully!"}

    def _remove_several(self, request: Request) -> object:
        given = _body(request).get("memories", [])
        if len(given) > _BATCH:
            raise Refused(400, {"error": "Maximum of 1000 memories can be deleted in a single request"})
        there = [one["memory_id"] for one in given if one["memory_id"] in self.rows.all]
        for id in there:
            self.rows.remove(id)
        return {"message": f"Successfully deleted {len(there)} memories"}

    def _history(self, request: Request, id: str) -> object:
        return self.rows.history.get(id, [])

    def _entities(self, request: Request) -> object:
        named = sorted(
            {(name.removesuffix("_id"), id) for row in self.rows.all.values() for name, id in row.ids.items()}
        )
        size, number = int(request.query.get("page_size", 100)), int(request.query.get("page", 1))
        shown = [
            {"id": str(uuid.uuid4()), "name": name, "type": kind}
            for kind, name in named[size * (number - 1) : size * number]
        ]
        more = "https://api.mem0.ai/v1/entities/?page=..." if len(named) > size * number else None
        return {"count": len(named), "next": more, "previous": None, "results": shown}

    def _known(self, id: str) -> Row:
        try:
            known = str(uuid.UUID(id))
        except ValueError:
            raise Refused(400, {"error": "memory_id should be a valid UUID"}) from None
        if known not in self.rows.all:
            raise Refused(404, {"error": "Memory not found!"})
        return self.rows.all[known]


def _body(request: Request) -> dict[str, Any]:
    if not isinstance(request.json, dict):
        raise Refused(400, {"detail": "JSON parse error"})
    return request.json


def _visible(row: Row, body: Mapping[str, Any]) -> bool:
    return bool(body.get("show_expired")) or not expired(row)


def _result(row: Row) -> dict[str, Any]:
    return {"id": row.id, "data": {"memory": row.text}, "event": "ADD"}


def _shown(row: Row) -> dict[str, Any]:
    ids = {name: row.ids.get(name) for name in IDS if name != "run_id"}
    times = {"created_at": row.created, "updated_at": row.updated, "expiration_date": row.expires}
    return {
        "id": row.id,
        "memory": row.text,
        **ids,
        "metadata": row.metadata or None,
        "categories": None,
        **times,
    }


def _listed(row: Row) -> dict[str, Any]:
    """A row as it is listed and got: the run is called a session there, and there is no hash."""
    return {**_shown(row), "session_id": row.ids.get("run_id")}


def _found(row: Row, score: float) -> dict[str, Any]:
    parts = {"semantic": score, "bm25": 0.0, "entity": 0.0}
    return {**_shown(row), "run_id": row.ids.get("run_id"), "score": score, "score_breakdown": parts}
