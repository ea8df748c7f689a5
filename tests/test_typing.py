"""The public API keeps its types."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def mypy(*paths: Path) -> str:
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", *map(str, paths)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def test_the_public_api_has_the_types_that_it_promises() -> None:
    assert mypy(ROOT / "tests/typing/api.py") == ""


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("Scope(5)", "arg-type"),
        ("Fact('tea', 'preference')", "call-arg"),
        ("Fact('tea', kind='opinion')", "arg-type"),
        ("Turn('bot', 'hello')", "arg-type"),
        ("Query(Scope('me'), limit='5')", "arg-type"),
        ("Query(Scope('me')).limit = 5", "misc"),
        ("Patch(content=None)", "arg-type"),
    ],
)
def test_a_mistake_is_found_before_it_runs(line: str, error: str, tmp_path: Path) -> None:
    (tmp_path / "mistake.py").write_text(f"from memhub import Fact, Patch, Query, Scope, Turn\n\n{line}\n")
    assert "mistake.py:3: error: " in (found := mypy(tmp_path / "mistake.py"))
    assert f"[{error}]" in found
