"""One script, two stores of one YAML file, equal answers: where memories live is a line of YAML.

`--json` prints one object a store, with its provider and its answers.
"""

import json
import sys
from pathlib import Path

from memhub import Fact, Observation, Provenance, Query, Scope, Turn
from memhub.blocking import BlockingMemoryStore
from memhub_config import open_blocking_hub

CONFIG = Path(__file__).with_name("memhub.yaml")
TEAM = Scope(tenant="acme", user="u_42")
CHAT = [
    Turn("user", "My sister moved to Porto in May.", speaker="Ines"),
    Turn("assistant", "What work does she do there?"),
    Turn("user", "She restores old tiles.", speaker="Ines"),
]
FACTS = [Fact("Prefers jasmine tea", attributes={"confirmed": 2}), Fact("Allergic to prawns", kind="profile")]
QUESTIONS = {
    "where the sister lives": Query(TEAM, text="where does my sister live?", limit=1),
    "what her work is": Query(TEAM, text="what is her work?", limit=2),
    "confirmed twice": Query(TEAM, where={"confirmed": {"gte": 2}}),
    "for the whole tenant": Query(Scope(tenant="acme"), text="prawns"),
}


def answers(memory: BlockingMemoryStore) -> dict[str, list[str]]:
    memory.purge(TEAM)
    memory.observe(Observation(TEAM, turns=CHAT, provenance=Provenance(conversation_id="monday")))
    memory.observe(Observation(TEAM, facts=FACTS))
    return {
        asked: [hit.record.content for hit in memory.recall(query).hits] for asked, query in QUESTIONS.items()
    }


def main() -> None:
    with open_blocking_hub(CONFIG) as hub:
        for name, memory in hub.items():
            provider, found = memory.capabilities.provider, answers(memory)
            if "--json" in sys.argv:
                print(json.dumps({"store": name, "provider": provider, "answers": found}))
            else:
                print(
                    f"{name} ({provider})",
                    *(f"  {asked}: {' | '.join(found[asked])}" for asked in found),
                    sep="\n",
                )


if __name__ == "__main__":
    main()
