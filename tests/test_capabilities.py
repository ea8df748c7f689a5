"""What an adapter declares is checked before any I/O, and each refusal says why."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from fakes import Faulty
from memhub import (
    FILTERS_NONE,
    Capabilities,
    Fact,
    Filters,
    MemoryStore,
    Observation,
    Patch,
    Provenance,
    Query,
    Scope,
    Turn,
    Unsupported,
)
from memhub_adapters.in_memory.adapter import CAPABILITIES

ME = Scope("me")
AT = datetime(2026, 3, 1, tzinfo=UTC)
BARE = Capabilities(provider="bare", modes=("keyword",), listing=10)


def test_every_name_can_be_asked_for() -> None:
    for name in Capabilities.names():
        assert isinstance(BARE.has(name), bool)


def test_a_name_that_is_no_capability_is_a_mistake() -> None:
    with pytest.raises(KeyError):
        BARE.has("telepathy")
    with pytest.raises(KeyError):
        BARE.missing(["telepathy"])


def test_what_is_missing_comes_with_the_reason() -> None:
    caps = replace(BARE, reasons={"purge": "it needs version 2, found 1"})
    assert caps.missing(["keyword", "purge", "scan"]) == {
        "purge": "it needs version 2, found 1",
        "scan": "bare does not offer it",
    }


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("semantic", {"modes": ("semantic",)}),
        ("hybrid", {"modes": ("hybrid",)}),
        ("subset_scopes", {"scopes": "subset"}),
        ("turns", {"turns": "extracted"}),
        ("verbatim_turns", {"turns": "verbatim"}),
        ("batches", {"atomic_facts": 1_000}),
        ("update", {"patch": frozenset({"content"})}),
        ("complete_erasure", {"erasure": "complete"}),
        ("revisions", {"revisions": True}),
    ],
)
def test_a_field_decides_its_name(name: str, change: dict[str, object]) -> None:
    assert not BARE.has(name)
    assert replace(BARE, **change).has(name)


@pytest.mark.parametrize(
    ("name", "change"),
    [("immediate", {"consistency": "eventual"}), ("facts", {"facts": "no"}), ("listing", {"listing": 0})],
)
def test_a_field_takes_its_name_away(name: str, change: dict[str, object]) -> None:
    assert BARE.has(name)
    assert not replace(BARE, **change).has(name)


def test_a_refusal_names_provider_operation_argument_and_reason() -> None:
    caps = replace(BARE, reasons={"revisions": "rows carry no version"})
    with pytest.raises(Unsupported) as refused:
        caps.require("revisions", operation="delete", argument="revision")
    assert str(refused.value) == "delete: bare cannot do delete(revision): rows carry no version"
    assert (refused.value.provider, refused.value.operation) == ("bare", "delete")
    assert not refused.value.retryable


def without(**change: object) -> Capabilities:
    return replace(CAPABILITIES, **change)


async def observe(memory: MemoryStore, *facts: Fact, **more: object) -> object:
    return await memory.observe(Observation(ME, facts=facts or (Fact("tea"),), **more))


async def say(memory: MemoryStore, **turn: object) -> object:
    return await memory.observe(Observation(ME, turns=[Turn("user", "tea", **turn)]))


REFUSED = [
    ("facts", {"facts": "no"}, observe),
    ("facts", {"atomic_facts": 1}, lambda m: observe(m, Fact("a"), Fact("b"))),
    ("idempotency_key", {"idempotency": False}, lambda m: observe(m, idempotency_key="k")),
    ("supersedes", {"supersede": False}, lambda m: observe(m, Fact("tea", supersedes="x"))),
    ("expires_at", {"expiry": False}, lambda m: observe(m, Fact("tea", expires_at=AT))),
    ("kind", {"fact_fields": frozenset()}, lambda m: observe(m, Fact("tea", kind="profile"))),
    ("tags", {"fact_fields": frozenset()}, lambda m: observe(m, Fact("tea", tags=["a"]))),
    ("attributes", {"fact_fields": frozenset()}, lambda m: observe(m, Fact("tea", attributes={"a": 1}))),
    ("target", {"fact_fields": frozenset()}, lambda m: observe(m, Fact("tea", target="x"))),
    ("payload", {"fact_fields": frozenset()}, lambda m: observe(m, Fact("tea", payload=0))),
    ("supports", {"fact_fields": frozenset()}, lambda m: observe(m, Fact("tea", supports=["x"]))),
    ("observed_at", {"fact_fields": frozenset()}, lambda m: observe(m, observed_at=AT)),
    ("provenance", {"fact_fields": frozenset()}, lambda m: observe(m, provenance=Provenance(run_id="r"))),
    ("turns", {"turns": "no"}, say),
    ("role", {"turn_fields": frozenset()}, say),
    ("speaker", {"turn_fields": frozenset({"role"})}, lambda m: say(m, speaker="Ann")),
    ("at", {"turn_fields": frozenset({"role"})}, lambda m: say(m, at=AT)),
    ("tags", {"turn_fields": frozenset({"role"})}, lambda m: say(m, tags=["a"])),
    ("attributes", {"turn_fields": frozenset({"role"})}, lambda m: say(m, attributes={"a": 1})),
    ("mode=keyword", {"modes": ()}, lambda m: m.recall(Query(ME, text="tea"))),
    ("mode=hybrid", {}, lambda m: m.recall(Query(ME, text="tea", mode="hybrid"))),
    ("no text", {"listing": 0}, lambda m: m.recall(Query(ME))),
    ("limit", {"listing": 5}, lambda m: m.recall(Query(ME))),
    ("scope", {"union": False}, lambda m: m.recall(Query([ME, Scope("you")]))),
    ("scope without exact=True", {"scopes": "exact"}, lambda m: m.recall(Query(Scope(a="b")))),
    ("as_of", {"as_of": False}, lambda m: m.recall(Query(ME, as_of=AT))),
    (
        "include_invalidated",
        {"invalidation": False, "supersede": False},
        lambda m: m.recall(Query(ME, include_invalidated=True)),
    ),
    ("kinds", {"filters": FILTERS_NONE}, lambda m: m.recall(Query(ME, kinds=["fact"]))),
    ("tags", {"filters": FILTERS_NONE}, lambda m: m.recall(Query(ME, tags=["a"]))),
    ("time", {"filters": FILTERS_NONE}, lambda m: m.recall(Query(ME, since=AT))),
    ("where['a'].eq", {"filters": FILTERS_NONE}, lambda m: m.recall(Query(ME, where={"a": 1}))),
    (
        "where['a'].in",
        {"filters": Filters(attributes={"in": frozenset({"string"})})},
        lambda m: m.recall(Query(ME, where={"a": {"in": ["x", 1]}})),
    ),
    ("content", {"patch": frozenset({"tags"})}, lambda m: m.update("x", Patch(content="a"))),
    ("kind", {"patch": frozenset({"tags"})}, lambda m: m.update("x", Patch(kind="fact"))),
    ("tags", {"patch": frozenset({"kind"})}, lambda m: m.update("x", Patch(tags=()))),
    (
        "set_attributes",
        {"patch": frozenset({"tags"})},
        lambda m: m.update("x", Patch(set_attributes={"a": 1})),
    ),
    (
        "remove_attributes",
        {"patch": frozenset({"tags"})},
        lambda m: m.update("x", Patch(remove_attributes=["a"])),
    ),
    ("expires_at", {"patch": frozenset({"tags"})}, lambda m: m.update("x", Patch(expires_at=None))),
    ("revision", {"revisions": False}, lambda m: m.update("x", Patch(content="a"), revision="1")),
    ("revision", {"revisions": False}, lambda m: m.invalidate("x", revision="1")),
    ("revision", {"revisions": False}, lambda m: m.delete("x", revision="1")),
    (None, {"patch": frozenset()}, lambda m: m.update("x", Patch(content="a"))),
    (None, {"invalidation": False}, lambda m: m.invalidate("x")),
    (None, {"delete": False}, lambda m: m.delete("x")),
    (None, {"operations": False}, lambda m: m.wait("x")),
    (None, {"scan": False}, lambda m: m.scan()),
    (None, {"restore": False}, lambda m: m.restore([])),
    (None, {"stats": False}, lambda m: m.stats()),
    (None, {"purge": False}, lambda m: m.purge(ME)),
    (None, {"delete": False}, lambda m: m.sweep()),
    ("scope without exact=True", {"scopes": "exact"}, lambda m: m.purge(Scope(a="b"))),
]


@pytest.mark.parametrize(("argument", "change", "call"), REFUSED)
def test_what_is_not_declared_is_refused_before_any_io(
    argument: str | None, change: dict[str, object], call: Callable[[MemoryStore], Awaitable[object]]
) -> None:
    adapter = Faulty()
    adapter.capabilities = without(**change)

    async def run() -> None:
        async with MemoryStore(adapter, clock=lambda: AT + timedelta(days=1)) as memory:
            with pytest.raises(Unsupported) as refused:
                await call(memory)
            assert refused.value.provider == "in_memory"
            assert refused.value.operation is not None
            if argument is not None:
                assert f"{refused.value.operation}({argument})" in refused.value.message
            assert adapter.calls == 0

    asyncio.run(run())


@pytest.mark.parametrize("query", [Query(Scope(a="b"), exact=True), Query(ME)])
def test_an_adapter_of_exact_scopes_answers_exact_queries(query: Query) -> None:
    async def run() -> None:
        adapter = Faulty()
        adapter.capabilities = without(scopes="exact")
        async with MemoryStore(adapter) as memory:
            assert (await memory.recall(query)).hits == ()
        assert adapter.calls == 2

    asyncio.run(run())
