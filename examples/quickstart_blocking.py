"""The same calls without await, for code that has no event loop: a script, a worker, a thread pool."""

from memhub import Fact, Observation, Query, Scope
from memhub_config import open_blocking_hub

PLAYER = Scope("player:42")


def main() -> None:
    with open_blocking_hub({"stores": {"agent-memory": {"in_memory": {}}}}) as hub:
        memory = hub["agent-memory"]
        memory.observe(Observation(PLAYER, facts=[Fact("Prefers jasmine tea"), Fact("Has a cat")]))
        for hit in memory.recall(Query(PLAYER, text="which tea do they like?")).hits:
            print("recalled:", hit.record.content)
        print("forgotten:", memory.purge(PLAYER), "records")


if __name__ == "__main__":
    main()
