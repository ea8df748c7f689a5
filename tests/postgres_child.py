"""Another process on the same schema, started by the tests as a program; it goes on through restarts."""

from child_talk import SCOPE, run, tell, wait, write_keyed
from memhub import (
    MemoryStore,
    NotFound,
    Observation,
    Provenance,
    Query,
    Retry,
    Turn,
    Unavailable,
)
from memhub_adapters.postgres import PostgresAdapter

PATIENT = Retry(attempts=100_000, min_delay=0.02, max_delay=0.2)
"""However long a server takes to start again."""


async def write(dsn: str, schema: str, who: str, count: str) -> None:
    """`count` turns, each found again as soon as it is acknowledged; every fifth is deleted."""
    async with MemoryStore(PostgresAdapter(dsn, schema=schema), retry=PATIENT, timeout=None) as store:
        wait(ready=who)
        for number in range(int(count)):
            said = Turn("user", f"{who} said number{number}", speaker=who)
            stored = (await store.observe(_keyed(who, number, said))).records[0]
            found = await store.recall(Query(SCOPE, text=f"{who} number{number}", limit=1))
            assert [hit.record for hit in found.hits] == [stored]
            if number % 5 == 0:
                await _forgotten(store, stored.id)
            tell(done=number)


def _keyed(who: str, number: int, said: Turn) -> Observation:
    source = Provenance(conversation_id=who)
    return Observation(SCOPE, turns=[said], provenance=source, idempotency_key=f"{who} {number}")


async def _forgotten(store: MemoryStore, id: str) -> None:
    """Delete a record; where the answer was lost, it may be gone already."""
    while True:
        try:
            return await store.delete(id)
        except NotFound:
            return None
        except Unavailable:
            continue


async def keyed(dsn: str, schema: str, key: str) -> None:
    await write_keyed(MemoryStore(PostgresAdapter(dsn, schema=schema)), key)


if __name__ == "__main__":
    run(globals())
