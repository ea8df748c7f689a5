"""Remember, recall, correct, look back, forget."""

import asyncio

from memhub import Fact, Observation, Query, Scope
from memhub_config import open_hub

PLAYER = Scope("player:42")


async def main() -> None:
    async with open_hub({"stores": {"agent-memory": {"in_memory": {}}}}) as hub:
        memory = hub["agent-memory"]

        said = await memory.observe(
            Observation(PLAYER, facts=[Fact("Prefers jasmine tea"), Fact("Has a cat")])
        )
        tea = said.records[0]
        found = await memory.recall(Query(PLAYER, text="which tea do they like?"))
        print("recalled: ", [hit.record.content for hit in found.hits])

        correction = Fact("Prefers oolong tea", supersedes=tea.id)
        await memory.observe(Observation(PLAYER, facts=[correction]))
        found = await memory.recall(Query(PLAYER, text="tea"))
        print("corrected:", [hit.record.content for hit in found.hits])

        past = await memory.recall(Query(PLAYER, text="tea", as_of=tea.observed_at))
        print("back then:", [hit.record.content for hit in past.hits])

        print("forgotten:", await memory.purge(PLAYER), "records")


if __name__ == "__main__":
    asyncio.run(main())
