"""`mem0` and `volc_memory` as lines of YAML: what is valid, what is refused and how, what is built."""

import asyncio
from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from memhub import Fact, InvalidConfig, Observation, Query, Scope
from memhub_adapters.standins import Server
from memhub_adapters.standins.mem0_platform import PlatformMem0
from memhub_adapters.standins.mem0_self_hosted import SelfHostedMem0
from memhub_adapters.standins.volc_mem0 import VolcControl, VolcMem0
from memhub_config import load_config, open_hub

SECRET = "sk-Sup3r-S3cret"
ME = Scope("me")
VOLC = {
    "mem0": {"endpoint": "http://127.0.0.1:1"},
    "memory_project_id": "proj-1",
    "access_key_id": "AKID",
    "access_key_secret": SECRET,
}


def source(**section: object) -> dict[str, object]:
    return {"embedders": {"h": {"hash": {}}}, "stores": {"cloud": section}}


@pytest.mark.parametrize(
    "section",
    [
        {"mem0": {"api_key": SECRET}},
        {"mem0": {"api_key": SECRET, "endpoint": "https://api.mem0.ai/", "flavor": "platform"}},
        {"mem0": {"flavor": "self_hosted", "endpoint": "http://127.0.0.1:8888"}},
        {
            "mem0": {
                "flavor": "self_hosted",
                "endpoint": "https://m.example/x",
                "api_key": SECRET,
                "timeout": "5s",
            }
        },
        {"mem0": {"flavor": "embedded", "path": "m", "embedder": "h"}},
        {
            "mem0": {
                "flavor": "embedded",
                "path": "m",
                "embedder": "h",
                "llm": {"base_url": "http://127.0.0.1:1/v1", "model": "x", "api_key": SECRET},
            }
        },
        {"volc_memory": VOLC},
        {"volc_memory": {"mem0": {"endpoint": "https://m.example"}, "api_key": SECRET}},
        {"volc_memory": {**VOLC, "api_key_id": "k", "region": "cn-shanghai", "session_token": SECRET}},
    ],
    ids=repr,
)
def test_what_is_valid_shows_no_secret(section: Mapping[str, object]) -> None:
    config = load_config(source(**section), environ={})
    assert SECRET not in repr(config.stores[0].settings)


@pytest.mark.parametrize(
    ("section", "says"),
    [
        ({"mem0": {}}, "stores.cloud.mem0: api_key is required for flavor platform"),
        ({"mem0": {"flavor": "self_hosted"}}, "endpoint is required for flavor self_hosted"),
        ({"mem0": {"flavor": "embedded", "path": "m"}}, "embedder is required for flavor embedded"),
        (
            {"mem0": {"flavor": "embedded", "path": "m", "embedder": "h", "api_key": SECRET}},
            "api_key is not for flavor embedded; leave it out",
        ),
        ({"mem0": {"api_key": SECRET, "path": "m"}}, "path is not for flavor platform; leave it out"),
        ({"mem0": {"flavor": "cloud", "api_key": SECRET}}, "must be 'platform', 'self_hosted' or 'embedded'"),
        ({"mem0": {"api_key": SECRET, "user_id": "u"}}, "a scope is given with every call"),
        (
            {"mem0": {"flavor": "self_hosted", "endpoint": f"http://u:{SECRET}@h"}},
            "must be an address such as",
        ),
        ({"mem0": {"flavor": "self_hosted", "endpoint": "http://h:99999"}}, "must be an address such as"),
        ({"volc_memory": {"api_key": SECRET}}, "stores.cloud.volc_memory.mem0: is required"),
        ({"volc_memory": {"mem0": {}, "api_key": SECRET}}, "volc_memory.mem0.endpoint: is required"),
        (
            {"volc_memory": {**VOLC, "access_key_id": None, "memory_project_id": None}},
            "memory_project_id, access_key_id is missing",
        ),
        ({"volc_memory": {**VOLC, "api_key": SECRET}}, "keep one of the two"),
        ({"volc_memory": {**VOLC, "region": "../cn"}}, "stores.cloud.volc_memory.region"),
    ],
    ids=repr,
)
def test_what_is_not_valid_is_named_without_its_secret(section: Mapping[str, object], says: str) -> None:
    with pytest.raises(InvalidConfig) as caught:
        load_config(source(**section), environ={})
    assert says in str(caught.value)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    "pasted", [f"{SECRET}\n", f" {SECRET}", f"{SECRET}\r\nx: y", f"“{SECRET}”"], ids=repr
)
@pytest.mark.parametrize(
    ("place", "section"),
    [
        ("mem0.api_key", {"mem0": {}}),
        ("mem0.llm.api_key", {"mem0": {"llm": {"base_url": "http://h", "model": "x"}}}),
        ("qdrant.api_key", {"qdrant": {"url": "http://h"}}),
        ("volc_memory.api_key", {"volc_memory": {"mem0": {"endpoint": "http://h"}}}),
        ("volc_memory.access_key_secret", {"volc_memory": VOLC}),
        ("volc_memory.session_token", {"volc_memory": VOLC}),
    ],
    ids=lambda given: given if isinstance(given, str) else "",
)
def test_a_key_with_something_copied_along_is_refused(
    place: str, section: Mapping[str, dict[str, object]], pasted: str
) -> None:
    given = deepcopy(section)
    *inside, field = place.split(".")
    part: dict[str, Any] = given
    for name in inside:
        part = part[name]
    part[field] = pasted
    with pytest.raises(InvalidConfig) as caught:
        load_config(source(**given), environ={})
    assert f"stores.cloud.{place}: must be one line of plain ASCII without spaces around it" in str(
        caught.value
    )
    assert SECRET not in str(caught.value)


def test_an_embedder_that_is_not_there_is_named() -> None:
    with pytest.raises(InvalidConfig, match="embedder"):
        load_config(source(mem0={"flavor": "embedded", "path": "m", "embedder": "other"}), environ={})


async def remembered(section: Mapping[str, object]) -> list[str]:
    async with open_hub(source(**section), environ={}) as hub:
        memory = hub["cloud"]
        await memory.observe(Observation(ME, facts=[Fact("Prefers jasmine tea", kind="preference")]))
        return [hit.record.content for hit in (await memory.recall(Query(ME, kinds=["preference"]))).hits]


def test_each_flavor_is_built_from_its_lines(tmp_path: Path) -> None:
    pytest.importorskip("mem0", reason="the extra mem0 is not installed")
    control = VolcControl("AKID", SECRET, project="proj-1")
    with (
        Server(PlatformMem0(SECRET)) as platform,
        Server(SelfHostedMem0(SECRET)) as server,
        Server(VolcMem0(control=control)) as volc,
        Server(control) as control_plane,
    ):
        sections: list[dict[str, object]] = [
            {"mem0": {"endpoint": platform.url, "api_key": SECRET, "poll_interval": "1ms"}},
            {"mem0": {"flavor": "self_hosted", "endpoint": server.url, "api_key": SECRET}},
            {"mem0": {"flavor": "embedded", "path": str(tmp_path / "m"), "embedder": "h"}},
            {"volc_memory": {**VOLC, "mem0": {"endpoint": volc.url}, "control_endpoint": control_plane.url}},
            {"volc_memory": {"mem0": {"endpoint": volc.url}, "api_key": control.key}},
        ]
        for section in sections:
            assert set(asyncio.run(remembered(section))) == {"Prefers jasmine tea"}, section
    assert (tmp_path / "m" / "embedder.json").exists()


def test_what_a_store_requires_is_checked_against_its_flavor() -> None:
    section = {"mem0": {"api_key": SECRET}, "requires": ["revisions"]}
    with pytest.raises(InvalidConfig, match="mem0 has no revisions: it has no conditional writes"):
        asyncio.run(remembered(section))
