"""Opening a schema: brought up to date, and its vectors known to be of the embedder that is given."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from memhub.embedding import Embedder
from memhub.errors import InvalidConfig
from memhub_adapters.postgres.meaning import Meaning, found, identity_of, made
from memhub_adapters.postgres.pool import Pools
from memhub_adapters.postgres.schema import locked, mark, prepare
from memhub_adapters.postgres.session import WRITE, Session, Terms, perform
from memhub_adapters.postgres.tenants import EVERY, Tenants, secure, settled

__all__ = ["opened"]

_NOTED: Final = (
    "SELECT (SELECT value FROM meta WHERE name = 'embedder'), EXISTS (SELECT FROM scope WHERE count > 0)"
)


async def opened(
    pools: Pools,
    schema: str,
    embedder: Embedder | None,
    tenants: Tenants | None,
    *,
    reembedding: bool,
) -> Meaning | str | None:
    """Where the vectors are; the reason why there are none though an embedder is given; None without one.

    Raises InvalidConfig where what is stored was made by others, unless `reembedding`.
    """

    async def settle(session: Session) -> Meaning | str | None:
        return await _meaning(session, schema, embedder, reembedding=reembedding)

    terms = Terms(begin=WRITE, mark=mark(None))
    await perform(pools, lambda session: prepare(session, schema), terms)
    await perform(pools, lambda session: _secured(session, schema, tenants), terms)
    return await perform(pools, settle, terms if tenants is None else replace(terms, tenants=EVERY))


async def _secured(session: Session, schema: str, tenants: Tenants | None) -> None:
    if not await settled(session, tenants):
        await locked(session, schema)
        await secure(session, tenants)


async def _meaning(
    session: Session, schema: str, embedder: Embedder | None, *, reembedding: bool
) -> Meaning | str | None:
    place = None if embedder is None else await found(session, embedder)
    wanted = place.identity if isinstance(place, Meaning) else None
    noted, filled = await _noted(session)
    if noted is None and isinstance(place, Meaning) and not filled:
        await locked(session, schema)
        # Nor does anybody store a first record without its vector meanwhile.
        await session.ask(("LOCK TABLE scope IN EXCLUSIVE MODE", ()))
        noted, filled = await _noted(session)
        if noted is None and not filled:
            await made(session, place)
            return place
    if noted is not None and isinstance(place, str):
        raise InvalidConfig(f"embedder: schema {schema!r} holds vectors of {noted}, but {place}")
    if noted != wanted and not reembedding:
        raise InvalidConfig(_mismatch(schema, noted, None if embedder is None else identity_of(embedder)))
    return place


async def _noted(session: Session) -> tuple[str | None, bool]:
    """Whose vectors the schema holds, and whether it holds any record."""
    [[(noted, filled)]] = await session.ask((_NOTED, ()))
    return noted, filled


def _mismatch(schema: str, noted: str | None, given: str | None) -> str:
    if noted is None:
        return (
            f"embedder: the records of schema {schema!r} have no vectors yet; run `memhub reembed STORE` once, "
            "or leave the embedder out"
        )
    return (
        f"embedder: schema {schema!r} holds vectors of {noted}, and the configuration has {given or 'none'}; "
        "configure the former, or run `memhub reembed STORE`"
    )
