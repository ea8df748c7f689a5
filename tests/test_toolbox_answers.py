"""How much of what is remembered one answer of a tool holds, whatever stands in a memory."""

import asyncio
import json

import pytest

from memhub import Fact, InvalidInput, MemoryStore, Observation, Scope, Toolbox
from memhub_adapters.in_memory import InMemoryAdapter

ME = Scope("me")


def found(*contents, budget=16_000, tags=()):
    """What a search for tea answers, where each of these was saved in its turn."""

    async def run():
        memory = MemoryStore(InMemoryAdapter()).bind(ME)
        for content in contents:
            await memory.observe(Observation(ME, facts=[Fact(content, tags=tags)]))
        return await Toolbox(memory, budget=budget).call("memory_search", {"query": "tea", "limit": 50})

    answer = asyncio.run(run())
    assert answer.ok
    assert json.loads(answer.text) == answer.data
    assert sum(len(json.dumps(one, ensure_ascii=False)) for one in answer.data["memories"]) <= budget
    return answer.data


def test_long_memories_do_not_flood_an_answer():
    data = found(*(f"Tea {n} " + "word " * 3_000 for n in range(10)))
    assert len(json.dumps(data)) < 17_000
    assert all(one["content"].endswith("characters in all]") for one in data["memories"])
    assert data["note"] == f"{10 - len(data['memories'])} more did not fit; ask for fewer, or more precisely."


@pytest.mark.parametrize("escaped", ['"', "\\", "\n", "\x01"], ids=ascii)
def test_a_memory_that_json_makes_longer_is_cut_as_well(escaped):
    data = found("Tea " + f"a{escaped}" * 20_000, "Green tea.")
    hostile, plain = sorted(data["memories"], key=lambda one: len(one["content"]), reverse=True)
    assert hostile["content"].endswith(" [... cut: 40,004 characters in all]")
    assert plain["content"] == "Green tea."
    assert "note" not in data


def test_one_that_does_not_fit_hides_no_other():
    tags = [f"{n:02}" + "\x01" * 100 for n in range(64)]
    data = found("Tea.", tags=tags)
    assert data == {"memories": [], "note": "1 more did not fit; ask for fewer, or more precisely."}

    async def run():
        memory = MemoryStore(InMemoryAdapter()).bind(ME)
        await memory.observe(Observation(ME, facts=[Fact("Green tea.")]))
        await memory.observe(Observation(ME, facts=[Fact("Tea.", tags=tags)]))
        return (await Toolbox(memory).call("memory_list")).data

    listed = asyncio.run(run())
    assert [one["content"] for one in listed["memories"]] == ["Green tea."]
    assert listed["note"] == "1 more did not fit; ask for fewer, or more precisely."


@pytest.mark.parametrize("budget", [400, 401, 1_000])
def test_the_smallest_budgets_hold(budget):
    assert found("Tea " + "word " * 1_000, "Tea " + "\x01" * 1_000, budget=budget)["memories"]


@pytest.mark.parametrize("budget", [0, -1, 399, "16000", 4_000.0, True, None])
def test_a_budget_that_holds_nothing_is_refused(budget):
    memory = MemoryStore(InMemoryAdapter()).bind(ME)
    with pytest.raises(InvalidInput, match="budget: must be a whole number of characters, 400 or more"):
        Toolbox(memory, budget=budget)
