"""A Qdrant store as lines of YAML, and the command that goes over to another embedder."""

import pytest

from command import Command
from memhub import InvalidConfig
from memhub_adapters.standins.qdrant import qdrant_server
from memhub_config import load_config, open_blocking_hub
from qdrant_folders import quick_folder

P = ("--scope", "p")
KEY = "qd-Sup3r-S3cret"
EMBEDDERS = "embedders:\n  small: {hash: {dimensions: 16}}\n  large: {hash: {dimensions: 32}}\n"


@pytest.fixture
def memhub(tmp_path, capsys, monkeypatch):
    return Command(tmp_path, capsys, monkeypatch)


@pytest.fixture
def folder():
    with quick_folder() as place:
        yield place


def store(**section):
    return {"embedders": {"small": {"hash": {"dimensions": 16}}}, "stores": {"a": {"qdrant": section}}}


@pytest.mark.parametrize(
    ("section", "told"),
    [
        ({}, "give a url or a path, one of the two"),
        ({"url": "http://h", "path": "x"}, "give a url or a path, one of the two"),
        ({"path": "x", "api_key": "k"}, "api_key is for a server"),
        ({"url": "h:6333"}, "must be an address such as http://127.0.0.1:6333"),
        ({"url": f"http://{KEY}@h:6333"}, "a key has a field of its own"),
        ({"url": "http://h", "collection": "../x"}, "stores.a.qdrant.collection"),
        ({"url": "http://h", "colection": "x"}, "did you mean 'collection'?"),
        ({"url": "http://h", "user_id": "x"}, "a scope is given with every call"),
        ({"path": "x", "embedder": "smal"}, "no embedder 'smal'; did you mean 'small'?"),
    ],
)
def test_problems_are_told_at_their_field(section, told):
    with pytest.raises(InvalidConfig) as caught:
        load_config(store(**section), environ={})
    assert told in str(caught.value)
    assert KEY not in str(caught.value)


def test_a_server_is_reached_with_its_key_and_an_address_with_a_slash():
    with qdrant_server(KEY) as server:
        config = store(url="${URL}/", api_key="${KEY}", collection="a.b-c_1", embedder="small")
        with open_blocking_hub(config, environ={"URL": server.url, "KEY": KEY}) as hub:
            hub["a"].ping()
            assert hub["a"].capabilities.default_mode == "hybrid"
        assert {request.headers["api-key"] for request in server.requests} == {KEY}
        assert any(request.path.startswith("/collections/a.b-c_1") for request in server.requests)


def test_requires_names_the_missing_embedder():
    config = {"stores": {"a": {"qdrant": {"path": ":memory:"}, "requires": ["semantic"]}}}
    with (
        pytest.raises(InvalidConfig, match="qdrant has no semantic: no embedder is configured"),
        open_blocking_hub(config, environ={}),
    ):
        raise AssertionError("opened")


def configure(memhub, folder, embedder):
    memhub.configure(
        f"{EMBEDDERS}stores:\n  main:\n    qdrant:\n      path: {folder}\n      embedder: {embedder}\n"
    )


def test_another_embedder_is_refused_until_reembed(memhub, folder):
    configure(memhub, folder, "small")
    memhub.json("observe", "Prefers tea", *P)
    configure(memhub, folder, "large")
    ended = memhub("recall", "tea", *P)
    assert ended.code == 1
    assert "hash (16 dimensions)" in ended.err
    assert "hash (32 dimensions)" in ended.err
    assert "memhub reembed" in ended.err
    assert memhub.json("reembed", "main") == {"reembedded": 1}
    assert memhub("reembed", "main").out == "Embedded 0 records.\n"
    hits = memhub.json("recall", "tea", *P)["hits"]
    assert [hit["record"]["content"] for hit in hits] == ["Prefers tea"]


def test_reembed_is_refused_where_nothing_is_embedded(memhub):
    ended = memhub("reembed", "main", "--json")
    assert (ended.code, ended.error["code"]) == (1, "unsupported")


def test_memories_move_there_and_back(memhub, folder):
    configure(memhub, folder, "small")
    text = (memhub.folder / "memhub.yaml").read_text()
    memhub.configure(f"{text}  file:\n    sqlite:\n      path: data/main.db\n")
    for said in ("Prefers tea", "Lives in Porto"):
        memhub.json("observe", said, *P, "--store", "file")
    assert memhub("migrate", "--from", "file", "--to", "main").code == 0
    there = memhub.json("list", *P, "--store", "main")["records"]
    assert there == memhub.json("list", *P, "--store", "file")["records"]
