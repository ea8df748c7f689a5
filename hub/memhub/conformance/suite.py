"""The face of the kit for pytest: one item a rule."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import ClassVar

import pytest

from memhub.adapter import Adapter
from memhub.conformance.clock import Clock
from memhub.conformance.context import Context, MakeStore, Setting
from memhub.conformance.definition import Rule
from memhub.conformance.expect import Skipped
from memhub.conformance.rules import RULES
from memhub.conformance.runner import obey
from memhub.conformance.settled import Patience
from memhub.store import MemoryStore

__all__ = ["AdapterConformance"]


class AdapterConformance:
    """Subclass it as `TestYours`, write `open_adapter`, and pytest runs every rule as `test_<rule>`.

    `rules` are rules of your own, run beside the kit's. `live`: `open_adapter` opens a store that
    outlives the tests; rules that close a store or touch all of it are then skipped, and what a
    rule wrote is removed after it. `patience` bounds the polling of an eventual store. `make_store`
    puts a store over the adapter: a MemoryStore, or a subclass of it that is under test too.

    A rule that your adapter cannot keep is overridden under `pytest.mark.xfail(strict=True,
    reason=...)`, so that every report shows it; any other override is a TypeError.
    """

    rules: ClassVar[Sequence[Rule]] = ()
    live: ClassVar[bool] = False
    patience: ClassVar[Patience] = Patience()
    make_store: ClassVar[MakeStore] = MemoryStore

    def open_adapter(self, clock: Clock) -> AbstractAsyncContextManager[Adapter]:
        """An async context method that yields an open adapter over an empty store, and closes it."""
        raise NotImplementedError(f"{type(self).__name__}: write open_adapter(self, clock)")

    async def leftovers(self, adapter: Adapter, text: str) -> int | None:
        """How many traces of `text` the store's own files hold; None where there is no way to look."""
        return None

    def open_again(self, adapter: Adapter, clock: Clock) -> AbstractAsyncContextManager[Adapter] | None:
        """A second adapter over the data of `adapter`, as another process would open it, or None."""
        return None

    def __init_subclass__(cls, **options: object) -> None:
        super().__init_subclass__(**options)
        for one in cls.__dict__.get("rules", ()):
            if _name(one) not in cls.__dict__:
                setattr(cls, _name(one), _item(one))
        for one in (*RULES, *cls.rules):
            if not _kept(getattr(cls, _name(one)), one):
                raise TypeError(
                    f"{cls.__name__}.{_name(one)} overrides a rule; mark it with "
                    "pytest.mark.xfail(strict=True, reason=...), so that reports show the deviation"
                )

    async def _obey(self, rule: Rule) -> None:
        clock = Clock()
        async with self.open_adapter(clock) as adapter:
            setting = Setting(
                clock=clock,
                live=self.live,
                patience=self.patience,
                make_store=self.make_store,
                leftovers=lambda text: self.leftovers(adapter, text),
                open_again=lambda: self.open_again(adapter, clock),
            )
            await obey(rule, Context(adapter, setting))


def _name(rule: Rule) -> str:
    return f"test_{rule.name}"


def _item(rule: Rule) -> Callable[[AdapterConformance], None]:
    def test(self: AdapterConformance) -> None:
        why = None
        try:
            asyncio.run(self._obey(rule))
        except Skipped as skipped:
            why = str(skipped)
        if why is not None:
            pytest.skip(why)

    test.__name__, test.__doc__ = _name(rule), rule.summary
    test.__dict__["rule"] = rule
    return test


def _kept(found: object, rule: Rule) -> bool:
    """Whether a class still runs this rule, or says in a strict xfail why it does not."""
    return getattr(found, "rule", None) is rule or any(
        mark.name == "xfail"
        and mark.kwargs.get("strict") is True
        and mark.kwargs.get("run", True)
        and bool(mark.kwargs.get("reason"))
        for mark in getattr(found, "pytestmark", ())
    )


for _one in RULES:
    setattr(AdapterConformance, _name(_one), _item(_one))
