"""What connections are made with: a connection string of libpq, and what the adapter relies on."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import psycopg
from psycopg.conninfo import conninfo_to_dict

from memhub.errors import InvalidConfig

__all__ = ["parameters_of", "parsed", "where"]

_SCHEMA: Final = re.compile(r"(?!pg_)[a-z_][a-z0-9_]{0,62}")
_PORTS: Final = re.compile(r"[0-9, ]*")
_SLASHED: Final = re.compile(r"postgres(?:ql)?://(?:[^@/]*@)?[^/?]*/[^?]*@")
"""A password with a slash: libpq ends the host there, and takes the rest for the database's name."""


def parsed(dsn: str) -> dict[str, Any]:
    """What a connection string says. Raises InvalidConfig, which shows nothing of it, where it is none."""
    try:
        found = conninfo_to_dict(dsn)
    except psycopg.ProgrammingError:
        found = None
    # Raised out here: libpq's own text quotes the dsn, which may hold a password.
    if found is None:
        raise InvalidConfig(
            "dsn: is no connection string of libpq; write postgresql://user:password@host:5432/database, "
            "with %40 for an @ in the password, or use the fields"
        )
    if _SLASHED.match(dsn) or _astray(str(found.get("host", "")), str(found.get("port", ""))):
        raise InvalidConfig(
            "dsn: its password seems to hold an @ or a /, which end it, or its port is no number; write "
            "%40 and %2F for them, or use the fields"
        )
    return found


def _astray(host: str, port: str) -> bool:
    """Whether they hold what belongs to a password; a host may begin with an @, for an abstract socket."""
    return "@" in host[1:] or not _PORTS.fullmatch(port)


def parameters_of(
    dsn: str, *, schema: str, connect_timeout: float, statement_timeout: float
) -> dict[str, Any]:
    """What a connection is made with: the caller's own options first, then what the adapter relies on.

    Raises InvalidConfig for what is no connection string, and for the name of a schema that SQL would
    have to quote.
    """
    given = parsed(dsn)
    if not _SCHEMA.fullmatch(schema):
        raise InvalidConfig(
            "schema: must be lower-case letters, digits and underscores, at most 63, beginning with "
            "neither a digit nor pg_"
        )
    # To the server 0 is no limit at all.
    limit = str(max(1, round(statement_timeout * 1000)))
    settings = {
        "search_path": schema,
        "timezone": "UTC",
        "plan_cache_mode": "force_generic_plan",
        "enable_seqscan": "off",
        "jit": "off",
        "statement_timeout": limit,
        "idle_in_transaction_session_timeout": limit,
    }
    options = " ".join(f"-c {name}={value}" for name, value in settings.items())
    return {
        "application_name": "memhub",
        **given,
        "client_encoding": "utf8",
        "connect_timeout": max(2, round(connect_timeout)),
        "options": f"{given.get('options') or ''} {options}".strip(),
    }


def where(parameters: Mapping[str, Any]) -> str:
    """The server and its database, for messages: nothing here is secret."""
    host = parameters.get("host") or parameters.get("hostaddr") or "localhost"
    return f"{host}:{parameters.get('port') or 5432}/{parameters.get('dbname') or ''}"
