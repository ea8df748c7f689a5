"""Mem0 in each flavor, and Volcengine's, keep what they declare: through real sockets, or in process."""

import os
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
from memhub_adapters.mem0.remote import FixedKey
from memhub_adapters.standins import Server
from memhub_adapters.standins.mem0_platform import PlatformMem0
from memhub_adapters.standins.mem0_self_hosted import SelfHostedMem0
from memhub_adapters.standins.volc_mem0 import VolcControl, VolcMem0
from memhub_adapters.volc_memory import VolcMemoryAdapter
from memhub_adapters.volc_memory.credentials import ResolvedKey
from memhub_adapters.volc_memory.signing import Credentials
from qdrant_folders import quick_folder

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
    def _in_a_folder_of_its_own(self) -> Iterator[None]:
        pytest.importorskip("mem0", reason="the extra mem0 is not installed")
        with quick_folder() as self.folder:
            yield

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


class Live(AdapterConformance):
    """On an account in use: the rules keep to scopes of their own, and what they wrote is removed."""

    live = True

    @asynccontextmanager
    async def open_adapter(self, clock: Clock) -> AsyncIterator[Mem0Adapter]:
        adapter = self.made()
        try:
            yield adapter
        finally:
            await adapter.aclose()


@pytest.mark.skipif(
    "MEMHUB_LIVE_MEM0_API_KEY" not in os.environ,
    reason="needs a Platform account: set MEMHUB_LIVE_MEM0_API_KEY, and MEMHUB_LIVE_MEM0_ENDPOINT if it is elsewhere",
)
class TestLivePlatform(Live):
    def made(self) -> Mem0Adapter:
        endpoint = os.environ.get("MEMHUB_LIVE_MEM0_ENDPOINT", "https://api.mem0.ai")
        return platform(Http(endpoint, timeout=30), os.environ["MEMHUB_LIVE_MEM0_API_KEY"])


@pytest.mark.skipif(
    "MEMHUB_LIVE_MEM0_SERVER" not in os.environ,
    reason="needs a Mem0 server: set MEMHUB_LIVE_MEM0_SERVER, and MEMHUB_LIVE_MEM0_SERVER_KEY where it wants one",
)
class TestLiveSelfHosted(Live):
    def made(self) -> Mem0Adapter:
        http = Http(os.environ["MEMHUB_LIVE_MEM0_SERVER"], timeout=30)
        return self_hosted(http, os.environ.get("MEMHUB_LIVE_MEM0_SERVER_KEY"))


@pytest.mark.skipif(
    "MEMHUB_LIVE_VOLC_ENDPOINT" not in os.environ,
    reason="needs a Volcengine project: set MEMHUB_LIVE_VOLC_ENDPOINT, and MEMHUB_LIVE_VOLC_API_KEY or "
    "MEMHUB_LIVE_VOLC_PROJECT_ID, _ACCESS_KEY_ID, _ACCESS_KEY_SECRET and, outside cn-beijing, _REGION",
)
class TestLiveVolcMemory(Live):
    def made(self) -> Mem0Adapter:
        given = {name.removeprefix("MEMHUB_LIVE_VOLC_"): value for name, value in os.environ.items()}
        http = Http(given["ENDPOINT"], timeout=30)
        if "API_KEY" in given:
            return VolcMemoryAdapter(http, FixedKey(given["API_KEY"]))
        region = given.get("REGION", "cn-beijing")
        key = ResolvedKey(
            Http(f"https://mem0.{region}.volcengineapi.com", timeout=30),
            Credentials(given["ACCESS_KEY_ID"], given["ACCESS_KEY_SECRET"]),
            project_id=given["PROJECT_ID"],
            region=region,
            clock=utc_now,
        )
        return VolcMemoryAdapter(http, key)
