"""One script, the stores of one YAML file, equal answers: where memories live is a line of YAML.

Servers are stood in for on this machine. A store whose extra is not installed is left out. `--json`
prints one object a store, with its provider and its answers. Ends with 1 if the answers differ.
"""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import yaml
from rich.console import Console
from rich.table import Table

from memhub import Fact, Observation, Patch, Query, Scope
from memhub.blocking import BlockingMemoryStore
from memhub_adapters.standins import Server
from memhub_adapters.standins.mem0_self_hosted import SelfHostedMem0
from memhub_config import open_blocking_hub

CONFIG = Path(__file__).with_name("memhub.yaml")
NEEDS = {"vectors": "qdrant_edge", "vector-server": "qdrant_client", "mem0-here": "mem0"}
PLAYER = Scope("player:42")
FACTS = {
    "Prefers jasmine tea": {"confirmed": 2},
    "Allergic to prawns": {"confirmed": 3},
    "Works on Fridays": {"confirmed": 1},
    "Has a sister in Porto": {"confirmed": 1},
}
QUESTIONS = {
    "which tea": Query(PLAYER, text="which tea?", limit=1),
    "where the sister lives": Query(PLAYER, text="where does the sister live?", limit=1),
    "confirmed twice": Query(PLAYER, where={"confirmed": {"gte": 2}}),
    "everything": Query(PLAYER),
}


def answers(memory: BlockingMemoryStore) -> dict[str, list[str]]:
    memory.purge(PLAYER)
    ids = {}
    for text, attributes in FACTS.items():
        said = memory.observe(Observation(PLAYER, facts=[Fact(text, attributes=attributes)]))
        ids[text] = said.records[0].id
    memory.update(ids["Prefers jasmine tea"], Patch(content="Prefers oolong tea"))
    memory.delete(ids["Works on Fridays"])
    return {
        asked: [hit.record.content for hit in memory.recall(query).hits] for asked, query in QUESTIONS.items()
    }


@contextmanager
def servers() -> Iterator[dict[str, str]]:
    """The variables of the YAML that say where servers are."""
    with ExitStack() as running:
        places = {"MEM0_URL": running.enter_context(Server(SelfHostedMem0())).url}
        if find_spec("qdrant_client"):
            from memhub_adapters.standins.qdrant import qdrant_server

            places["QDRANT_URL"] = running.enter_context(qdrant_server()).url
        yield places


def asked_of_all() -> list[dict[str, Any]]:
    """Of every store whose extra is installed: its name, provider and answers."""
    config = yaml.safe_load(CONFIG.read_text("utf-8"))
    for name, package in NEEDS.items():
        if not find_spec(package):
            del config["stores"][name]
    with servers() as places, open_blocking_hub(config, environ=os.environ | places) as hub:
        return [
            {"store": name, "provider": memory.capabilities.provider, "answers": answers(memory)}
            for name, memory in hub.items()
        ]


def table(rows: list[dict[str, Any]]) -> Table:
    """Each question with its answers, and the stores that gave them: one row where all agree."""
    shown = Table("asked", "answered", "by", title="One script, every store", show_lines=True)
    for asked in QUESTIONS:
        stores: dict[str, list[str]] = {}
        for row in rows:
            told = "\n".join(row["answers"][asked])
            stores.setdefault(told, []).append(f"{row['store']} ({row['provider']})")
        for told, names in stores.items():
            shown.add_row(asked, told, "\n".join(names))
    return shown


def main() -> None:
    rows = asked_of_all()
    if "--json" in sys.argv:
        print(*map(json.dumps, rows), sep="\n")
    else:
        Console().print(table(rows))
    different = [row["store"] for row in rows if row["answers"] != rows[0]["answers"]]
    if different:
        sys.exit(f"Other answers than {rows[0]['store']}: {', '.join(different)}")


if __name__ == "__main__":
    main()
