"""Row-level security: the server itself keeps the scopes of different tenants apart.

A scope's tenant is one of its labels, whose key is configured; a name is a tenant of its own. Each
transaction says for which tenants it is, and the policies show it nothing else, whatever it asks.
A call that names a record by its id alone learns the tenant first, and is bound to it from then on.
What concerns the whole store (`scan`, `restore`, `stats` of everything, upkeep) is for every tenant.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from memhub.errors import InvalidConfig, Unsupported
from memhub.scope import Scope
from memhub_adapters.postgres.scopes import TENANT
from memhub_adapters.postgres.session import Session, Statement

__all__ = ["EVERY", "Tenants", "narrowed", "protected", "secure", "settled", "unprotected"]

EVERY: Final = ("*",)
"""No scope's tenant, and all of them: a tenant's own text begins with a quote or a bracket."""

# Not bound to anybody at all is an error: a process that knows nothing of tenants yet must not find nothing.
_SETTING: Final = "string_to_array(nullif(current_setting('memhub.tenants'), ''), chr(31))"
_OWN: Final = f"tenant = ANY({_SETTING}) OR '*' = ANY({_SETTING})"
_OF_SCOPE: Final = "EXISTS (SELECT FROM scope s WHERE s.id = scope)"
_HELD: Final = """
SELECT relname FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p')
AND relname NOT IN ('meta', 'scope')
"""
_STATE: Final = """
SELECT (SELECT value FROM meta WHERE name = 'rls'), rolsuper OR rolbypassrls FROM pg_roles
WHERE rolname = current_user
"""


@dataclass(frozen=True, slots=True)
class Tenants:
    """Which label of a scope says whose it is."""

    label: str

    def of(self, scope: Scope, operation: str) -> str:
        """The tenant of a scope. Raises Unsupported for pairs that name none."""
        if scope.name is not None:
            return scope.canonical
        found = dict(scope.pairs).get(self.label)
        if found is None:
            raise Unsupported(
                f"postgres cannot do {operation}(scope): with rls every scope of pairs names its tenant, "
                f"the label {self.label!r}",
                provider="postgres",
                operation=operation,
            )
        return json.dumps([self.label, found], ensure_ascii=False, separators=(",", ":"))

    def every(self, scopes: Iterable[Scope], operation: str) -> tuple[str, ...]:
        """The tenants of several scopes."""
        return tuple(dict.fromkeys(self.of(scope, operation) for scope in scopes))


def narrowed(ids: Sequence[str]) -> Statement:
    """Binds a transaction to the tenants of these records."""
    sql = (
        "SELECT set_config('memhub.tenants', coalesce((SELECT string_agg(DISTINCT s.tenant, chr(31)) "
        "FROM record r JOIN scope s ON s.id = r.scope WHERE r.id = ANY(%s::text[])), ''), true)"
    )
    return sql, (list(ids),)


def protected(table: str) -> list[Statement]:
    """Puts a table whose rows belong to scopes under the policy."""
    return _policies(table, _OF_SCOPE)


async def settled(session: Session, tenants: Tenants | None) -> bool:
    """Whether the policies are those that are configured; False where there are none yet.

    Raises InvalidConfig where the schema has others, and for a role that no policy binds.
    """
    [[(noted, unbound)]] = await session.ask((_STATE, ()))
    if tenants is not None and unbound:
        raise InvalidConfig(
            "rls: the role is a superuser or has BYPASSRLS, so no policy binds it; connect as another role"
        )
    if noted not in (None, tenants and tenants.label):
        raise InvalidConfig(
            f"rls: the schema keeps tenants apart by the label {noted!r}; configure rls: {noted}"
        )
    return noted is not None or tenants is None


async def secure(session: Session, tenants: Tenants | None) -> None:
    """Make the policies where there are none. Raises InvalidConfig where a stored scope has no tenant.

    Runs while nobody else opens the schema.
    """
    if tenants is None or await settled(session, tenants):
        return
    *_, [(missing,)], held = await session.ask(
        ("LOCK TABLE scope IN EXCLUSIVE MODE", ()),
        ("INSERT INTO meta VALUES('rls', %s)", (tenants.label,)),
        (f"UPDATE scope SET tenant = {TENANT}", ()),
        ("SELECT count(*) FROM scope WHERE tenant IS NULL", ()),
        (_HELD, ()),
    )
    if missing:
        raise InvalidConfig(
            f"rls: {missing} stored scopes have no label {tenants.label!r}; name another, or move them first"
        )
    policies = [statement for (table,) in held for statement in protected(table)]
    await session.ask(*_policies("scope", _OWN), *policies, commit=True)


async def unprotected(session: Session) -> list[str]:
    """Tables that a bound transaction could look into unhindered; none where no tenants are kept apart."""
    if session.terms.tenants is None:
        return []
    sql = (
        "SELECT relname FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p') "
        "AND relname <> 'meta' AND NOT (relrowsecurity AND relforcerowsecurity) ORDER BY relname"
    )
    [rows] = await session.ask((sql, ()))
    return [f"table {name} is not under row-level security" for (name,) in rows]


def _policies(table: str, condition: str) -> list[Statement]:
    return [
        (f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY", ()),
        # The owner too, which is who Memhub most often connects as.
        (f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY", ()),
        (f"CREATE POLICY tenant ON {table} USING ({condition})", ()),
    ]
