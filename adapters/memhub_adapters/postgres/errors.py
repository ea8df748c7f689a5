"""PostgreSQL's errors as the contract's: one table, by SQLSTATE (appendix A of its manual).

No text of the server or of its library goes further: it may quote what is stored, or what was given.
"""

from __future__ import annotations

from typing import Any, Final

import psycopg

from memhub.errors import AccessDenied, HubError, InvalidConfig, NativeError, TimedOut, Unavailable

__all__ = ["Dropped", "Raced", "Unfinished", "lost", "refused", "repeats", "translate"]

_SERIALISATION: Final = ("40001", "40P01")
_UNIQUE: Final = "23505"
_ENDED: Final = ("57P01", "57P02", "57P03", "57P05", "25P03")
_TEXTS: Final = {
    "25006": "the server is a read-only standby; name the primary, or add target_session_attrs=read-write",
    "53100": "the server's disk is full, so nothing was written; free some space and repeat",
    "53200": "the server is out of memory, so nothing was written",
    "54000": "the server's limit is exceeded, so nothing was written",
    "55P03": "another transaction holds the lock, so nothing was written; repeat",
    "40001": "other transactions kept being first, so nothing was written; repeat",
    "40P01": "other transactions kept holding the locks, so nothing was written; repeat",
    "3F000": "the schema is missing; it was removed while in use, or the role may not see it",
    "42704": "the schema is not as it was when this store was opened: pgvector is gone, or tenants are kept "
    "apart by rls; configure it alike in all processes, and open it anew",
    "42P01": "tables are missing; they were removed while in use, or never made",
}
_TRANSIENT: Final = ("55P03", "40001", "40P01", "53200", "53300")
_DAMAGED: Final = ("XX000", "XX001", "XX002", "58030", "58P01")
_REASONS: Final = {
    "starting up": (Unavailable, "it is starting up"),
    "shutting down": (Unavailable, "it is shutting down"),
    "recovery mode": (Unavailable, "it is recovering from a crash"),
    "not accepting connections": (Unavailable, "it accepts no connections now"),
    "server closed the connection": (Unavailable, "it closed the connection; it may be restarting"),
    "SSL SYSCALL error": (Unavailable, "it closed the connection; it may be restarting"),
    "password authentication failed": (AccessDenied, "the server refuses the user or the password"),
    "no password supplied": (AccessDenied, "the server asks for a password, and none was given"),
    "no pg_hba.conf entry": (AccessDenied, "the server admits no such connection; see its pg_hba.conf"),
    "not permitted to log in": (AccessDenied, "the role may not log in"),
    "permission denied for database": (AccessDenied, "the role may not connect to the database"),
    'role "': (AccessDenied, "the server knows no such role"),
    'database "': (InvalidConfig, "the server has no such database; make it, or name another"),
    "certificate": (InvalidConfig, "its certificate is not trusted; check the TLS settings"),
    "SSL": (InvalidConfig, "the two sides do not agree on TLS; check the TLS settings"),
    "could not translate host name": (Unavailable, "its host name is unknown"),
    "failed to resolve host": (Unavailable, "its host name is unknown"),
    "Connection refused": (Unavailable, "nothing listens there"),
    "No such file": (Unavailable, "nothing listens there"),
    "timeout expired": (Unavailable, "it does not answer"),
    "too many clients": (Unavailable, "it has no connection left; lower pool_size or raise max_connections"),
    "remaining connection slots": (
        Unavailable,
        "it has no connection left; lower pool_size or raise max_connections",
    ),
}
"""What libpq says of a connection that fails, which has no SQLSTATE, in its order of checking."""


class Raced(Exception):
    """Another transaction was first; begun anew, this one will see what it did."""


class Dropped(Exception):
    """The connection was lost before the commit, so nothing was applied."""


class Unfinished(Exception):
    """The connection was lost during the commit, so nobody knows whether it was applied."""


def lost(error: psycopg.Error, connection: psycopg.AsyncConnection[Any]) -> bool:
    """Whether the connection went, rather than the server refusing the statement.

    libpq's own errors have no SQLSTATE: the end of a stream that was read half-way is one of them.
    """
    state = error.sqlstate
    if state is None:
        return connection.closed or isinstance(error, psycopg.OperationalError)
    return connection.closed or state in _ENDED or state[:2] == "08"


def repeats(error: BaseException) -> bool:
    """Whether the whole transaction may simply be run again."""
    if isinstance(error, psycopg.Error):
        return error.sqlstate in (*_SERIALISATION, _UNIQUE)
    return isinstance(error, Raced | Dropped)


def refused(error: psycopg.Error, where: str) -> HubError:
    """The contract's error for a connection that could not be made."""
    said = str(error)
    found = next((known for part, known in _REASONS.items() if part in said), None)
    kind, why = found or (Unavailable, "it cannot be reached")
    transient = kind is Unavailable
    return kind(f"{where}: {why}", retryable=transient, unapplied=transient)


def translate(error: Exception, where: str) -> HubError | None:
    """The contract's error for one of psycopg's or of a transaction; `where` names the server."""
    if isinstance(error, Unfinished):
        return Unavailable(
            f"{where}: the connection was lost during the commit, so the write may be applied or not; "
            "read it again, or repeat it with an idempotency key",
            retryable=True,
        )
    if isinstance(error, Raced | Dropped):
        why = "the connection was lost" if isinstance(error, Dropped) else _TEXTS["40001"]
        return Unavailable(f"{where}: {why}", retryable=True, unapplied=True)
    if not isinstance(error, psycopg.Error):
        return None
    found = _known(error.sqlstate or "", where)
    if found is not None:
        found.__cause__ = _scrubbed(error)
    return found


def _known(state: str, where: str) -> HubError | None:
    if state == "57014":
        return TimedOut(f"{where}: the server's statement_timeout ended it", retryable=True, unapplied=True)
    if state == "42501":
        return AccessDenied(f"{where}: the role lacks a privilege; let the schema's owner grant it")
    if state in _DAMAGED:
        return Unavailable(f"{where}: the server reports a defect of its own; see its log ({state})")
    if state in _TEXTS or state[:2] in ("53", "57", "08"):
        text = _TEXTS.get(state, "the server cannot answer")
        return Unavailable(f"{where}: {text} ({state})", retryable=state in _TRANSIENT, unapplied=True)
    return None


def _scrubbed(error: psycopg.Error) -> NativeError:
    return NativeError(type(error).__name__, sqlstate=error.sqlstate).with_traceback(error.__traceback__)
