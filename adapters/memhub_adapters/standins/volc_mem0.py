"""Stand-ins for Volcengine: the data plane of its Mem0, and the control plane that gives out its keys."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import uuid
from collections.abc import Mapping
from typing import Any, Final

from memhub_adapters.standins.mem0_rows import Refused, Routes, Row, Rows, facts_of, md5, nearest, routed
from memhub_adapters.standins.messages import Request, Response

__all__ = ["VolcControl", "VolcMem0"]

_ID: Final = r"/v1/memories/([^/]+)/"
_UNSIGNED: Final = (
    "authorization",
    "accept",
    "accept-encoding",
    "connection",
    "content-length",
    "user-agent",
)


class VolcControl:
    """Gives out the key of one project to whoever signs with its access key. `rotate` makes another."""

    def __init__(self, access_key_id: str, access_key_secret: str, *, project: str) -> None:
        self.key = secrets.token_hex(16)
        self.calls: list[str] = []
        self._id = access_key_id
        self._secret = access_key_secret
        self._project = project

    def rotate(self) -> None:
        """From now on the key is another one."""
        self.key = secrets.token_hex(16)

    def __call__(self, request: Request) -> Response:
        if request.headers.get("authorization") != self._authorization(request):
            return _refusal(403, "SignatureDoesNotMatch")
        action, body = request.query.get("Action", ""), request.json or {}
        self.calls.append(action)
        if body.get("MemoryProjectId") != self._project:
            return _refusal(404, "NotFound.MemoryProject")
        if action == "DescribeMemoryProjectDetail":
            keys = [{"APIKeyId": "old", "Status": "Disabled"}, {"APIKeyId": "key-1", "Status": "Ready"}]
            return Response(200, {"ResponseMetadata": {}, "Result": {"APIKeyInfos": keys}})
        if action == "DescribeAPIKeyDetail" and body.get("APIKeyId") == "key-1":
            return Response(200, {"ResponseMetadata": {}, "Result": {"APIKeyValue": self.key}})
        return _refusal(400, "InvalidParameter")

    def _authorization(self, request: Request) -> str:
        """What the header must be, worked out from the request alone."""
        date = request.headers.get("x-date", "")
        given = {name: text for name, text in request.headers.items() if name not in _UNSIGNED}
        names = ";".join(sorted(given))
        query = "&".join(f"{name}={request.query[name]}" for name in sorted(request.query))
        lines = "".join(f"{name}:{given[name]}\n" for name in sorted(given))
        digest = hashlib.sha256(request.body).hexdigest()
        canonical = f"{request.method}\n/\n{query}\n{lines}\n{names}\n{digest}"
        scope = f"{date[:8]}/cn-beijing/mem0/request"
        key = self._secret.encode()
        for part in scope.split("/"):
            key = hmac.digest(key, part.encode(), "sha256")
        text = f"HMAC-SHA256\n{date}\n{scope}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
        signature = hmac.digest(key, text.encode(), "sha256").hex()
        return f"HMAC-SHA256 Credential={self._id}/{scope}, SignedHeaders={names}, Signature={signature}"


class VolcMem0:
    """The data plane. `control` says which key is good; without it `key` is.

    A job is running for `polls` looks. With `silent` a job that has succeeded names no results.
    """

    def __init__(
        self,
        key: str | None = None,
        *,
        control: VolcControl | None = None,
        polls: int = 2,
        silent: bool = False,
    ) -> None:
        self.rows = Rows()
        self._key = key
        self._control = control
        self._polls = polls
        self._silent = silent
        self._jobs: dict[str, dict[str, Any]] = {}
        self._routes: Routes = {
            ("POST", "/v1/memories/"): self._add,
            ("GET", "/v1/memories/"): self._list,
            ("POST", "/v1/memories/search/"): self._search,
            ("GET", _ID): self._get,
            ("PUT", _ID): self._put,
            ("DELETE", _ID): self._remove,
            ("GET", r"/v1/job/([^/]+)/"): self._job,
        }

    def __call__(self, request: Request) -> Response:
        self.rows.tick += 1
        key = self._control.key if self._control else self._key
        if request.headers.get("authorization") != f"Token {key}":
            return Response(401, {"detail": "Invalid API key."})
        return routed(self._routes, request, unknown={"detail": "Not found."})

    def _add(self, request: Request) -> object:
        body = request.json or {}
        user, infer = _user(body), body.get("infer", True)
        if not infer and body.get("async_mode", True):
            raise Refused(400, {"error": "direct import cannot be asynchronous"})
        metadata = body.get("metadata") or {}
        if not infer:
            made = [self.rows.add(one["content"], user, metadata, None) for one in body["messages"]]
            return {"results": [_result(row) for row in made]}
        job = str(uuid.uuid4())
        self._jobs[job] = {"left": self._polls, "user": user, "body": body}
        return {"results": [{"message": "queued", "status": "PENDING", "event_id": job}]}

    def _job(self, request: Request, id: str) -> object:
        job = self._jobs.get(id)
        if job is None:
            raise Refused(404, {"error": "no such job"})
        if job["left"]:
            job["left"] -= 1
            return {"status": "processing"}
        if "done" not in job:
            texts = facts_of(job["body"]["messages"])
            metadata = job["body"].get("metadata") or {}
            job["done"] = [_result(self.rows.add(text, job["user"], metadata, None)) for text in texts]
        return {"status": "completed", "results": [] if self._silent else job["done"]}

    def _list(self, request: Request) -> object:
        rows = self.rows.of(_user(request.query))
        size, number = int(request.query.get("page_size", 100)), int(request.query.get("page", 1))
        shown = rows[size * (number - 1) : size * number]
        more = "next" if len(rows) > size * number else None
        return {"count": len(rows), "next": more, "results": [_shown(row) for row in shown]}

    def _search(self, request: Request) -> object:
        body = request.json or {}
        found = nearest(body["query"], self.rows.of(_user(body)), threshold=0.0, most=body.get("top_k", 10))
        return {"results": [{**_shown(row), "score": score} for row, score in found]}

    def _get(self, request: Request, id: str) -> object:
        return _shown(self._known(id))

    def _put(self, request: Request, id: str) -> object:
        body, row = request.json or {}, self._known(id)
        self.rows.change(row, body.get("text"), body.get("metadata"), merge=False)
        return _shown(row)

    def _remove(self, request: Request, id: str) -> object:
        self.rows.remove(self._known(id).id)
        return {"message": "Memory deleted successfully!"}

    def _known(self, id: str) -> Row:
        if id not in self.rows.all:
            raise Refused(404, {"error": "Memory not found!"})
        return self.rows.all[id]


def _user(given: Mapping[str, Any]) -> dict[str, str]:
    if not given.get("user_id"):
        raise Refused(400, {"error": "user_id is required"})
    return {"user_id": given["user_id"]}


def _result(row: Row) -> dict[str, Any]:
    return {"id": row.id, "memory": row.text, "event": "ADD"}


def _shown(row: Row) -> dict[str, Any]:
    times = {"created_at": row.created, "updated_at": row.updated}
    return {
        "id": row.id,
        "memory": row.text,
        "hash": md5(row.text),
        "metadata": row.metadata,
        **row.ids,
        **times,
    }


def _refusal(status: int, code: str) -> Response:
    return Response(status, {"ResponseMetadata": {"Error": {"Code": code, "Message": "refused"}}})
