"""The composition root: what it opens, shares, checks and closes."""

import asyncio
import sys

import pytest

from fakes import Faulty, SetClock
from memhub import (
    Closed,
    Fact,
    InvalidConfig,
    InvalidInput,
    NotFound,
    Observation,
    Query,
    Scope,
    Unavailable,
)
from memhub_config import open_blocking_hub, open_hub
from third_party import VAULT, install

SCOPE = Scope("player:42")
SECRET = "sk-Sup3r-S3cret-Value"
TWO = {"stores": {"a": {"in_memory": {}}, "b": {"in_memory": {}, "timeout": "3s", "retry": {"attempts": 1}}}}


@pytest.fixture
def vault(tmp_path, monkeypatch):
    """The vault provider's log of what was opened and closed."""
    install(tmp_path, distribution="memhub-vault", module="vault_log", source=VAULT, entries={"vault": "vault_log:PROVIDER"})  # fmt: skip
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "vault_log", raising=False)
    import vault_log

    yield vault_log.LOG
    monkeypatch.delitem(sys.modules, "vault_log", raising=False)


def vaults(*names, endpoint="e", **more):
    section = {"endpoint": endpoint, "api_key": SECRET}
    return {"stores": {name: {"vault": {**section, "labels": [name]}, **more} for name in names}}


def opened(source, body=None, **options):
    """What `body` returns inside the opened hub."""

    async def run():
        async with open_hub(source, environ={}, **options) as hub:
            return await body(hub) if body else list(hub)

    return asyncio.run(run())


def test_stores_by_name_with_their_settings():
    async def body(hub):
        said = await hub["a"].observe(Observation(SCOPE, facts=[Fact("Prefers jasmine tea")]))
        found = await hub["a"].recall(Query(SCOPE, text="tea"))
        assert [hit.record for hit in found.hits] == list(said.records)
        assert (await hub["b"].recall(Query(SCOPE))).hits == ()
        with pytest.raises(InvalidInput, match="no 'c' here; the stores are 'a', 'b'"):
            hub["c"]
        return hub

    hub = opened(TWO, body)

    async def after():
        with pytest.raises(Closed):
            await hub["a"].ping()

    asyncio.run(after())


def test_the_blocking_twin():
    heard = []
    clock = SetClock()
    with open_blocking_hub(TWO, environ={}, clock=clock, observers=[heard.append]) as hub:
        said = hub["a"].observe(Observation(SCOPE, facts=[Fact("Prefers jasmine tea")])).records[0]
        assert said.created_at == clock.now
        assert hub["a"].get(said.id) == said
        assert list(hub) == ["a", "b"]
    assert [event.operation for event in heard] == ["observe"]


def test_the_blocking_twin_refuses_a_wrong_file_before_anything():
    with pytest.raises(InvalidConfig, match="must name at least one store"), open_blocking_hub({}):
        pytest.fail("never entered")


def test_a_timeout_and_a_retry_reach_the_store():
    async def body(hub):
        return [(store._calls._timeout, store._calls._retry.attempts) for store in hub.values()]

    assert opened(TWO, body) == [(30, 3), (3, 1)]


def test_what_two_stores_name_is_opened_once_and_closed_last(vault):
    opened({"stores": {**vaults("a", "b")["stores"], **vaults("c", endpoint="f")["stores"]}})
    assert vault == [
        "connect e", "open a", "open b", "connect f", "open c",
        "close c", "disconnect f", "close b", "close a", "disconnect e",
    ]  # fmt: skip


def test_a_failure_half_way_closes_what_was_opened(vault):
    with pytest.raises(Unavailable) as caught:
        opened(vaults("a", "b", "crashes"))
    assert vault == ["connect e", "open a", "open b", "close b", "close a", "disconnect e"]
    error = caught.value
    assert (error.store, error.provider) == ("crashes", "vault")
    assert "failed to open with RuntimeError" in str(error)
    assert SECRET not in f"{error!r}{error.__cause__!r}{error.__context__!r}"


def test_a_missing_module_names_the_extra(vault):
    with pytest.raises(InvalidConfig) as caught:
        opened(vaults("lacks"))
    assert str(caught.value) == (
        "lacks: vault needs the module a_module_that_is_not_there, which is not installed; "
        "pip install 'memhub[vault]'"
    )
    assert vault == ["connect e", "disconnect e"]


def test_every_close_is_tried_and_its_error_told(vault):
    with pytest.raises(Unavailable, match=r"unclosable\.aclose: .*RuntimeError"):
        opened(vaults("a", "unclosable"))
    assert vault[-3:] == ["close unclosable", "close a", "disconnect e"]


def test_several_closing_errors_come_as_a_group(vault):
    with pytest.raises(ExceptionGroup) as caught:
        opened(
            {
                "stores": {
                    name: {"vault": {"endpoint": "e", "api_key": SECRET, "labels": ["unclosable"]}}
                    for name in "ab"
                }
            }
        )
    assert [error.store for error in caught.value.exceptions] == ["b", "a"]


def test_an_error_of_the_body_passes_with_a_note_of_what_failed_to_close(vault):
    async def body(hub):
        raise NotFound("mine")

    with pytest.raises(NotFound, match="mine") as caught:
        opened(vaults("unclosable"), body)
    (note,) = caught.value.__notes__
    assert note.startswith("closing failed too: unclosable.aclose: ")


def test_cancellation_closes_everything_and_passes_untouched(vault):
    async def run():
        started = asyncio.Event()

        async def hold():
            async with open_hub(vaults("a", "b"), environ={}):
                started.set()
                await asyncio.Event().wait()

        task = asyncio.create_task(hold())
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())
    assert vault[-3:] == ["close b", "close a", "disconnect e"]


def test_injected_adapters_stay_the_callers():
    mine = Faulty()

    async def body(hub):
        await hub["b"].observe(Observation(SCOPE, facts=[Fact("into mine")]))
        assert hub["b"].capabilities is mine.capabilities

    opened(TWO, body, adapters={"b": mine})
    assert (mine.calls, mine.closed) == (1, 0)


def test_an_injected_adapter_for_no_store_is_refused():
    with pytest.raises(InvalidConfig, match="adapters: no store 'z'; the stores are 'a', 'b'"):
        opened(TWO, adapters={"z": Faulty()})


def test_a_wrong_observer_is_refused_before_anything_is_opened(vault):
    with pytest.raises(InvalidInput, match="observer: must be callable with one event, not str"):
        opened(vaults("a"), observers=["print"])
    assert vault == []


class TestRequires:
    def test_what_is_there_is_fine(self):
        opened({"stores": {"a": {"in_memory": {}, "requires": ["as_of", "keyword", "revisions"]}}})

    def test_what_is_missing_stops_the_start_with_the_reason(self, tmp_path):
        path = tmp_path / "memhub.yaml"
        path.write_text("stores:\n  a:\n    in_memory:\n    requires:\n      - as_of\n      - semantic\n")
        with pytest.raises(InvalidConfig) as caught:
            opened(path)
        assert str(caught.value) == (
            f"{path}, line 6: stores.a.requires[1]: in_memory has no semantic: it searches by words only"
        )

    def test_everything_missing_is_told_and_everything_closed(self, vault):
        with pytest.raises(InvalidConfig, match="has 2 problems"):
            opened(vaults("a", requires=["semantic", "hybrid"]))
        assert vault == ["connect e", "open a", "close a", "disconnect e"]


def test_relative_paths_start_at_the_files_folder(tmp_path, monkeypatch):
    from memhub_config.provider import Opened, Parts
    from memhub_config.reading import load_config

    (tmp_path / "deep").mkdir()
    path = tmp_path / "deep" / "memhub.yaml"
    path.write_text("stores: {a: {in_memory: }}\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    parts = Parts(load_config("deep/memhub.yaml").document.folder, Opened())
    assert parts.path("data/m.db") == tmp_path / "deep" / "data" / "m.db"
    assert parts.path("/data/m.db").as_posix() == "/data/m.db"
    assert parts.path("~/m.db") == tmp_path / "home" / "m.db"
    assert Parts(load_config(TWO).document.folder, Opened()).path("m.db") == tmp_path / "m.db"
