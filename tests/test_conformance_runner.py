"""The kit on a store in use: it leaves the store open, its data alone, and nothing of its own behind."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from memhub import Fact, MemoryStore, Observation, Query, Scope
from memhub.adapter import Adapter, Write
from memhub.conformance import Context, Patience, Report, Result, rule, run_conformance
from memhub.conformance.rules import RULES
from memhub.errors import Unavailable
from memhub.records import Observed
from memhub_adapters.in_memory import InMemoryAdapter
from memhub_adapters.in_memory.adapter import CAPABILITIES
from memhub_adapters.sqlite import SqliteAdapter
from variants import Minimal, NoPurge

MINE = Scope("player:42")


async def in_use(store: MemoryStore) -> Report:
    """The report of a run over a store that holds something; what it holds must not change."""
    for text in ("Prefers jasmine tea", "Lives in Porto"):
        await store.observe(Observation(MINE, facts=[Fact(text)]))
    before = (await store.recall(Query(MINE))).hits
    report = await run_conformance(store)
    assert (await store.recall(Query(MINE))).hits == before
    return report


@rule()
async def always_passes(ctx: Context) -> None:
    """It passes."""


@rule(needs=["facts"])
async def always_fails(ctx: Context) -> None:
    """It fails."""
    await ctx.keep("left half-way")
    raise AssertionError("it was promised")


@rule(needs=["semantic"])
async def never_applies(ctx: Context) -> None:
    """It is for semantic stores."""


@rule()
async def is_defective(ctx: Context) -> None:
    """It has a defect."""
    raise RuntimeError("holds a secret")


def test_a_sqlite_store_in_use_passes_and_keeps_only_its_own(tmp_path: Path) -> None:
    async def run() -> tuple[Report, int]:
        async with MemoryStore(SqliteAdapter(tmp_path / "memory.db"), name="agent-memory") as store:
            report = await in_use(store)
            return report, (await store.stats()).live

    report, live = asyncio.run(run())
    assert (report.store, report.provider, report.having("failed"), report.ok) == (
        "agent-memory",
        "sqlite",
        (),
        True,
    )
    assert (live, report.left) == (2, ())
    assert len(report.having("passed")) >= 80


def test_rules_that_need_a_store_of_their_own_are_skipped() -> None:
    report = asyncio.run(in_use(MemoryStore(InMemoryAdapter())))
    fresh = {one.name for one in RULES if one.fresh and one.why_skipped(InMemoryAdapter.capabilities) is None}
    skipped = {one.rule: one.reason for one in report.having("skipped")}
    assert fresh <= skipped.keys()
    assert {skipped[name] for name in fresh} == {"needs a store of its own, not one in use"}


def test_a_second_adapter_and_a_look_into_the_files_are_used_where_given(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"

    @asynccontextmanager
    async def open_again() -> AsyncIterator[Adapter]:
        adapter = SqliteAdapter(path)
        yield adapter
        await adapter.aclose()

    async def leftovers(text: str) -> int:
        files = [path, path.with_name("memory.db-wal")]
        return sum(file.read_bytes().count(text.encode()) for file in files if file.exists())

    async def run() -> Report:
        async with MemoryStore(SqliteAdapter(path)) as store:
            return await run_conformance(store, leftovers=leftovers, open_again=open_again)

    passed = {one.rule for one in asyncio.run(run()).having("passed")}
    assert {
        "a_key_holds_between_processes",
        "writes_are_seen_by_others",
        "a_delete_leaves_no_trace",
    } <= passed


def test_without_purge_records_are_removed_one_by_one() -> None:
    async def run() -> tuple[Report, int]:
        store = MemoryStore(NoPurge())
        report = await in_use(store)
        return report, (await store.stats()).live

    report, live = asyncio.run(run())
    assert (report.ok, report.left, live) == (True, (), 2)


def test_an_append_only_store_is_told_that_its_records_stay() -> None:
    report = asyncio.run(in_use(MemoryStore(Minimal())))
    assert report.ok
    (left,) = report.left
    assert "named 'conformance " in left
    assert left.endswith("the store deletes nothing, so its records stay")


def test_what_cannot_be_removed_is_told() -> None:
    class Stuck(InMemoryAdapter):
        async def purge(self, *args: object, **options: object) -> int:
            raise Unavailable("the disk is full")

    report = asyncio.run(run_conformance(Stuck(), rules=[always_fails]))
    (left,) = report.left
    assert left.startswith("1 scopes named 'conformance ")
    assert left.endswith("removing failed: store.purge: the disk is full")


def test_a_bare_adapter_stays_open() -> None:
    class Counts(InMemoryAdapter):
        closed = 0

        async def aclose(self) -> None:
            self.closed += 1

    adapter = Counts()
    assert asyncio.run(run_conformance(adapter)).ok
    assert adapter.closed == 0


def test_each_outcome_carries_its_reason() -> None:
    rules = [always_passes, always_fails, never_applies, is_defective]
    report = asyncio.run(run_conformance(MemoryStore(InMemoryAdapter(), name="mine"), rules=rules))
    assert report.results == (
        Result("always_passes", "passed"),
        Result("always_fails", "failed", "AssertionError: it was promised"),
        Result("never_applies", "skipped", "needs semantic: it searches by words only"),
        Result("is_defective", "failed", "RuntimeError; this is a defect of the rule or a hook"),
    )
    assert not report.ok


def test_the_json_form_lists_rules_by_outcome() -> None:
    rules = [always_passes, always_fails, never_applies]
    report = asyncio.run(run_conformance(MemoryStore(InMemoryAdapter(), name="mine"), rules=rules))
    assert json.loads(json.dumps(report.to_json())) == {
        "store": "mine",
        "provider": "in_memory",
        "ok": False,
        "passed": [{"rule": "always_passes", "reason": None}],
        "failed": [{"rule": "always_fails", "reason": "AssertionError: it was promised"}],
        "skipped": [{"rule": "never_applies", "reason": "needs semantic: it searches by words only"}],
        "left": [],
    }


def test_results_are_told_as_they_come() -> None:
    told: list[str] = []
    rules = [always_passes, never_applies]
    asyncio.run(run_conformance(InMemoryAdapter(), rules=rules, on_result=lambda one: told.append(one.rule)))
    assert told == ["always_passes", "never_applies"]


def test_a_run_that_is_cancelled_tidies_up() -> None:
    @rule(needs=["facts"])
    async def waits(ctx: Context) -> None:
        """It waits for ever."""
        await ctx.keep("left half-way")
        started.set()
        await asyncio.Event().wait()

    async def run() -> int:
        adapter = InMemoryAdapter()
        task = asyncio.create_task(run_conformance(adapter, rules=[waits]))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return (await MemoryStore(adapter).stats()).live

    started = asyncio.Event()
    assert asyncio.run(run()) == 0


def test_a_store_that_never_settles_fails_within_patience() -> None:
    class Frozen(InMemoryAdapter):
        """Never shows what was written."""

        capabilities = replace(CAPABILITIES, consistency="eventual")

        async def observe(self, write: Write) -> Observed:
            done = await super().observe(write)
            self._rooms._keys.clear()
            return done

    rules = [one for one in RULES if one.name == "get_returns_what_observe_returned"]
    report = asyncio.run(run_conformance(Frozen(), rules=rules, patience=Patience(attempts=2, delay=0)))
    assert [one.outcome for one in report.results] == ["failed"]
