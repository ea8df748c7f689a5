"""The Markdown adapter keeps every promise of the contract, down to the bytes and names of its files."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from memhub.conformance import AdapterConformance, Clock
from memhub_adapters.markdown import MarkdownAdapter


class TestMarkdown(AdapterConformance):
    append_only = False
    root: Path

    @pytest.fixture(autouse=True)
    def _in_a_folder_of_its_own(self, tmp_path: Path) -> None:
        self.root = tmp_path / "notes"

    def open_adapter(self, clock: Clock) -> AbstractAsyncContextManager[MarkdownAdapter]:
        return self._opened()

    def open_again(
        self, adapter: MarkdownAdapter, clock: Clock
    ) -> AbstractAsyncContextManager[MarkdownAdapter]:
        return self._opened()

    async def leftovers(self, adapter: MarkdownAdapter, text: str) -> int:
        paths = [path for path in self.root.rglob("*") if not path.is_dir()]
        names = sum(str(path.relative_to(self.root)).count(text) for path in self.root.rglob("*"))
        return names + sum(path.read_bytes().count(text.encode()) for path in paths)

    @asynccontextmanager
    async def _opened(self) -> AsyncIterator[MarkdownAdapter]:
        adapter = MarkdownAdapter(self.root, append_only=self.append_only)
        try:
            yield adapter
        finally:
            await adapter.aclose()


class TestMarkdownAppendOnly(TestMarkdown):
    append_only = True
