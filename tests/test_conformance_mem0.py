"""Mem0 in each flavor, and Volcengine's, keep what they declare: through real sockets, or in process."""

from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import ClassVar

import pytest

from memhub.calls import utc_now
from memhub.conformance import AdapterConformance, Clock, Patience
from memhub_adapters.embedders.hash import HashEmbedder
from memhub_adapters.http import Http
from memhub_adapters.mem0 import Mem0Adapter, embedded, platform, self_hosted
from memhub_adapters.standins import Server
from memhub_adapters.standins.mem0_platform import PlatformMem0
from memhub_adapters.standins.mem0_self_hosted import SelfHostedMem0
from memhub_adapters.standins.volc_mem0 import VolcControl, VolcMem0
from memhub_adapters.volc_memory import VolcMemoryAdapter
from memhub_adapters.volc_memory.credentials import ResolvedKey
from memhub_adapters.volc_memory.signing import Credentials

KEY = "m0-key-of-the-tests"
TIMEOUT = 10.0
POLL = 0.001


class OnASocket(AdapterConformance):
    """Opens an adapter over a stand-in that each rule has for itself."""

    patience: ClassVar[Patience] = Patience(attempts=20, delay=0.0)
    server: Server

    def open_adapter(self, clock: Clock) -> AbstractAsyncContextManager[Mem0Adapter]:
        return self._opened()

    def open_again(self, adapter: Mem0Adapter, clock: Clock) -> AbstractAsyncContextManager[Mem0Adapter]:
        return self._opened()

    @asynccontextmanager
    async def _opened(self) -> AsyncIterator[Mem0Adapter]:
        adapter = self.adapter(Http(self.server.url, timeout=TIMEOUT))
        try:
            yield adapter
        finally:
            await adapter.aclose()


class TestSelfHosted(OnASocket):
    @pytest.fixture(autouse=True)
    def _with_a_server_of_its_own(self) -> Iterator[None]:
        with Server(SelfHostedMem0(KEY)) as self.server:
            yield

    def adapter(self, http: Http) -> Mem0Adapter:
        return self_hosted(http, KEY)


class TestPlatform(OnASocket):
    @pytest.fixture(autouse=True)
    def _with_a_server_of_its_own(self) -> Iterator[None]:
        with Server(PlatformMem0(KEY)) as self.server:
            yield

    def adapter(self, http: Http) -> Mem0Adapter:
        return platform(http, KEY, poll=POLL)


class TestVolcMemory(OnASocket):
    """The key is resolved by signed calls to a control plane on a socket of its own."""

    @pytest.fixture(autouse=True)
    def _with_servers_of_its_own(self) -> Iterator[None]:
        control = VolcControl("AKID", "a-secret", project="proj-1")
        with Server(control) as self.control, Server(VolcMem0(control=control)) as self.server:
            yield

    def adapter(self, http: Http) -> Mem0Adapter:
        key = ResolvedKey(
            Http(self.control.url, timeout=TIMEOUT),
            Credentials("AKID", "a-secret"),
            project_id="proj-1",
            region="cn-beijing",
            clock=utc_now,
        )
        return VolcMemoryAdapter(http, key, poll=POLL)


class TestEmbedded(AdapterConformance):
    """`mem0ai` itself, in this process, with an embedder that needs no model."""

    folder: Path

    @pytest.fixture(autouse=True)
    def _in_a_folder_of_its_own(self, tmp_path: Path) -> None:
        pytest.importorskip("mem0", reason="the extra mem0 is not installed")
        self.folder = tmp_path / "mem0"

    def open_adapter(self, clock: Clock) -> AbstractAsyncContextManager[Mem0Adapter]:
        return self._opened()

    def open_again(
        self, adapter: Mem0Adapter, clock: Clock
    ) -> AbstractAsyncContextManager[Mem0Adapter] | None:
        """One process at a time: there is a second adapter only once the first is closed."""
        return self._opened() if adapter.closed else None

    @asynccontextmanager
    async def _opened(self) -> AsyncIterator[Mem0Adapter]:
        adapter = embedded(self.folder, HashEmbedder())
        adapter.closed = False
        close = adapter.aclose

        async def aclose() -> None:
            adapter.closed = True
            await close()

        adapter.aclose = aclose
        try:
            yield adapter
        finally:
            await adapter.aclose()
