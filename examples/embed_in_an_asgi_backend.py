"""Memory inside a backend: a plain ASGI app, no framework.

The hub opens with the app and closes with it. Whose memory it is comes from the verified token,
never from the request's body. Run it with any ASGI server, such as
`uvicorn examples.embed_in_an_asgi_backend:app`.

    POST /remember   {"fact": "Prefers jasmine tea"}
    GET  /recall?q=tea
"""

import json
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from typing import Any
from urllib.parse import parse_qs

from memhub import Fact, HubError, InvalidInput, MemoryStore, Observation, Query, Scope
from memhub_config import open_hub

Message = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

STATUS = {"invalid_input": 400, "not_found": 404, "conflict": 409, "unsupported": 501, "rate_limited": 429}


class Backend:
    """`tokens` says which user a bearer token belongs to; a real backend verifies a signature."""

    def __init__(self, config: Mapping[str, object], *, tokens: Mapping[str, str]) -> None:
        self._config = config
        self._tokens = tokens
        self._memory: MemoryStore

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            status, answer = await self._answer(scope, receive)
            headers = [(b"content-type", b"application/json")]
            await send({"type": "http.response.start", "status": status, "headers": headers})
            await send({"type": "http.response.body", "body": json.dumps(answer).encode()})

    async def _live(self, receive: Receive, send: Send) -> None:
        async with AsyncExitStack() as stack:
            await receive()
            hub = await stack.enter_async_context(open_hub(self._config))
            self._memory = hub["agent-memory"]
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await send({"type": "lifespan.shutdown.complete"})

    async def _answer(self, scope: Message, receive: Receive) -> tuple[int, object]:
        bearer = dict(scope["headers"]).get(b"authorization", b"").decode("latin-1").removeprefix("Bearer ")
        user = self._tokens.get(bearer)
        if user is None:
            return 401, {"error": "unauthorized"}
        try:
            match scope["method"], scope["path"]:
                case "POST", "/remember":
                    return 201, await self._remember(Scope(user=user), await body(receive))
                case "GET", "/recall":
                    return 200, await self._recall(
                        Scope(user=user), parse_qs(scope["query_string"].decode("latin-1"))
                    )
        except HubError as error:
            return STATUS.get(error.code, 503), {"error": error.code, "message": error.message}
        return 404, {"error": "no such page"}

    async def _remember(self, whose: Scope, given: Mapping[str, Any]) -> object:
        said = await self._memory.observe(Observation(whose, facts=[Fact(given.get("fact", ""))]))
        return {"id": said.records[0].id}

    async def _recall(self, whose: Scope, asked: Mapping[str, list[str]]) -> object:
        found = await self._memory.recall(Query(whose, text=asked.get("q", [""])[0], limit=5))
        return [{"id": hit.record.id, "content": hit.record.content} for hit in found.hits]


async def body(receive: Receive) -> Mapping[str, Any]:
    """The JSON object of a request."""
    data, more = b"", True
    while more:
        message = await receive()
        data, more = data + message.get("body", b""), message.get("more_body", False)
    try:
        given = json.loads(data)
    except ValueError:
        given = None
    if not isinstance(given, dict):
        raise InvalidInput("body: must be a JSON object")
    return given


app = Backend(
    {"stores": {"agent-memory": {"sqlite": {"path": "memory.db"}}}},
    tokens={"demo-token-ines": "ines", "demo-token-rui": "rui"},
)
