"""Mem0 over sockets: what the kit cannot know of rows, of sizes, and of other processes."""

import json
from dataclasses import replace
from typing import Any

import pytest

from mem0_stores import KEY, ME, YOU, http, kept, listed, run, self_hosting
from memhub import (
    Conflict,
    Fact,
    MemoryStore,
    NotFound,
    Observation,
    Patch,
    Query,
    Unavailable,
)
from memhub_adapters.mem0 import platform, self_hosted
from memhub_adapters.mem0.locators import Locator
from memhub_adapters.mem0.scopes import user_of
from memhub_adapters.standins import Fault, Request, Response, Server
from memhub_adapters.standins.faults import DROPPED
from memhub_adapters.standins.mem0_platform import PlatformMem0
from memhub_adapters.standins.mem0_self_hosted import SelfHostedMem0

# Rows that are not ours to show.


def test_rows_of_another_scope_are_never_returned_even_if_the_service_sends_them() -> None:
    mem0 = SelfHostedMem0()

    def confused(request: Request) -> Response:
        """Forgets whom it was asked about."""
        answer = mem0(request)
        if request.path == "/search" or (request.method == "GET" and request.path == "/memories"):
            rows = [{**row, "score": 1.0} for row in everything()]
            return Response(200, {"results": rows})
        return answer

    def everything() -> list[dict[str, Any]]:
        request = Request("GET", "/memories", {"user_id": user_of(ME), "top_k": "1000"})
        yours = replace(request, query={**request.query, "user_id": user_of(YOU)})
        return [row for one in (request, yours) for row in mem0(one).body["results"]]

    async def work(store: MemoryStore) -> None:
        await kept(store, "mine")
        await kept(store, "yours", scope=YOU)
        assert await listed(store) == ["mine"]
        assert await listed(store, text="yours") == ["mine"]
        assert await store.purge(ME) == 1
        assert await listed(store, YOU) == ["yours"]

    with Server(confused) as server:
        run(self_hosted(http(server), None), work)


def test_an_id_whose_row_is_elsewhere_is_not_found() -> None:
    with self_hosting() as (server, _):

        async def work(store: MemoryStore) -> None:
            [record] = await kept(store, "mine")
            native = Locator.parse(record.id).native
            forged = Locator.of(native, user_of(YOU)).text()
            for call in (
                store.get(forged),
                store.update(forged, Patch(content="x")),
                store.invalidate(forged),
                store.delete(forged),
                store.observe(Observation(YOU, facts=[Fact("x", supersedes=record.id)])),
            ):
                with pytest.raises(NotFound):
                    await call
            assert await listed(store) == ["mine"]

        run(self_hosted(http(server), KEY), work)


def test_ids_of_others_are_not_found_before_any_request() -> None:
    with self_hosting() as (server, _):

        async def work(store: MemoryStore) -> None:
            for id in ("0198c0de-0000-7000-8000-000000000000", "m0_x_y_z", "*", "../memories", "x" * 512):
                for call in (
                    store.get(id),
                    store.update(id, Patch(content="x")),
                    store.invalidate(id),
                    store.delete(id),
                ):
                    with pytest.raises(NotFound):
                        await call

        run(self_hosted(http(server), KEY), work)
        assert server.requests == []


def test_memories_that_others_wrote_in_our_scopes_are_read_changed_and_kept_whole() -> None:
    with self_hosting() as (server, mem0):
        theirs = mem0.rows.add(
            "Likes hiking", {"user_id": user_of(ME)}, {"topic": "sport", "deep": {"a": 1}}, None
        )
        mem0.rows.add("of a stranger", {"user_id": "alice"}, {}, None)

        async def work(store: MemoryStore) -> None:
            [hit] = (await store.recall(Query(ME, where={"topic": "sport"}))).hits
            changed = await store.update(hit.record.id, Patch(tags=["outdoors"], set_attributes={"n": 1}))
            assert (changed.kind, changed.tags, changed.attributes) == (
                "fact",
                ("outdoors",),
                {"topic": "sport", "n": 1},
            )
            assert await store.get(changed.id) == changed
            assert changed.revision != hit.record.revision
            assert [one.content for one in (await store.scan()).records] == ["Likes hiking"]

        run(self_hosted(http(server), KEY), work)
        assert theirs.metadata["topic"] == "sport"
        assert theirs.metadata["deep"] == {"a": 1}


# Sizes at which a service ends.


def test_a_scope_too_large_to_be_listed_is_refused_and_all_else_works() -> None:
    with self_hosting() as (server, mem0):
        for n in range(1_100):
            mem0.rows.add(f"memory {n}", {"user_id": user_of(ME)}, {}, None)

        async def work(store: MemoryStore) -> None:
            with pytest.raises(Unavailable, match="1,000 memories or more") as caught:
                await listed(store)
            assert not caught.value.retryable
            found = await store.recall(Query(ME, text="memory 7", limit=1))
            assert [hit.record.content for hit in found.hits] == ["memory 7"]
            assert (await store.get(found.hits[0].record.id)).content == "memory 7"
            assert await kept(store, "one more")
            assert await store.purge(ME) == 1_101
            assert await listed(store) == []

        run(self_hosted(http(server), KEY), work)


def test_a_lost_addition_is_found_in_a_scope_too_large_to_be_listed() -> None:
    with self_hosting() as (server, mem0):
        for n in range(1_000):
            mem0.rows.add(f"memory {n}", {"user_id": user_of(ME)}, {}, None)
        server.faults.order(DROPPED.after(), when=lambda request: request.method == "POST")
        [record] = run(self_hosted(http(server), KEY), lambda store: kept(store, "a new one"))
        assert record.content == "a new one"
        assert sum(row.text == "a new one" for row in mem0.rows.all.values()) == 1


def test_more_users_than_a_server_tells_are_refused() -> None:
    with self_hosting() as (server, mem0):
        for n in range(10_000):
            mem0.rows.add("x", {"user_id": f"user {n}"}, {}, None)
        for call in (lambda store: store.scan(), lambda store: store.stats()):
            with pytest.raises(Unavailable, match="10,000 memories or more"):
                run(self_hosted(http(server), KEY), call)


def test_a_filtered_search_fetches_on_until_the_service_shows_no_more() -> None:
    mem0 = PlatformMem0(KEY, lag=0)
    with Server(mem0) as server:
        for n in range(1_200):
            mem0.rows.add(f"tea tea {n}", {"user_id": user_of(ME)}, {"n": n % 100}, None)

        async def work(store: MemoryStore) -> None:
            asked = Query(ME, text="tea tea", where={"n": 7}, limit=10)
            assert len((await store.recall(asked)).hits) == 10
            with pytest.raises(Unavailable, match="rank above what the filters admit"):
                await store.recall(replace(asked, where={"n": "absent"}))
            assert len(await listed(store, where={"n": 7})) == 12

        run(platform(http(server), KEY), work)
        sizes = [request.json["top_k"] for request in server.requests if request.path.endswith("/search/")]
        assert sizes == [10, 40, 160, 640, 1000, 10, 40, 160, 640, 1000]


def test_a_listing_that_shifts_between_its_pages_is_read_again() -> None:
    mem0 = PlatformMem0(KEY)
    shifts = [2]

    def shifting(request: Request) -> Response:
        """Deletes a row of the first page once it has been read."""
        answer = mem0(request)
        if request.path == "/v3/memories/" and request.query["page"] == "1" and shifts[0]:
            shifts[0] -= 1
            mem0.rows.remove(answer.body["results"][0]["id"])
        return answer

    with Server(shifting) as server:
        for n in range(402):
            mem0.rows.add(f"memory {n}", {"user_id": user_of(ME)}, {}, None)
        assert len(run(platform(http(server), KEY), listed)) == 400
        shifts[0] = 100
        with pytest.raises(Unavailable, match="kept changing") as caught:
            run(platform(http(server), KEY), listed)
        assert caught.value.retryable


# Two processes.


def test_a_correction_that_another_process_overtakes_is_taken_back() -> None:
    mem0 = SelfHostedMem0(KEY)

    def overtaken(request: Request) -> Response:
        """Another process has corrected the record in the same instant, and wrote last."""
        answer = mem0(request)
        if request.method == "PUT":
            row = mem0.rows.all[request.path.rpartition("/")[2]]
            own = json.loads(row.metadata["memhub"]) | {"superseded_by": "theirs"}
            row.metadata["memhub"] = json.dumps(own)
        return answer

    async def work(store: MemoryStore) -> None:
        [old] = await kept(store, "Prefers tea")
        with pytest.raises(Conflict, match="was superseded meanwhile"):
            await store.observe(Observation(ME, facts=[Fact("Prefers coffee", supersedes=old.id)]))
        assert [row.text for row in mem0.rows.all.values()] == ["Prefers tea"]

    with Server(overtaken) as server:
        run(self_hosted(http(server), KEY), work)


def test_a_move_that_fails_half_way_takes_back_what_it_wrote_and_may_be_repeated() -> None:
    with self_hosting() as (server, _):

        async def work(store: MemoryStore) -> None:
            made = await kept(store, *(f"memory {n}" for n in range(20)), scope=YOU)
            await store.purge(YOU)
            given = [replace(one, id=f"elsewhere-{n}") for n, one in enumerate(made)]
            server.faults.order(Fault.of_status(402), when=lambda request: b"memory 15" in request.body)
            with pytest.raises(Unavailable, match="quota"):
                await store.restore(given)
            assert await listed(store, YOU) == []
            ids = (await store.restore(given)).ids
            again = (await store.restore(given)).ids
            assert ids == again
            assert len(await listed(store, YOU)) == 20

        run(self_hosted(http(server), KEY), work)


def test_metadata_is_one_text_under_one_key() -> None:
    with self_hosting() as (server, mem0):
        run(self_hosted(http(server), KEY), lambda store: kept(store, "Prefers tea"))
        [row] = mem0.rows.all.values()
        assert list(row.metadata) == ["memhub"]
        assert json.loads(row.metadata["memhub"])["kind"] == "fact"
        assert row.ids == {"user_id": "memhub-name..me"}
