"""Running rules: one over one adapter, or all of them over a store in use, which is tidied afterwards."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace

from memhub.adapter import Adapter
from memhub.conformance.clock import Clock
from memhub.conformance.context import Context, Setting
from memhub.conformance.definition import Rule
from memhub.conformance.expect import Skipped
from memhub.conformance.report import Report, Result
from memhub.conformance.rules import RULES
from memhub.conformance.settled import Patience
from memhub.conformance.tidy import tidied
from memhub.errors import HubError
from memhub.store import MemoryStore

__all__ = ["obey", "run_conformance"]


async def run_conformance(
    store: MemoryStore | Adapter,
    *,
    rules: Iterable[Rule] = RULES,
    on_result: Callable[[Result], object] | None = None,
    leftovers: Callable[[str], Awaitable[int | None]] | None = None,
    open_again: Callable[[], AbstractAsyncContextManager[Adapter] | None] | None = None,
    patience: Patience = Patience(),  # noqa: B008 - frozen
) -> Report:
    """Run the kit's rules on one open store, which stays open and may be in use.

    Every rule works in scopes of its own, named "conformance" and a token of this run, under a
    clock of the kit's, and what it wrote is removed before the next one starts: by purge, one by
    one where purge is not declared; `Report.left` says what had to stay. Rules that close a store
    or touch all of it are skipped. Nothing is raised for a broken rule: see `Report.ok`.

    `on_result` is called with each result as it comes. `leftovers(text)` counts the traces of a
    text in the store's own files. `open_again()` opens a second adapter over the same data. Where
    one of these is missing, the rules about it are skipped. `patience` bounds the polling of a
    store whose consistency is eventual.
    """
    adapter, name = (store._adapter, store.name) if isinstance(store, MemoryStore) else (store, "store")  # noqa: SLF001
    setting = Setting(name=name, live=True, leftovers=leftovers, open_again=open_again, patience=patience)
    results: list[Result] = []
    stayed: Counter[str] = Counter()
    for rule in rules:
        context = Context(adapter, replace(setting, clock=Clock()))
        results.append(await _result(rule, context))
        stayed.update([context.left] * len(context.notes.scopes) if context.left else [])
        if on_result is not None:
            on_result(results[-1])
    return Report(
        store=name,
        provider=adapter.capabilities.provider,
        results=tuple(results),
        left=tuple(
            f"{count} scopes named 'conformance {setting.run}...': {why}" for why, count in stayed.items()
        ),
    )


async def obey(rule: Rule, context: Context) -> None:
    """Run one rule. Raises Skipped where it does not apply, and what it raises where it is broken.

    What it wrote to a store in use is removed. The context is used up; its adapter stays open.
    """
    why = rule.why_skipped(context.caps, live=context.live)
    if why is not None:
        raise Skipped(why)
    try:
        await rule.check(context)
    finally:
        if context.live:
            context.left = await tidied(context)
        await context.aclose()


async def _result(rule: Rule, context: Context) -> Result:
    try:
        await obey(rule, context)
    except Skipped as skipped:
        return Result(rule.name, "skipped", str(skipped))
    except (AssertionError, HubError) as error:
        return Result(rule.name, "failed", f"{type(error).__name__}: {error}")
    except Exception as error:  # noqa: BLE001 - one rule's defect must not end the run; its text may hold anything
        return Result(rule.name, "failed", f"{type(error).__name__}; this is a defect of the rule or a hook")
    return Result(rule.name, "passed")
