"""The SQLite adapter keeps every promise of the contract, down to the bytes of its files."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from memhub.conformance import AdapterConformance, Clock
from memhub_adapters.sqlite import SqliteAdapter


class TestSqlite(AdapterConformance):
    path: Path

    @pytest.fixture(autouse=True)
    def _in_a_folder_of_its_own(self, tmp_path: Path) -> None:
        self.path = tmp_path / "memory.db"

    def open_adapter(self, clock: Clock) -> AbstractAsyncContextManager[SqliteAdapter]:
        return self._opened()

    def open_again(self, adapter: SqliteAdapter, clock: Clock) -> AbstractAsyncContextManager[SqliteAdapter]:
        return self._opened()

    async def leftovers(self, adapter: SqliteAdapter, text: str) -> int:
        files = [self.path, self.path.with_name(f"{self.path.name}-wal")]
        return sum(file.read_bytes().count(text.encode()) for file in files if file.exists())

    @asynccontextmanager
    async def _opened(self) -> AsyncIterator[SqliteAdapter]:
        adapter = SqliteAdapter(self.path)
        try:
            yield adapter
        finally:
            await adapter.aclose()
