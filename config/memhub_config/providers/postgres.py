"""`postgres`: one schema on a PostgreSQL server, shared by many processes on many machines."""

from __future__ import annotations

import re
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field, SecretStr, WithJsonSchema, model_validator

from memhub import Adapter
from memhub_config.models import Duration, Section
from memhub_config.provider import Parts, Provider, once_open

__all__ = ["PROVIDER", "PostgresSettings"]

_NAME: Final = re.compile(r"(?!pg_)[a-z_][a-z0-9_]{0,62}")


def _schema_name(given: str) -> str:
    if not _NAME.fullmatch(given):
        raise ValueError(
            "must be lower-case letters, digits and underscores, at most 63, beginning with neither a digit nor pg_"
        )
    return given


SchemaName = Annotated[
    str, AfterValidator(_schema_name), WithJsonSchema({"type": "string", "pattern": f"^{_NAME.pattern}$"})
]


class PostgresSettings(Section):
    """Where the server is, as a `dsn` or in fields, and which schema is ours.

    What neither says, libpq takes from its own sources, such as `~/.pgpass`.
    """

    dsn: SecretStr | None = Field(
        default=None,
        description="A connection string of libpq: postgresql://user:password@host:5432/database?sslmode=require.",
    )
    host: str | None = Field(default=None, description="Its host, or several with commas for a failover.")
    port: int | None = Field(default=None, ge=1, le=65535, description="Its port; 5432 where none is given.")
    database: str | None = None
    user: str | None = None
    password: SecretStr | None = None
    sslmode: Literal["disable", "allow", "prefer", "require", "verify-ca", "verify-full"] | None = Field(
        default=None, description="As in libpq; verify-full checks the server's certificate and its name."
    )
    sslrootcert: str | None = Field(default=None, description="File of trusted certificates, or `system`.")
    sslcert: str | None = Field(default=None, description="File of the client's own certificate.")
    sslkey: str | None = Field(default=None, description="File of its key.")
    schema_name: SchemaName = Field(
        default="memhub", alias="schema", description="Ours alone; made where it is missing."
    )
    embedder: str | None = Field(
        default=None,
        description="One of the section `embedders`, for search by meaning with pgvector 0.8 or newer. "
        "Without it the store searches by words only.",
    )
    rls: str | None = Field(
        default=None,
        min_length=1,
        description="Key of the label that names a scope's tenant, such as tenant: the server then keeps "
        "tenants apart by row-level security, and every scope of pairs must have the label.",
    )
    pool_size: int = Field(
        default=10, ge=1, le=1000, description="Most connections, for each event loop of the process."
    )
    pool_timeout: Duration = Field(default=10.0, description="How long a call waits for one of them.")
    connect_timeout: Duration = Field(default=5.0, description="How long a new connection may take.")
    statement_timeout: Duration | None = Field(
        default=None,
        description="After this the server ends a statement by itself, should the caller have gone; "
        "the store's timeout where none is given.",
    )

    @model_validator(mode="after")
    def _once(self) -> PostgresSettings:
        both = sorted(self._fields()) if self.dsn is not None else []
        if both:
            raise ValueError(f"dsn and {', '.join(both)} say the same; give the one or the others")
        return self

    def _fields(self) -> dict[str, str | int]:
        """What the fields say, by libpq's names."""
        given = {
            "host": self.host,
            "port": self.port,
            "dbname": self.database,
            "user": self.user,
            "password": None if self.password is None else self.password.get_secret_value(),
        }
        return {name: value for name, value in given.items() if value is not None}

    def conninfo(self) -> str:
        """One connection string of all of it. Raises InvalidConfig where libpq cannot read the dsn."""
        from psycopg.conninfo import make_conninfo

        from memhub_adapters.postgres.parameters import parsed

        tls = {name: getattr(self, name) for name in ("sslmode", "sslrootcert", "sslcert", "sslkey")}
        given = {name: value for name, value in {**self._fields(), **tls}.items() if value is not None}
        said = {} if self.dsn is None else parsed(self.dsn.get_secret_value())
        return make_conninfo(**said | given)


async def build(settings: PostgresSettings, parts: Parts) -> Adapter:
    """An adapter that has connected once, its schema made and up to date."""
    from memhub_adapters.postgres import PostgresAdapter

    embedder = None if settings.embedder is None else await parts.embedder(settings.embedder)
    adapter = PostgresAdapter(
        settings.conninfo(),
        schema=settings.schema_name,
        embedder=embedder,
        rls=settings.rls,
        pool_size=settings.pool_size,
        pool_timeout=settings.pool_timeout,
        connect_timeout=settings.connect_timeout,
        statement_timeout=settings.statement_timeout or parts.timeout,
    )
    return await once_open(adapter, adapter.open(reembedding=parts.reembedding))


PROVIDER = Provider("postgres", PostgresSettings, build, extra="postgres")
