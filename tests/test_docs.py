"""The documents are true: their code runs, their commands exist, their tables are current."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from memhub_config import load_config

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")
DOCUMENTS = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
sys.path.insert(0, str(ROOT / "docs"))

from tables import PARTS, filled  # noqa: E402 - once the folder is on the path


def blocks(text: str, language: str) -> list[str]:
    """The fenced blocks of a language, indentation of a list item taken away."""
    found = re.findall(rf"^( *)```{language}\n(.*?)^ *```$", text, flags=re.MULTILINE | re.DOTALL)
    return [re.sub(rf"^{indent}", "", block, flags=re.MULTILINE) for indent, block in found]


@pytest.mark.parametrize("path", PARTS, ids=lambda path: path.name)
def test_what_is_made_from_the_code_is_current(path: Path) -> None:
    assert filled(path) == path.read_text("utf-8")


def test_the_ten_lines_run_with_the_yaml_beside_them(tmp_path: Path) -> None:
    [code, _], [config] = blocks(README, "python"), blocks(README, "yaml")
    assert len([line for line in code.splitlines() if line]) <= 12
    (tmp_path / "memhub.yaml").write_text(config)
    command = [sys.executable, "-W", "error", "-c", code]
    environ = {name: value for name, value in os.environ.items() if name != "MEMHUB_DIR"}
    done = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("['Prefers jasmine tea']\n", "")
    assert (tmp_path / "data/memory.db").exists()


MODEL = """
import json
from types import SimpleNamespace as Box

question = "Which tea do I like? Since today it is oolong."


def called(name, **arguments):
    return Box(tool_calls=[Box(id="c", function=Box(name=name, arguments=json.dumps(arguments)))])


def ask(messages, tools):
    assert "preference: Prefers jasmine tea\\n</memories>" in messages[0]["content"]
    answers = [json.loads(one["content"]) for one in messages[2:] if isinstance(one, dict)]
    if not answers:
        return called("memory_search", query="tea")
    if len(answers) == 1:
        [old] = answers[0]["memories"]
        return called("memory_save", content="Prefers oolong tea", supersedes=old["id"])
    return Box(tool_calls=[], content=f"Noted: {sorted(answers[1])}")
"""


def test_the_agent_of_the_readme_runs_with_a_scripted_model(tmp_path: Path) -> None:
    [ten, code], [config] = blocks(README, "python"), blocks(README, "yaml")
    assert len(code.partition("with ")[2].splitlines()) <= 11
    (tmp_path / "memhub.yaml").write_text(config)
    environ = {name: value for name, value in os.environ.items() if name != "MEMHUB_DIR"}
    for source in (ten, MODEL + code):
        command = [sys.executable, "-W", "error", "-c", source]
        done = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False)
        assert done.stderr == ""
    assert done.stdout == "Noted: ['date', 'kind', 'saved', 'superseded']\n"


def test_the_other_providers_of_the_readme_take_its_place(tmp_path: Path) -> None:
    [config] = blocks(README, "yaml")
    for provider in ("in_memory", "none"):
        other = re.sub(r"sqlite:\n +path: .*", f"{provider}: {{}}", config)
        assert f"{provider}: {{}}" in README
        (tmp_path / "memhub.yaml").write_text(other)
        [store] = load_config(tmp_path / "memhub.yaml", environ={}).stores
        assert store.provider.name == provider


def commands() -> list[str]:
    lines = [line.partition(" #")[0].strip() for block in blocks(README, "sh") for line in block.splitlines()]
    return [line for line in lines if line.startswith("memhub ")]


def test_the_commands_of_the_readme_run_in_their_order(tmp_path: Path) -> None:
    (tmp_path / "conversation.jsonl").write_text('{"role": "user", "content": "I drink oolong tea now."}\n')
    memhub = Path(sys.executable).with_name("memhub")
    environ = {name: value for name, value in os.environ.items() if not name.startswith("MEMHUB_")}
    assert len(commands()) > 5
    for line in commands():
        done = subprocess.run(
            [memhub, *shlex.split(line)[1:]],
            cwd=tmp_path,
            env=environ,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, (line, done.stdout, done.stderr)


def test_the_targets_that_documents_name_exist() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    named = {
        name
        for path in DOCUMENTS
        for name in re.findall(r"(?:`|^)make ([a-z]+)", path.read_text("utf-8"), re.MULTILINE)
    }
    assert {"demo", "test"} <= named <= targets


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    links = re.findall(r"\]\(([^)#]+)\)", path.read_text("utf-8"))
    assert [link for link in links if "://" not in link and not (path.parent / link).exists()] == []


def test_the_code_for_adapter_authors_works() -> None:
    names: dict[str, object] = {"MyAdapter": type("MyAdapter", (), {})}
    kit, provider = blocks((ROOT / "CONTRIBUTING.md").read_text("utf-8"), "python")
    exec(compile(kit + provider, "CONTRIBUTING.md", "exec"), names)
    assert names["PROVIDER"].name == "mine"
    assert issubclass(names["TestMyAdapter"], names["AdapterConformance"])


def test_the_files_that_documents_name_exist() -> None:
    text = (ROOT / "docs/architecture.md").read_text("utf-8")
    named = set(re.findall(r"`([a-z_]+\.py|[a-z_]+/)`", text))
    present = {
        p.name + "/" * p.is_dir() for root in ("hub", "adapters", "config") for p in (ROOT / root).rglob("*")
    }
    assert named - present == set()
