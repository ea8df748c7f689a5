"""From an access key to the key of a memory project: two signed calls, kept until the key is refused."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from memhub.calls import Clock
from memhub_adapters.failure import Failure
from memhub_adapters.http import Http
from memhub_adapters.mem0.locks import Locks
from memhub_adapters.volc_memory.signing import Credentials, signed

__all__ = ["ResolvedKey"]

_SERVICE: Final = "mem0"
_VERSION: Final = "2025-10-10"
_OK: Final = 200
_ABSENT: Final = 404
_BAD: Final = (400, _ABSENT, 405, 422)
"""Refusals that are about what was asked for, not about who asks or how often."""


class ResolvedKey:
    """The key of a project, asked for on first use. Its text is in no repr and no error.

    `control` sends to the control plane of `region`. `api_key_id` chooses one of the project's keys;
    without it the first that is ready is taken. `clock` dates the signatures, so it must be right.
    """

    def __init__(
        self,
        control: Http,
        credentials: Credentials,
        *,
        project_id: str,
        region: str,
        clock: Clock,
        api_key_id: str | None = None,
    ) -> None:
        self._control = control
        self._credentials = credentials
        self._project = project_id
        self._region = region
        self._clock = clock
        self._api_key_id = api_key_id
        self._locks = Locks()
        self._key: str | None = None

    async def get(self) -> str:
        """The key; resolved once, however many ask."""
        return self._key or await self._resolved(None)

    async def renew(self, refused: str | None) -> bool:
        """Resolve anew, unless somebody has since; whether the key is another one now."""
        return await self._resolved(refused) != refused

    async def aclose(self) -> None:
        """Close the connection to the control plane."""
        await self._control.aclose()

    def __repr__(self) -> str:
        return f"<ResolvedKey of {self._project!r}>"

    async def _resolved(self, refused: str | None) -> str:
        async with self._locks.holding("key"):
            if self._key is None or self._key == refused:
                try:
                    self._key = await self._asked()
                except Failure as failure:
                    # Asking for a key changes nothing, and what it was wanted for has not been sent.
                    failure.effect = "none"
                    raise
            return self._key

    async def _asked(self) -> str:
        id = self._api_key_id or _ready(await self._call("DescribeMemoryProjectDetail"))
        value = (await self._call("DescribeAPIKeyDetail", APIKeyId=id)).get("APIKeyValue")
        if not isinstance(value, str) or not value:
            raise Failure("NoKeyValue", "none")
        return value

    async def _call(self, action: str, **more: str) -> Mapping[str, Any]:
        """The `Result` of a control-plane action."""
        query = {"Action": action, "Version": _VERSION}
        body = json.dumps({"MemoryProjectId": self._project, **more}).encode()
        headers = signed(
            self._credentials,
            host=urlsplit(self._control.endpoint).netloc,
            query=query,
            body=body,
            region=self._region,
            service=_SERVICE,
            now=self._clock(),
        )
        answer = await self._control.send("POST", "/", headers=headers, params=query, body=body)
        if answer.status in _BAD:
            raise Failure("ProjectNotFound" if answer.status == _ABSENT else "ControlPlaneRefused", "none")
        if answer.status != _OK:
            raise answer.failure("none")
        return _result(answer.json())


def _result(body: Any) -> Mapping[str, Any]:  # noqa: ANN401 - any JSON value
    """`Result`; an error may come with status 200 too."""
    told = body.get("ResponseMetadata") if isinstance(body, dict) else None
    if isinstance(told, dict) and told.get("Error"):
        code = (
            str(told["Error"].get("Code", "")).lower().replace("_", "")
            if isinstance(told["Error"], dict)
            else ""
        )
        raise Failure("ProjectNotFound" if "notfound" in code else "ControlPlaneRefused", "none")
    result = body.get("Result") if isinstance(body, dict) else None
    if not isinstance(result, dict):
        raise Failure("UnexpectedControlBody", "none")
    return result


def _ready(result: Mapping[str, Any]) -> str:
    """The id of the first key that is ready; some answer one key, some a list."""
    given = result.get("APIKeyInfos")
    keys = given if isinstance(given, list) else [given]
    for key in keys:
        if isinstance(key, dict) and str(key.get("Status", "")).lower() == "ready":
            if isinstance(id := key.get("APIKeyId"), str) and id:
                return id
            raise Failure("UnexpectedControlBody", "none")
    raise Failure("NoReadyKey", "none")
