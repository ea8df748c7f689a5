"""The named stores of one process: found by name, closed in reverse, every one of them."""

import asyncio

import pytest

from fakes import Faulty
from memhub import Closed, Hub, InvalidInput, MemoryStore, Query, Scope, Unavailable


class Closing(Faulty):
    """Notes when it is closed, and fails then if told to."""

    def __init__(self, name: str, order: list[str], *errors: BaseException) -> None:
        super().__init__(*errors)
        self.name, self.order = name, order

    async def aclose(self) -> None:
        self.order.append(self.name)
        await super().aclose()


def hub(order: list[str], **errors: BaseException) -> Hub:
    names = ("a", "b", "c")
    failing = {name: [error] for name, error in errors.items()}
    made = {name: Closing(name, order, *failing.get(name, ())) for name in names}
    return Hub({name: MemoryStore(adapter, name=name) for name, adapter in made.items()})


def test_an_unknown_name_lists_the_names() -> None:
    with pytest.raises(InvalidInput) as refused:
        hub([])["agent-memory"]
    assert str(refused.value) == "store: no 'agent-memory' here; the stores are 'a', 'b', 'c'"
    with pytest.raises(InvalidInput, match="the stores are none"):
        Hub({})["a"]


def test_it_is_a_mapping() -> None:
    found = hub([])
    assert (list(found), len(found), "a" in found, "z" in found) == (["a", "b", "c"], 3, True, False)
    assert found["b"].name == "b"
    assert found.get("a") is found["a"]


def test_an_absent_name_has_the_default() -> None:
    assert hub([]).get("z") is None


def test_stores_close_in_reverse_order_even_if_the_block_failed() -> None:
    order: list[str] = []

    async def run() -> None:
        async with hub(order):
            raise LookupError

    with pytest.raises(LookupError):
        asyncio.run(run())
    assert order == ["c", "b", "a"]


def test_one_that_fails_to_close_leaves_none_open() -> None:
    order: list[str] = []
    with pytest.raises(Unavailable) as found:
        asyncio.run(hub(order, b=OSError("sk-planted")).aclose())
    assert str(found.value) == "b.aclose: the adapter failed with OSError; this is a defect of the adapter"
    assert order == ["c", "b", "a"]


def test_several_failures_are_all_told() -> None:
    order: list[str] = []
    first, second = Unavailable("one"), Unavailable("two")
    with pytest.raises(ExceptionGroup) as found:
        asyncio.run(hub(order, c=first, a=second).aclose())
    assert found.value.exceptions == (first, second)
    assert order == ["c", "b", "a"]


def test_a_closed_store_refuses_every_verb_and_closes_again() -> None:
    order: list[str] = []

    async def run() -> None:
        found = hub(order)
        await found.aclose()
        await found.aclose()
        for call in (
            found["a"].ping(),
            found["a"].get("x"),
            found["a"].recall(Query(Scope("me"))),
            found["a"].recall(Query(Scope("me"), limit=0)),
            found["a"].scan(),
            found["a"].sweep(),
        ):
            with pytest.raises(Closed):
                await call

    asyncio.run(run())
    assert order == ["c", "b", "a"]
