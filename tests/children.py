"""Starting other processes, and talking with them a line at a time."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

PROGRAM = Path(__file__).with_name("sqlite_child.py")


class Child:
    """A process that runs one command of `sqlite_child.py`; killed when its block ends early."""

    def __init__(self, *command: object, program: Path = PROGRAM) -> None:
        self.process = subprocess.Popen(
            [sys.executable, program, *map(str, command)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def hear(self) -> dict[str, Any]:
        """The next thing it says."""
        line = self.process.stdout.readline()
        assert line, f"the child ended with {self.process.wait()}"
        return json.loads(line)

    def go(self, word: str = "") -> None:
        """Let it go on."""
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()

    def end(self) -> None:
        """Wait for its end, which must be a good one."""
        self.process.stdin.close()
        assert self.process.wait() == 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


def traces(path: Path, *words: str) -> list[list[str]]:
    """Which of the words stand in which of a store's files, as [file, word]."""
    with Child("traces", path, *words) as child:
        return child.hear()["found"]


def start_together(children: Sequence[Child]) -> None:
    """Let all of them go on once all are ready."""
    for child in children:
        child.hear()
    for child in children:
        child.go()
