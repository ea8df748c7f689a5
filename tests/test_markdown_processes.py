"""Several processes on one tree: nothing lost, nothing twice, nothing half shown."""

import asyncio
import os
import shutil
from contextlib import ExitStack
from pathlib import Path

import pytest

from child_talk import SCOPE
from children import Child, start_together
from markdown_notes import Notes, contents, keep
from memhub import Fact, Observation, Unavailable
from memhub_adapters.markdown.lock import Lock

PROGRAM = Path(__file__).with_name("markdown_child.py")


@pytest.fixture
def notes(tmp_path):
    return Notes(tmp_path / "notes")


def child(*command: object) -> Child:
    return Child(*command, program=PROGRAM)


async def checked(notes: Notes) -> list[str]:
    async with notes.open() as store:
        assert await store.upkeep().check(deep=True) == []
        return await contents(store, SCOPE)


def test_three_processes_write_and_recall_in_one_tree_and_all_is_there(notes):
    names = ["one", "two", "three"]
    with ExitStack() as stack:
        children = [stack.enter_context(child("write", notes.root, name, 40)) for name in names]
        start_together(children)
        assert [one.hear() for one in children] == [{"done": name} for name in names]
        for one in children:
            one.end()
    expected = [f"{name} wrote number {n}" for name in names for n in range(40)]
    assert asyncio.run(checked(notes)) == sorted(expected)


def test_an_idempotency_key_used_by_several_processes_at_once_gives_one_record(notes):
    for turn in range(3):
        with ExitStack() as stack:
            children = [stack.enter_context(child("keyed", notes.root, f"key {turn}")) for _ in range(3)]
            start_together(children)
            said = [one.hear() for one in children]
        assert len({one["id"] for one in said}) == 1
        assert sorted(one["replayed"] for one in said) == [False, True, True]
    assert asyncio.run(checked(notes)) == ["said once"] * 3


def test_readers_in_another_process_see_each_observation_whole(notes):
    async def write() -> None:
        async with notes.open() as store:
            for group in range(15):
                facts = [Fact(f"{group} {n}", attributes={"group": group}) for n in range(20)]
                await store.observe(Observation(SCOPE, facts=facts))
        (notes.root / "done").touch()

    notes.root.mkdir()
    with child("read", notes.root, 20) as reader:
        start_together([reader])
        asyncio.run(write())
        assert reader.hear()["seen"] >= 0
        reader.end()


def test_a_write_waits_for_another_process_and_a_read_does_not(notes):
    async def go() -> None:
        async with notes.open() as store:
            await keep(store, "green tea", SCOPE)
            assert await contents(store, SCOPE) == ["green tea"]
            with child("hold", notes.root) as holder:
                holder.hear()
                waiting = asyncio.create_task(keep(store, "black tea", SCOPE))
                assert await contents(store, SCOPE) == ["green tea"]
                assert not waiting.done()
                holder.go()
                holder.hear()
                await waiting
                holder.end()
            assert await contents(store, SCOPE) == ["black tea", "green tea"]

    asyncio.run(go())


def test_a_write_that_may_not_wait_fails_retryable_and_a_killed_holder_leaves_no_lock(notes):
    async def go() -> None:
        async with notes.open(lock_timeout=0.05) as store:
            await keep(store, "green tea", SCOPE)
            with child("hold", notes.root) as holder:
                holder.hear()
                with pytest.raises(Unavailable, match="another process has been writing") as refused:
                    await keep(store, "black tea", SCOPE)
                assert refused.value.retryable
                assert refused.value.unapplied
                holder.process.kill()
                holder.process.wait()
            await keep(store, "white tea", SCOPE)
            assert await contents(store, SCOPE) == ["green tea", "white tea"]

    asyncio.run(go())


def test_a_process_forked_while_the_lock_is_held_does_not_keep_it(notes):
    lock = Lock(notes.root / "lock", timeout=0)
    notes.root.mkdir()
    taken = lock.take()
    out, end = os.pipe()
    if not os.fork():
        os.close(end)
        os.read(out, 1)
        os._exit(0)
    taken.release()
    lock.take().release()
    os.close(end)
    os.close(out)
    assert os.wait()[1] == 0


def test_a_removed_home_folder_is_made_anew_and_the_lock_still_holds(notes):
    async def go() -> None:
        async with notes.open() as store, notes.open() as other:
            await keep(store, "green tea", SCOPE)
            shutil.rmtree(notes.root / ".memhub")
            await asyncio.gather(*(keep(one, f"{n}", SCOPE) for n in range(5) for one in (store, other)))
            assert await contents(store, SCOPE) == await contents(other, SCOPE)
            assert len(await contents(store, SCOPE)) == 11

    asyncio.run(go())
