"""The kit itself: every rule catches its fault, every fault breaks its rules alone, sound adapters pass."""

import asyncio
from collections import Counter
from collections.abc import Set as AbstractSet

import pytest

from broken import FAULTS, Fault
from in_memory_hooks import opened_again, traces
from memhub import MemoryStore
from memhub.conformance import Patience
from memhub.conformance.context import Context, MakeStore, Setting
from memhub.conformance.definition import Rule
from memhub.conformance.expect import Skipped
from memhub.conformance.rules import RULES
from memhub.conformance.runner import obey
from memhub_adapters.in_memory import InMemoryAdapter
from variants import VARIANTS

LARGE = {"the_largest_observation_is_kept", "the_longest_content_is_kept", "purge_of_250_is_whole"}
"""Rules that take as long as the rest together: tried where a fault names them, and on sound adapters."""

QUICK = Patience(attempts=5, delay=0)


async def broken(rule: Rule, adapter: InMemoryAdapter, store: MakeStore) -> bool:
    """Whether the rule fails on this adapter."""
    setting = Setting(
        patience=QUICK,
        make_store=store,
        leftovers=lambda text: traces(adapter, text),
        open_again=lambda: opened_again(adapter),
    )
    try:
        await obey(rule, Context(adapter, setting))
    except Skipped:
        return False
    except Exception:  # noqa: BLE001 - whatever a broken adapter raises is its failure
        return True
    return False


async def broken_rules(
    make: type[InMemoryAdapter], store: MakeStore = MemoryStore, *, spared: AbstractSet[str] = frozenset()
) -> set[str]:
    """The names of the rules that fail, each on an adapter of its own; those spared are not tried."""
    tried = [rule for rule in RULES if rule.name not in spared]
    return {rule.name for rule in tried if await broken(rule, make(), store)}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_breaks_its_rules_alone(fault: Fault) -> None:
    found = asyncio.run(broken_rules(fault.make, fault.store, spared=LARGE - fault.rules))
    if fault.widely:
        assert fault.rules < found
    else:
        assert found == fault.rules


def test_every_rule_catches_a_fault() -> None:
    caught = {rule for fault in FAULTS for rule in fault.rules}
    assert caught == {rule.name for rule in RULES}


def test_faults_and_rules_have_names_of_their_own() -> None:
    for names in ([fault.name for fault in FAULTS], [rule.name for rule in RULES]):
        assert [name for name, count in Counter(names).items() if count > 1] == []


@pytest.mark.parametrize("make", VARIANTS.values(), ids=VARIANTS)
def test_a_sound_adapter_breaks_no_rule(make: type[InMemoryAdapter]) -> None:
    assert asyncio.run(broken_rules(make)) == set()
