"""Configuration files: what is read, what is refused, and how it is told."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memhub import InvalidConfig
from memhub_config import load_config, providers
from memhub_config.models import seconds

SECRET = "sk-Sup3r-S3cret-Value"
KNOWN = ", ".join(providers.BUILT_IN)


@pytest.fixture
def load(tmp_path):
    """Loads a file's text with these variables."""

    def from_text(text, **environ):
        path = tmp_path / "memhub.yaml"
        path.write_text(text, encoding="utf-8")
        return load_config(path, environ=environ)

    return from_text


@pytest.fixture
def refused(load, tmp_path):
    """The message for a file's text, the file's folder cut off."""

    def message(text, **environ):
        with pytest.raises(InvalidConfig) as caught:
            load(text, **environ)
        assert SECRET not in repr(caught.value)
        return str(caught.value).replace(f"{tmp_path}/", "")

    return message


def test_a_whole_file(load):
    config = load(
        "embedders:\n"
        "stores:\n"
        "  agent-memory:\n"
        "    kind: memory\n"
        "    sqlite:\n"
        "      path: ${DIR:-./data}/memory.db\n"
        "      durability: normal\n"
        "      busy_timeout: 500ms\n"
        "    timeout: 2m\n"
        "    retry: {attempts: 4, max_delay: 8s}\n"
        "    requires: [revisions, as_of]\n"
        "  scratch:\n"
        "    in_memory:\n"
    )
    first, second = config.stores
    assert (first.name, second.name) == ("agent-memory", "scratch")
    assert first.settings.path == Path("./data/memory.db")
    assert (first.settings.durability, first.settings.busy_timeout) == ("normal", 0.5)
    assert (first.options.timeout, first.options.retry.attempts) == (120, 4)
    assert first.options.requires == ("revisions", "as_of")
    assert second.options.retry.retry().attempts == 3


def test_anchors_and_merges_are_yaml_too(load):
    config = load(
        "stores:\n"
        "  a: &shared\n    in_memory: {}\n    timeout: 5s\n"
        "  b:\n    <<: *shared\n    requires: [as_of]\n"
    )
    assert [store.options.timeout for store in config.stores] == [5, 5]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "memhub.yaml: must be a mapping with a `stores` section; see `memhub init`"),
        ("- a\n", "memhub.yaml: must be a mapping"),
        ("{}\n", "memhub.yaml: stores: must name at least one store"),
        ("stores:\n", "memhub.yaml, line 1: stores: must name at least one store"),
        ("stores: [a]\n", "line 1: stores: must name at least one store"),
        ("stores: {a: }\n", "line 1: stores.a: must hold a provider: one of in_memory, sqlite"),
        ("stores: {a: {}}\n", "stores.a: names no provider; give one of in_memory, sqlite"),
        ("stores: {a: {timeout: 3}}\n", "stores.a: names no provider"),
        (
            "stores:\n  a:\n    in_memory:\n    sqlite: {path: x}\n",
            "line 2: stores.a: names 2 providers, in_memory and sqlite; keep one",
        ),
        ("stores:\n  a:\n    sqllite: {path: x}\n", "line 3: stores.a.sqllite: no such provider or field; did you mean 'sqlite'?"),
        ("stores: {a: {mongo: {}}}\n", f"the providers are {KNOWN}, and the fields kind, timeout, retry, requires"),
        ("stores: {a: {in_memory: , tiemout: 3}}\n", "stores.a.tiemout: no such provider or field; did you mean 'timeout'?"),
        ("stores: {a: {in_memory: {size: 3}}}\n", "stores.a.in_memory.size: no such field"),
        ("stores:\n  a:\n    sqlite:\n      pth: x\n      path: y\n", "memhub.yaml, line 4: stores.a.sqlite.pth: no such field; did you mean 'path'?"),
        ("stores: {a: {sqlite: x}}\n", "stores.a.sqlite: must be a mapping of path, durability, busy_timeout"),
        ("stores: {a: {sqlite: }}\n", "stores.a.sqlite.path: is required"),
        ("stores: {a: {sqlite: {path: 3}}}\n", "stores.a.sqlite.path: "),
        ("stores: {a: {sqlite: {path: x, durability: fast}}}\n", "durability: must be 'full' or 'normal'"),
        ("stores: {a: {in_memory: , kind: vector}}\n", "stores.a.kind: must be 'memory'"),
        ("stores: {a: {in_memory: , timeout: soon}}\n", "stores.a.timeout: must be a duration such as 10s"),
        ("stores: {a: {in_memory: , timeout: 0}}\n", "stores.a.timeout: must be longer than nothing"),
        ("stores: {a: {in_memory: , timeout: true}}\n", "stores.a.timeout: must be a duration"),
        ("stores: {a: {in_memory: , timeout: .inf}}\n", "stores.a.timeout: must be longer than nothing"),
        ("stores: {a: {in_memory: , retry: {attempts: 0}}}\n", "stores.a.retry.attempts: must be greater than or equal to 1"),
        ("stores: {a: {in_memory: , retry: {atempts: 1}}}\n", "did you mean 'attempts'?"),
        ("stores: {a: {in_memory: , retry: 3}}\n", "stores.a.retry: must be a mapping of attempts, min_delay, max_delay"),
        ("stores: {a: {in_memory: , retry: {min_delay: 9s}}}\n", "stores.a.retry: min_delay is longer than max_delay"),
        ("stores: {a: {in_memory: , requires: semantic}}\n", "stores.a.requires: must be a list"),
        ("stores: {a: {in_memory: , requires: [semntic]}}\n", "stores.a.requires[0]: no such capability; did you mean 'semantic'?; the names are as_of, "),
        ("stors: {a: {}}\n", "line 1: stors: no such section; did you mean 'stores'?"),
        ("stores: {a: {in_memory: }}\nembedders: {x: {}}\n", "line 2: embedders.x: must hold one of openai, fastembed, hash"),
        ("stores: {'': {in_memory: }}\n", "a store's name is printable text"),
        ("stores: {' a': {in_memory: }}\n", 'stores." a": a store\'s name is printable text'),
        ("stores: {1: {in_memory: }}\n", "a key must be text; quote it"),
        ("stores: {on: {in_memory: }}\n", "a key must be text; quote it"),
        ("stores: {a.b: {in_memory: {x: 1}}}\n", 'stores."a.b".in_memory.x: no such field'),
        ("stores:\n  a: {in_memory: }\n  a: {in_memory: }\n", "line 3: stores.a: is given twice; keep one"),
        ("stores: &x {a: *x}\n", "a value that holds itself"),
        ("stores: {a: {in_memory: , timeout: 2026-13-45}}\n", "memhub.yaml: is not YAML"),
        ("stores: [a\n", "line 2, column 1: not YAML: expected"),
        ("stores:\n  a:\n\tb: c\n", "line 3, column 1: not YAML: found character '\\t'"),
        (f"stores: *{SECRET}\n", "line 1, column 9: not YAML: found undefined alias; quote a value that begins with"),
        (f"stores: !{SECRET} x\n", "not YAML: could not determine a constructor for the tag; quote"),
        ("a: !!python/object/apply:os.system [x]\n", "not YAML: could not determine a constructor for the tag"),
        ("stores: {a: \x01}\n", "is not YAML: it holds a character"),
        ("stores: {<<: {5: {in_memory: }}}\n", 'line 1: stores."<<": a key must be text; quote it'),
        ("stores:\n  a:\n    <<: {5: 6}\n    in_memory:\n", 'line 3: stores.a."<<": a key must be text'),
        (
            f"stores: {{a: {{qdrant: {{api_key:{SECRET}, path: x}}}}}}\n",
            'line 1: stores.a.qdrant."api_key:...": no such field; put a space after the colon; the fields are',
        ),
        (f"stores: {{a: {{sqlite:{SECRET}}}}}\n", 'stores.a."sqlite:...": no such provider or field; put a space'),
        (f"stores: {{a:{SECRET}}}\n", 'stores."a:...": must hold a provider'),
        (f"stores:{SECRET}\n", "memhub.yaml: must be a mapping"),
        (f"{{stores:{SECRET}}}\n", '"stores:...": no such section'),
        ("stores: {a: {sqlite: {path: x, durabilty: }}}\n", "stores.a.sqlite.durabilty: no such field; did you mean"),
        ("stores: {a: {sqlite: {path: x, durabilty: ''}}}\n", "stores.a.sqlite.durabilty: no such field; did you mean"),
        ("stores: {a: {in_memory: , retry: {atempts: ''}}}\n", "stores.a.retry.atempts: no such field; did you mean"),
        ("stores: {a: {in_memory: , tiemout: ''}}\n", "stores.a.tiemout: no such provider or field; did you mean"),
        ("stores: {a: {in_memory: }, b: ''}\n", "stores.b: must hold a provider"),
        ("stores: {a: {in_memory: }}\nevnts: ''\n", "line 2: evnts: no such section; did you mean 'events'?"),
        ("stores: {a: {in_memory: }}\nevents: {fil: ''}\n", "line 2: events.fil: no such field; did you mean 'file'?"),
        ("? [a]\n: b\n", "memhub.yaml, line 1: a key must be text; quote it"),
        ("stores: {a: {in_memory: false}}\n", "stores.a.in_memory: has no fields; leave it empty"),
        ("stores: {a: {sqlite: []}}\n", "stores.a.sqlite: must be a mapping of path, durability, busy_timeout"),
        ("stores: {a: {in_memory: }}\nevents: 0\n", "line 2: events: must be a mapping of file, otel, content"),
        ("stores: {a: {in_memory: }}\nembedders: 0\n", "line 2: embedders: must hold embedders by name"),
        ("stores: {a: {in_memory: , timeout: 1" + "0" * 400 + "}}\n", "stores.a.timeout: must be longer than nothing, and not"),
        ("stores: {a: {sqlite: {path: !!binary aGk=}}}\n", "stores.a.sqlite.path: must be a path"),
        ("stores: {a: {sqlite: {path: ~nobody-here/x}}}\n", "stores.a.sqlite.path: begins with ~, but that home"),
        ("stores: {a: {in_memory: }}\nevents: {file: ~nobody-here/x}\n", "line 2: events.file: begins with ~"),
        ('stores: {a: {in_memory: }}\nevents: {file: "a\\0b"}\n', "line 2: events.file: holds a NUL character"),
        ('stores: {a: {sqlite: {path: "\\ud800"}}}\n', "stores.a.sqlite.path: holds a lone surrogate"),
        ("[" * 3000, "memhub.yaml"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_file_line_field_and_remedy(refused, text, message):
    assert message in refused(text)


@pytest.mark.parametrize("name", ["scope", "user_id", "agent_id", "app_id", "run_id", "session_id"])
def test_routing_is_given_per_call(refused, name):
    for section in (f"{{in_memory: , {name}: x}}", f"{{in_memory: {{{name}: x}}}}"):
        assert f"{name}: a scope is given with every call" in refused(f"stores: {{a: {section}}}\n")


def test_every_problem_is_told_at_once_in_the_order_of_the_file(refused):
    told = refused(
        "stores:\n"
        "  a:\n"
        "    sqlite:\n"
        "      pth: x\n"
        "      busy_timeout: ${MISSING}\n"
        "  b:\n"
        "    nowhere: {}\n"
        "stroes: {}\n"
    )
    assert told == (
        "memhub.yaml has 5 problems:\n"
        "  line 3: stores.a.sqlite.path: is required\n"
        "  line 4: stores.a.sqlite.pth: no such field; did you mean 'path'?; "
        "the fields are path, durability, busy_timeout\n"
        "  line 5: stores.a.sqlite.busy_timeout: the variable MISSING is not set; "
        "set it, or give ${MISSING:-default}\n"
        "  line 7: stores.b.nowhere: no such provider or field; "
        f"the providers are {KNOWN}, and the fields kind, timeout, retry, requires\n"
        "  line 8: stroes: no such section; did you mean 'stores'?"
    )


def test_a_brace_after_a_dollar_inside_braces_gets_the_hint(refused):
    told = refused("stores:\n  a: {sqlite: {path: ${DIR}/x}}\n", DIR=SECRET)
    assert told.startswith("memhub.yaml, line 2, column")
    assert "put the ${...} in quotes" in told


def test_the_parsers_snippet_is_not_shown(refused):
    assert "not YAML" in refused(f"stores:\n  a:\n    api_key: '{SECRET}\n  b: x\n")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: None, "no such file; `memhub init` writes one"),
        (lambda path: path.mkdir(), "is a folder; name the file in it"),
        (lambda path: path.write_bytes(b"stores:\n  \xff"), "is not UTF-8 (byte 11)"),
    ],
)
def test_a_file_that_cannot_be_read(tmp_path, make, message):
    path = tmp_path / "memhub.yaml"
    make(path)
    with pytest.raises(InvalidConfig) as caught:
        load_config(path)
    assert str(caught.value) == f"{path}: {message}"


def test_a_byte_order_mark_and_any_script_are_fine(tmp_path):
    path = tmp_path / "memhub.yaml"
    path.write_bytes("\ufeffstores: {记忆: {in_memory: }}\n".encode())
    assert load_config(str(path)).stores[0].name == "记忆"


@pytest.mark.parametrize("tag", ["bool", "int", "float", "timestamp", "null", "binary"])
@pytest.mark.parametrize("text", [f"'{SECRET}'", "''", "[a]"])
def test_a_tag_that_does_not_fit_its_value_shows_neither(refused, tag, text):
    told = refused(f"stores: {{a: !!{tag} {text}}}\n")
    assert told.startswith("memhub.yaml")


def test_a_value_that_holds_itself_by_a_merge_is_refused(refused):
    assert "a value that holds itself" in refused("stores: &a\n  <<: *a\n")


def test_a_bomb_of_merges_is_refused(refused):
    rows = ["a0: &a0 {x: y}"]
    rows += [f"a{n}: &a{n} {{<<: [{','.join([f'*a{n - 1}'] * 10)}]}}" for n in range(1, 9)]
    assert "holds too much" in refused("\n".join(rows))


def test_a_mapping_that_is_a_bomb_or_holds_itself_is_refused():
    loop: dict[str, object] = {}
    loop["stores"] = loop
    bomb: object = "x"
    for _ in range(9):
        bomb = [bomb] * 10
    for source in (loop, {"stores": {"a": bomb}}):
        with pytest.raises(
            InvalidConfig, match="configuration: holds too much, or a value that holds itself"
        ):
            load_config(source)


def test_a_bomb_of_aliases_is_refused(refused):
    rows = ["a0: &a0 [x,x,x,x,x,x,x,x,x,x]"]
    rows += [f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    assert "holds too much" in refused("\n".join(rows))


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({1: {}}, "a key must be text, not int"),
        ({"stores": {"a": {"in_memory": {}, "x": {2: 3}}}}, "stores.a.x: a key must be text"),
        ({"stores": {"a": {"sqlite": {"pth": "x", "path": "y"}}}}, "configuration: stores.a.sqlite.pth: no such"),
        (3, "source: must be a path or a mapping, not int"),
        ("a\0b", "is no file name"),
    ],
)  # fmt: skip
def test_a_mapping_is_read_as_strictly(source, message):
    with pytest.raises(InvalidConfig) as caught:
        load_config(source)
    assert message in str(caught.value)


def test_a_mapping_may_use_tuples_and_variables():
    source = {"stores": {"a": {"in_memory": {}, "requires": ("as_of",), "timeout": "${T}"}}}
    (store,) = load_config(source, environ={"T": "7"}).stores
    assert (store.options.requires, store.options.timeout) == (("as_of",), 7)


class TestWhichFile:
    @pytest.fixture(autouse=True)
    def _elsewhere(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))

    @staticmethod
    def write(path):
        path.write_text(f"stores: {{{path.stem}: {{in_memory: }}}}\n")

    def test_the_named_one_comes_first(self, tmp_path):
        self.write(tmp_path / "named.yaml")
        self.write(tmp_path / "memhub.yaml")
        assert load_config("named.yaml").stores[0].name == "named"

    def test_then_the_variables(self, tmp_path):
        self.write(tmp_path / "other.yaml")
        self.write(tmp_path / "memhub.yaml")
        assert load_config(environ={"MEMHUB_CONFIG": "other.yaml"}).stores[0].name == "other"

    def test_then_the_folders(self, tmp_path):
        self.write(tmp_path / "memhub.yaml")
        assert load_config(environ={"MEMHUB_CONFIG": ""}).stores[0].name == "memhub"

    def test_then_the_built_in_one(self, tmp_path):
        (store,) = load_config(environ={}).stores
        assert (store.name, store.provider.name) == ("memory", "sqlite")
        assert store.settings.path == tmp_path / "data" / "memhub" / "memory.db"

    def test_a_data_folder_with_a_dollar_in_its_name(self, tmp_path, monkeypatch):
        monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "${x}$$"))
        (store,) = load_config(environ={}).stores
        assert store.settings.path == tmp_path / "${x}$$" / "memhub" / "memory.db"

    def test_one_that_is_named_must_be_there(self):
        with pytest.raises(InvalidConfig, match="no such file"):
            load_config(environ={"MEMHUB_CONFIG": "gone.yaml"})

    def test_a_wrong_setting_is_named(self):
        with pytest.raises(InvalidConfig, match="MEMHUB_LOG_LEVEL: must be 'debug', 'info'"):
            load_config(environ={"MEMHUB_LOG_LEVEL": "loud"})


@pytest.mark.parametrize(
    ("text", "value"),
    [("10s", 10), ("500ms", 0.5), ("2m", 120), ("1.5h", 5400), ("7", 7), (" 3 s ", 3), (4, 4), (0.25, 0.25)],
)
def test_durations(text, value):
    assert seconds(text) == value


@pytest.mark.parametrize(
    "text", ["", "s", "10 days", "-1s", "1e3", "٣s", "1s2s", None, True, [], float("nan")]
)
def test_no_durations(text):
    with pytest.raises(ValueError, match="must be"):
        seconds(text)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.sampled_from(["stores", "sqlite", "path", "retry"]), inner)))  # fmt: skip
def test_any_mapping_is_read_or_refused_as_invalid(value):
    source = {"stores": {"a": value}} if not isinstance(value, dict) else value
    try:
        config = load_config(json.loads(json.dumps(source)), environ={})
    except InvalidConfig as error:
        assert str(error)
    else:
        assert config.stores
