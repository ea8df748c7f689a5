"""Imports run one way, and the documents name what the project really depends on."""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def lint_imports(root: Path) -> subprocess.CompletedProcess[str]:
    linter = Path(sys.executable).with_name("lint-imports")
    paths = ":".join(str(root / name) for name in ("hub", "adapters", "config"))
    return subprocess.run(
        [linter, "--no-cache"],
        cwd=root,
        env={"PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )


def test_imports_run_one_way() -> None:
    done = lint_imports(ROOT)
    assert done.returncode == 0, done.stdout


def test_an_import_that_runs_back_is_refused(tmp_path: Path) -> None:
    for name in ("hub", "adapters", "config", "pyproject.toml"):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, tmp_path / name)
    (tmp_path / "hub/memhub/planted.py").write_text("import memhub_adapters.in_memory\n")
    done = lint_imports(tmp_path)
    assert done.returncode == 1
    assert "memhub.planted -> memhub_adapters.in_memory" in done.stdout


def required() -> set[str]:
    """Every distribution that pyproject.toml asks for, extras included, itself left out."""
    extras = PROJECT["optional-dependencies"].values()
    lines = [*PROJECT["dependencies"], *(line for extra in extras for line in extra)]
    return {Requirement(line).name for line in lines} - {PROJECT["name"]}


def documented() -> dict[str, list[str]]:
    """The rows of docs/dependencies.md: for, why, licence and size, by package."""
    text = (ROOT / "docs/dependencies.md").read_text()
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in text.splitlines()
        if re.match(r"\| (?!Package)\S", line)
    ]
    return {name: rest for name, *rest in rows}


def test_every_dependency_is_explained() -> None:
    assert set(documented()) == required()


def test_every_explanation_is_complete() -> None:
    incomplete = [name for name, cells in documented().items() if len(cells) != 4 or not all(cells)]
    assert incomplete == []
