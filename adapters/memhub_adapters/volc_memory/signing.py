"""Volcengine's request signature, version 4: pure, so that golden vectors can hold it to the letter.

Like that of AWS, with another algorithm word, without "AWS4" before the secret, and `request` as the
last word of the scope. `Accept` and other headers are sent and not signed.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final
from urllib.parse import quote

__all__ = ["Credentials", "signed"]

_ALGORITHM: Final = "HMAC-SHA256"
_CONTENT_TYPE: Final = "application/json"


@dataclass(frozen=True, slots=True)
class Credentials:
    """An access key; `session_token` comes with temporary ones. Only the id is ever shown."""

    access_key_id: str
    access_key_secret: str = field(repr=False)
    session_token: str | None = field(default=None, repr=False)


def signed(
    credentials: Credentials,
    *,
    host: str,
    query: Mapping[str, str],
    body: bytes,
    region: str,
    service: str,
    now: datetime,
) -> dict[str, str]:
    """The headers of a signed POST to `/`; `now` is the present, which the service compares with its own."""
    date = now.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")
    headers = {
        "content-type": _CONTENT_TYPE,
        "host": host,
        "x-content-sha256": hashlib.sha256(body).hexdigest(),
        "x-date": date,
    }
    if credentials.session_token is not None:
        headers["x-security-token"] = credentials.session_token
    names = ";".join(sorted(headers))
    scope = f"{date[:8]}/{region}/{service}/request"
    text = "\n".join((_ALGORITHM, date, scope, _hash(_canonical(query, headers, names))))
    signature = _mac(_key(credentials.access_key_secret, scope), text).hex()
    headers["authorization"] = (
        f"{_ALGORITHM} Credential={credentials.access_key_id}/{scope}, SignedHeaders={names}, Signature={signature}"
    )
    return headers


def _canonical(query: Mapping[str, str], headers: Mapping[str, str], names: str) -> str:
    pairs = sorted((quote(name, safe="-_.~"), quote(value, safe="-_.~")) for name, value in query.items())
    lines = [f"{name}:{headers[name].strip()}\n" for name in sorted(headers)]
    return "\n".join(
        (
            "POST",
            "/",
            "&".join(f"{name}={value}" for name, value in pairs),
            "".join(lines),
            names,
            headers["x-content-sha256"],
        )
    )


def _key(secret: str, scope: str) -> bytes:
    key = secret.encode()
    for part in scope.split("/"):
        key = _mac(key, part)
    return key


def _mac(key: bytes, text: str) -> bytes:
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
