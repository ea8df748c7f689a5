"""The gateway to a Mem0 service over HTTP: sends what a dialect words, and renews a key that was refused."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final, Protocol

from memhub_adapters.http import Answer, Http, HttpFailure
from memhub_adapters.mem0.dialect import Call, Dialect, unexpected
from memhub_adapters.mem0.gateway import Added, Event, Gateway, Message, Metadata
from memhub_adapters.mem0.rows import Row, row_of

__all__ = ["FixedKey", "Key", "RemoteGateway"]

_OK: Final = range(200, 300)
_UNAUTHORISED: Final = 401
_ABSENT: Final = 404
_TRIES: Final = 3
"""Listings of a scope that changes between its pages; then the call fails."""

_SECOND: Final = 2
"""The page that was not asked for where one was all."""

_FIRST_OF_SERVER: Final = 500
_IN_DOUBT: Final = (408, 502, 503, 504)
"""Answers that a proxy may give while the service is still at work; the service's own have a code."""


class Key(Protocol):
    """Where the key of a request comes from."""

    async def get(self) -> str | None:
        """The key to use now."""

    async def renew(self, refused: str | None) -> bool:
        """Whether there is a newer key than the one that was refused."""

    async def aclose(self) -> None:
        """Close what was opened."""


class FixedKey:
    """A key that was given; None where the service asks for none."""

    def __init__(self, key: str | None) -> None:
        self._key = key

    async def get(self) -> str | None:
        return self._key

    async def renew(self, refused: str | None) -> bool:
        return False

    async def aclose(self) -> None:
        return

    def __repr__(self) -> str:
        return "FixedKey(...)"


class RemoteGateway(Gateway):
    """Every method is one request, but for listings of several pages and a renewed key."""

    def __init__(self, http: Http, dialect: Dialect, key: Key) -> None:
        self._http = http
        self._dialect = dialect
        self._key = key

    async def add(self, user: str, text: str, metadata: Metadata) -> Added:
        message = {"role": "user", "content": text}
        call = self._dialect.add(user, [message], metadata, infer=False)
        return self._dialect.added(await self._json(call))

    async def extract(self, user: str, messages: Sequence[Message], metadata: Metadata) -> Added:
        call = self._dialect.add(user, messages, metadata, infer=True)
        return self._dialect.added(await self._json(call))

    async def get(self, id: str) -> Row | None:
        answer = await self._answer(self._dialect.get(id), absent=True)
        body = None if answer is None else answer.json()
        return None if body is None else row_of(body)

    async def rows(self, user: str) -> list[Row]:
        for _ in range(_TRIES):
            rows: dict[str, Row] = {}
            counts = set[int | None]()
            number, more = 1, True
            while more:
                page = self._dialect.page(await self._json(self._dialect.rows(user, number)))
                if page.cut:
                    raise HttpFailure("TooManyToList", "none")
                before = len(rows)
                rows |= {row.id: row for row in page.rows}
                counts.add(page.count)
                # A service that knows no pages gives the same one again.
                number, more = number + 1, page.more and len(rows) > before
            # A row deleted between two pages moves another one to a page that has been read.
            if number == _SECOND or counts <= {None, len(rows)}:
                return list(rows.values())
        raise HttpFailure("ListingChanged", "none")

    async def some(self, user: str) -> list[Row]:
        page = self._dialect.page(await self._json(self._dialect.rows(user, 1)))
        return page.rows if page.cut or not page.more else await self.rows(user)

    async def search(self, user: str, text: str, most: int) -> list[Row]:
        return self._dialect.found(await self._json(self._dialect.search(user, text, most)))

    async def put(self, id: str, text: str | None, metadata: Metadata) -> bool:
        return await self._done(self._dialect.put(id, text, metadata))

    async def remove(self, id: str) -> bool:
        return await self._done(self._dialect.remove(id))

    async def event(self, id: str) -> Event | None:
        answer = await self._answer(self._dialect.event(id), absent=True)
        return None if answer is None else self._dialect.event_of(answer.json())

    async def users(self) -> list[str]:
        users: list[str] = []
        number, more = 1, True
        while more:
            some, more = self._dialect.users_of(await self._json(self._dialect.users(number)))
            users += some
            number += 1
        return list(dict.fromkeys(users))

    async def ping(self) -> None:
        self._dialect.answered(await self._json(self._dialect.ping()))

    async def aclose(self) -> None:
        await self._key.aclose()
        await self._http.aclose()

    async def _done(self, call: Call) -> bool:
        """Whether there was a row to change. Any flavor answers an object; what does not is none of them."""
        answer = await self._answer(call, absent=True)
        if answer is not None and not isinstance(answer.json(), dict):
            raise unexpected()
        return answer is not None

    async def _json(self, call: Call) -> Any:  # noqa: ANN401 - any JSON value
        answer = await self._answer(call)
        if answer is None:
            raise unexpected()
        return answer.json()

    async def _answer(self, call: Call, *, absent: bool = False) -> Answer | None:
        """The answer to a request that succeeded; None for a 404 where that means an absent row."""
        key = await self._key.get()
        answer = await self._send(call, key)
        if answer.status == _UNAUTHORISED and await self._key.renew(key):
            answer = await self._send(call, await self._key.get())
        if absent and answer.status == _ABSENT:
            return None
        if answer.status not in _OK:
            raise _failure(answer)
        return answer

    async def _send(self, call: Call, key: str | None) -> Answer:
        headers = {**self._dialect.headers(key), "content-type": "application/json"}
        body = None if call.body is None else json.dumps(call.body, ensure_ascii=False).encode()
        return await self._http.send(
            call.method, call.path, headers=headers, params=call.params or None, body=body
        )


def _failure(answer: Answer) -> HttpFailure:
    """The failure of an answer, with whether the request may have been carried out."""
    failure = answer.failure("done" if answer.status >= _FIRST_OF_SERVER else "none")
    if answer.status in _IN_DOUBT and failure.code is None:
        failure.effect = "unknown"
    return failure
