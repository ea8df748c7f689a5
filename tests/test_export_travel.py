"""Any record survives every format and store on its way; nothing reads ahead of what it is asked for."""

import asyncio
import io
import json
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from exports import exported, imported, lines_of, record
from memhub import MemoryStore, Page
from memhub.export import ExportFile, export_lines
from memhub.interchange import record_to_json
from memhub.migration import migrate, sources
from memhub_adapters.in_memory import InMemoryAdapter
from memhub_adapters.markdown import MarkdownAdapter
from memhub_adapters.sqlite import SqliteAdapter
from strategies import records

MANY = 20_000


def middle_stores(folder):
    """The stores that an export passes through on its way from SQLite to SQLite."""
    yield InMemoryAdapter()
    yield MarkdownAdapter(folder / "notes")


@settings(max_examples=25)
@given(st.lists(records, max_size=6, unique_by=lambda one: one.id))
def test_any_legal_record_survives_the_whole_way(given):
    """SQLite -> JSON Lines -> each other store in turn -> SQLite, byte for byte."""

    async def travel(folder):
        async with MemoryStore(SqliteAdapter(folder / "a.db"), name="first") as first:
            await first.restore(given)
            before = await exported(first)
        assert [json.loads(line) for line in before.splitlines()[1:]] == [
            record_to_json(one) for one in sorted(given, key=lambda one: order(one, given))
        ]
        store = MemoryStore(InMemoryAdapter(), name="lines")
        await imported(store, before.encode())
        for number, adapter in enumerate((*middle_stores(folder), SqliteAdapter(folder / "b.db"))):
            following = MemoryStore(adapter, name=f"stop {number}")
            await migrate(store, following)
            await store.aclose()
            store = following
        after = await exported(store)
        await store.aclose()
        return before, after

    with TemporaryDirectory() as folder:
        before, after = asyncio.run(travel(Path(folder)))
    assert sorted(after.split("\n")) == sorted(before.split("\n"))


def order(one, given):
    """A scan goes scope by scope, in the order in which the scopes came up."""
    scopes = list(dict.fromkeys(other.scope for other in given))
    return scopes.index(one.scope), given.index(one)


class Endless(InMemoryAdapter):
    """Makes the records of each page when it is asked for it."""

    def __init__(self):
        super().__init__()
        self.made = 0

    async def scan(self, cursor, limit, *, now):
        first = int(cursor or 0)
        self.made = first + limit
        page = tuple(record(number) for number in range(first, self.made))
        return Page(page, str(self.made) if self.made < MANY else None)


def test_an_export_never_runs_ahead_of_its_reader():
    async def work():
        adapter = Endless()
        count = -1
        async for _ in export_lines(MemoryStore(adapter)):
            count += 1
            assert adapter.made <= count + sources.PAGE, "pages were read before they were needed"
        return count

    assert asyncio.run(work()) == MANY


class Counted(io.BytesIO):
    """Counts the lines that are read."""

    lines = 0

    def readline(self, size=-1):
        self.lines += 1
        return super().readline(size)


def test_an_import_never_runs_ahead_of_its_reader():
    file = Counted(lines_of(*(record(number) for number in range(MANY))))

    async def work():
        count = 0
        async for page in ExportFile(file, "export.jsonl").pages():
            count += len(page.records)
            assert file.lines <= count + 2
            assert len(page.records) <= sources.PAGE
        return count

    assert asyncio.run(work()) == MANY
