"""docs/cli.md and docs/configuration.md say what is so."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer
import yaml

from command import Command
from memhub import errors
from memhub.interchange import record_from_json
from memhub_config import embedders, load_config, providers
from memhub_config.bindings import BindingSection
from memhub_config.cli.app import app
from memhub_config.models import ROUTING, RetrySection, StoreOptions
from memhub_config.settings import ProcessSettings

DOCS = Path(__file__).parent.parent / "docs"
CLI = (DOCS / "cli.md").read_text("utf-8")
CONFIGURATION = (DOCS / "configuration.md").read_text("utf-8")
COMMANDS = typer.main.get_command(app).commands


@pytest.fixture
def memhub(tmp_path, capsys, monkeypatch):
    return Command(tmp_path, capsys, monkeypatch)


def blocks(text, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_and_option_is_there(name):
    assert re.search(rf"`{name}[` ]", CLI)
    options = {option for param in COMMANDS[name].params for option in param.opts if option.startswith("--")}
    assert {option for option in options - {"--help"} if option not in CLI} == set()


def test_no_option_is_invented():
    real = {option for command in COMMANDS.values() for param in command.params for option in param.opts}
    assert set(re.findall(r"`(--[a-z-]+)", CLI)) <= real


def test_the_record_of_the_page_is_a_record():
    shown = [json.loads(block) for block in blocks(CLI, "json")]
    (record,) = [value for value in shown if "id" in value]
    assert record_from_json(record).content == record["content"]


def test_the_line_of_the_page_imports(memhub):
    (line,) = [block for block in blocks(CLI, "json") if json.loads(block).get("speaker")]
    assert memhub.json("import", "--scope", "p", stdin=line.encode())["written"] == 1


def test_the_error_of_the_page_is_the_one_that_comes(memhub):
    (shown,) = [json.loads(block) for block in blocks(CLI, "json") if "error" in json.loads(block)]
    memhub.configure("stores: {memory: {sqlite: {path: x.db}}}")
    assert memhub("get", "x", "--json").error == shown["error"]


def test_every_error_code_is_named():
    for name in errors.__all__:
        code = getattr(getattr(errors, name), "code", None)
        assert code in (None, "error") or code in CLI


SHAPES = {
    "init": ["--config", "new.yaml"],
    "check": [],
    "observe": ["x", "--scope", "p"],
    "list": ["--scope", "p"],
    "recall": ["x", "--scope", "p"],
    "scopes": [],
    "stats": [],
    "demo": [],
    "sweep": [],
    "purge": ["--scope", "nobody"],
}


@pytest.mark.parametrize("name", SHAPES)
def test_the_keys_that_a_command_prints_are_those_of_the_page(memhub, name):
    (row,) = [line for line in CLI.splitlines() if re.match(rf"\| `{name}[` ]", line)]
    shape = row.rsplit("|", 2)[1]
    shown = memhub.json(name, *SHAPES[name])
    assert all(f'"{key}"' in shape for key in shown)


def test_the_file_of_the_page_loads():
    text, models, bindings = blocks(CONFIGURATION, "yaml")
    named = load_config(yaml.safe_load(models), environ={"EMBED_KEY": "k"}).embedders
    assert [one.kind.name for one in named.values()] == ["openai", "fastembed"]
    assert list(load_config(yaml.safe_load(bindings), environ={}).bindings) == ["team", "player"]
    config = load_config(yaml.safe_load(text), environ={})
    assert [store.provider.name for store in config.stores] == ["sqlite", "in_memory", "none"]


def test_the_code_of_the_page_runs():
    (code,) = blocks(CONFIGURATION, "python")
    assert subprocess.run([sys.executable, "-W", "error", "-c", code], check=False).returncode == 0


def test_the_problems_of_the_page_are_those_that_come(memhub):
    shown = next(block for block in blocks(CONFIGURATION, "text") if "problems" in block)
    memhub.configure(
        "stores:\n  agent-memory:\n    sqlite:\n      pth: x\n    retry:\n      max_delay: ${SLOW}\n"
    )
    told = memhub("check").err.removeprefix("error [invalid_config] ")
    assert all(line in told for line in shown.splitlines()[1:])


def test_every_field_is_there():
    named = {*StoreOptions.model_fields, *(f"retry.{name}" for name in RetrySection.model_fields)} - {"retry"}
    for provider in providers.BUILT_IN:
        fields = providers.load(provider).settings.model_fields
        named |= {f"{provider}.{field.alias or name}" for name, field in fields.items()} or {provider}
    for kind in embedders.KINDS:
        named |= {f"{kind}.{name}" for name in embedders.load(kind).settings.model_fields}
    named |= set(BindingSection.model_fields) | {"bindings", "events"}
    named |= ROUTING | {f"MEMHUB_{name.upper()}" for name in ProcessSettings.model_fields}
    assert {name for name in named if f"`{name}`" not in CONFIGURATION} == set()
