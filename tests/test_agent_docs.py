"""docs/agents.md, docs/events.md and docs/mcp.md say what is so."""

import json
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest
import yaml

from memhub import MemoryStore, Scope, Toolbox, events
from memhub.blocks import STANDING
from memhub.telemetry import OPERATIONS
from memhub_adapters.in_memory import InMemoryAdapter
from memhub_config import load_config
from memhub_config.serve import http, mcp_server
from memhub_config.watching import EventsSection

DOCS = Path(__file__).parent.parent / "docs"
AGENTS, EVENTS, MCP = ((DOCS / f"{name}.md").read_text("utf-8") for name in ("agents", "events", "mcp"))
KINDS = [getattr(events, name) for name in events.__all__ if name != "Event"]
COMMON = {field.name for field in fields(events.Event)}


def blocks(text, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("text", [AGENTS, EVENTS], ids=["agents", "events"])
def test_the_code_runs(text):
    (code,) = blocks(text, "python")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_each_event_is_there_with_its_fields(kind):
    (row,) = [line for line in EVENTS.splitlines() if re.match(rf"\| .*`{kind.__name__}`", line)]
    assert {field.name for field in fields(kind)} - COMMON - set(re.findall(r"`(\w+)`", row)) == set()


def test_the_common_fields_are_there():
    assert {name for name in COMMON if f"`{name}`" not in EVENTS} == set()


def test_the_line_of_the_page_is_an_event():
    (line,) = blocks(EVENTS, "json")
    shown = json.loads(line)
    known = {field.name for field in fields(events.MemoryWritten)} - {"records"}
    assert shown.keys() - {"event"} == known
    assert shown["event"] == "MemoryWritten"


def test_the_events_of_a_configuration_are_there():
    (text,) = blocks(EVENTS, "yaml")
    section = yaml.safe_load(text)["events"]
    assert section.keys() == EventsSection.model_fields.keys()
    assert load_config(yaml.safe_load(text), environ={}).events.file == Path("log/events.jsonl")


def test_the_spans_are_those_of_the_verbs():
    rows = re.findall(r"^\| `(\w+_memory)` \| (.*) \|$", EVENTS, flags=re.MULTILINE)
    assert {name: re.findall(r"`(\w+)`", verbs) for name, verbs in rows} == {
        name: [verb for verb, told in OPERATIONS.items() if told == name] for name in OPERATIONS.values()
    }


def test_the_tools_are_there_with_their_arguments():
    rows = dict(re.findall(r"^\| `(memory_\w+)` \| (.*) \|$", AGENTS, flags=re.MULTILINE))
    schemas = Toolbox(MemoryStore(InMemoryAdapter()).bind(Scope("me"))).json_schemas()
    assert {name: re.findall(r"`(\w+)`", told) for name, told in rows.items()} == {
        name: list(schema["properties"]) for name, schema in schemas.items()
    }
    assert all(f"`{name}`" in MCP for name in schemas)


def test_the_block_of_the_page_is_a_block():
    (shown,) = blocks(AGENTS, "text")
    assert re.match(r'<memories check="[0-9a-f]{16}">\n', shown)
    assert STANDING in shown
    assert "more found and left out, to keep this short]\n</memories>" in shown


def test_the_resources_and_the_prompt_are_there():
    for name in (mcp_server.PROFILE, f"{mcp_server.RECORDS}{{id}}", mcp_server.MANUAL):
        assert f"`{name}`" in MCP
    assert f"http://127.0.0.1:8321{http.PATH}" in MCP
    assert json.loads(blocks(MCP, "json")[0])["mcpServers"]["memory"]["args"][0] == "mcp"
