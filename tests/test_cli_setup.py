"""`init`, `check`, `schema`, `stores`, `conformance`: a configuration, tried."""

import json

import pytest
from jsonschema import Draft202012Validator

import memhub as library
from command import TWO, Command
from memhub_config import load_config
from memhub_config.schema import json_schema
from third_party import install

BROKEN = "stores:\n  bad:\n    sqlite: {path: bad.db}\n  fine:\n    in_memory: {}\n"


@pytest.fixture
def memhub(tmp_path, capsys, monkeypatch):
    return Command(tmp_path, capsys, monkeypatch)


@pytest.fixture
def broken(memhub, tmp_path):
    """A configuration whose first store does not open."""
    memhub.configure(BROKEN)
    (tmp_path / "bad.db").write_bytes(b"This is no database." * 100)
    return memhub


class TestInit:
    def test_it_writes_a_configuration_that_works(self, memhub, tmp_path):
        (tmp_path / "memhub.yaml").unlink()
        ended = memhub("init")
        assert (ended.code, ended.out, ended.err) == (0, "", "Wrote memhub.yaml. Next: memhub check\n")
        assert memhub("check").code == 0
        assert (tmp_path / "data" / "memory.db").exists()
        assert load_config("memhub.yaml").stores[0].name == "memory"

    def test_it_is_commented_and_fits_the_schema(self, memhub, tmp_path):
        import yaml

        memhub("init", "--config", "new.yaml")
        text = (tmp_path / "new.yaml").read_text(encoding="utf-8")
        Draft202012Validator(json_schema()).validate(yaml.safe_load(text))
        assert text.count("#") > 10
        assert max(map(len, text.splitlines())) <= 110

    def test_what_is_commented_out_is_valid_too(self, memhub, tmp_path):
        memhub("init", "--config", "new.yaml")
        lines = (tmp_path / "new.yaml").read_text(encoding="utf-8").splitlines()
        fields = ("durability", "busy_timeout", "timeout", "retry", "requires", "scratch", "in_memory")
        opened = [
            line.replace("# ", "", 1) if line.strip(" #").split(":")[0] in fields else line for line in lines
        ]
        config = load_config(_written(tmp_path / "all.yaml", "\n".join(opened)))
        first, scratch = config.stores
        assert first.options.requires == ("revisions", "as_of")
        assert (first.settings.durability, first.settings.busy_timeout, first.options.timeout) == (
            "full",
            10,
            30,
        )
        assert scratch.name == "scratch"

    def test_it_refuses_to_overwrite(self, memhub, tmp_path):
        before = (tmp_path / "memhub.yaml").read_bytes()
        ended = memhub("init", "--json")
        assert (ended.code, ended.out, ended.error["code"]) == (1, "", "conflict")
        assert "is there already" in ended.error["message"]
        assert (tmp_path / "memhub.yaml").read_bytes() == before

    def test_it_says_where_it_cannot_write(self, memhub):
        ended = memhub("init", "--config", "no/such/folder.yaml")
        assert (ended.code, ended.out) == (1, "")
        assert "no/such/folder.yaml: cannot be written: No such file or directory" in ended.err

    def test_the_path_as_data(self, memhub):
        assert memhub.json("init", "--config", "new.yaml") == {"path": "new.yaml"}


class TestCheck:
    def test_all_is_well(self, memhub):
        memhub.configure(TWO)
        ended = memhub("check")
        assert ended.code == 0
        assert ended.out == (
            "STORE  PROVIDER   RESULT\n"
            "main   sqlite     ok\n"
            "other  in_memory  ok\n"
        )  # fmt: skip
        assert ended.err == "memhub.yaml: all is well\n"
        assert memhub.json("check") == {
            "config": "memhub.yaml",
            "stores": [
                {"name": "main", "provider": "sqlite", "ok": True, "error": None, "faults": []},
                {"name": "other", "provider": "in_memory", "ok": True, "error": None, "faults": []},
            ],
        }

    def test_a_store_that_fails_does_not_hide_the_others(self, broken):
        ended = broken("check")
        assert ended.code == 1
        header, bad, *_, fine = ended.out.splitlines()
        assert header.split() == ["STORE", "PROVIDER", "RESULT"]
        assert bad.startswith("bad    sqlite     ")
        assert fine == "fine   in_memory  ok"
        assert ended.err == "memhub.yaml: 1 of 2 stores failed\n"
        told = broken("check", "--json")
        assert (told.code, told.err) == (1, "")
        first, second = told.data["stores"]
        assert (first["ok"], second["ok"], second["error"]) == (False, True, None)
        assert first["error"]["store"] == "bad"

    def test_requirements_are_checked(self, memhub):
        memhub.configure("stores:\n  a: {in_memory: , requires: [semantic]}\n")
        (store,) = memhub("check", "--json").data["stores"]
        assert store["error"]["code"] == "invalid_config"
        assert "in_memory has no semantic: it searches by words only" in store["error"]["message"]

    def test_the_built_in_configuration(self, memhub, tmp_path, monkeypatch):
        (tmp_path / "memhub.yaml").unlink()
        monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
        assert memhub.json("check")["config"] == "built-in configuration"
        assert (tmp_path / "share" / "memhub" / "memory.db").exists()


class TestStores:
    def test_every_capability_and_every_reason(self, memhub):
        memhub.configure("stores:\n  a: {in_memory: , requires: [as_of]}\n")
        (store,) = memhub.json("stores")["stores"]
        names = library.Capabilities.names()
        assert list(store["capabilities"]) == list(names)
        assert set(store["reasons"]) == {name for name in names if not store["capabilities"][name]}
        assert store["reasons"]["semantic"] == "it searches by words only"
        assert store["requires"] == ["as_of"]
        assert store["details"]["atomic_facts"] == 1000

    def test_for_people(self, memhub):
        memhub.configure(TWO)
        told = memhub("stores").out
        assert told.startswith("main  (sqlite)\n  can            as_of, batches")
        assert "  no semantic    it searches by words only\n" in told
        assert "\nother  (in_memory)\n" in told
        assert max(map(len, told.splitlines())) <= 80

    def test_a_store_that_does_not_open(self, broken):
        ended = broken("stores")
        assert ended.code == 1
        assert ended.out.startswith("bad  (sqlite)\n  failed  ")
        assert "fine  (in_memory)" in ended.out
        told = broken("stores", "--json")
        assert told.code == 1
        assert told.data["stores"][0]["error"]["store"] == "bad"
        assert told.data["stores"][1]["capabilities"]["as_of"] is True


def test_the_schema(memhub):
    assert memhub("schema").out == memhub("schema", "--json").out
    assert json.loads(memhub("schema").out) == json_schema()


class TestConformance:
    def test_a_store_that_keeps_the_contract(self, memhub):
        memhub.json("observe", "mine", "--scope", "p")
        ended = memhub("conformance", "main", "--json")
        assert (ended.code, ended.err) == (0, "")
        report = ended.data
        assert (report["store"], report["provider"], report["ok"]) == ("main", "sqlite", True)
        assert len(report["passed"]) >= 80
        assert report["failed"] == []
        assert all(set(result) == {"rule", "reason"} for result in report["passed"] + report["skipped"])
        assert memhub.json("scopes")["scopes"] == [{"scope": "p", "live": 1, "invalidated": 0, "expired": 0}]

    def test_a_store_that_breaks_it(self, memhub, tmp_path, monkeypatch):
        install(tmp_path / "site", distribution="memhub-liar", source=LIAR, entries={"liar": "memhub_liar:PROVIDER"})  # fmt: skip
        monkeypatch.syspath_prepend(tmp_path / "site")
        memhub.configure("stores: {fibs: {liar: }}")
        ended = memhub("conformance", "fibs")
        assert ended.code == 1
        assert ended.out.startswith("  failed      ")
        assert "\nfibs (in_memory): " in ended.out
        assert "--json" in ended.err


LIAR = """
from dataclasses import replace

from memhub_adapters.in_memory import InMemoryAdapter
from memhub_config import Provider, Section


class Liar(InMemoryAdapter):
    async def observe(self, write):
        return await super().observe(replace(write, facts=tuple(replace(f, tags=()) for f in write.facts)))


async def build(settings, parts):
    return Liar()


PROVIDER = Provider("liar", Section, build)
"""


def _written(path, text):
    path.write_text(text, encoding="utf-8")
    return path
