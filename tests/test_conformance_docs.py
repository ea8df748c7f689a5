"""docs/conformance.md: its code runs."""

import asyncio
import re
from pathlib import Path
from typing import Any

from memhub import MemoryStore
from memhub.conformance import AdapterConformance, run_conformance
from memhub_adapters.in_memory import InMemoryAdapter

TEXT = (Path(__file__).parent.parent / "docs/conformance.md").read_text("utf-8")


def documented() -> dict[str, Any]:
    """What the code of the document defines, its blocks run one after another."""
    names: dict[str, Any] = {"__name__": "documented"}
    for block in re.findall(r"^```python\n(.*?)^```$", TEXT, flags=re.MULTILINE | re.DOTALL):
        exec(compile(block, "docs/conformance.md", "exec"), names)
    return names


def test_the_suites_are_accepted_and_run() -> None:
    names = documented()
    assert issubclass(names["TestDeviating"], AdapterConformance)
    names["TestMyAdapter"]().test_an_open_store_answers()


def test_a_store_in_use_passes() -> None:
    assert asyncio.run(documented()["held"](MemoryStore(InMemoryAdapter()))).ok


def test_the_rule_of_ones_own_is_kept() -> None:
    mine = documented()["tags_with_colons_are_found"]
    report = asyncio.run(run_conformance(InMemoryAdapter(), rules=[mine]))
    assert [one.outcome for one in report.results] == ["passed"]
