"""The `memhub` command, run in this process."""

import io
import json
import sys
from dataclasses import dataclass

from memhub_config.cli import main

ONE = "stores:\n  main:\n    sqlite:\n      path: data/main.db\n      durability: normal\n"
TWO = ONE + "  other:\n    in_memory: {}\n"


@dataclass
class Ended:
    """How a run of the command ended."""

    code: int
    out: str
    err: str

    @property
    def data(self):
        return json.loads(self.out)

    @property
    def error(self):
        """The error object of a run with --json; nothing else may be on stderr."""
        (line,) = self.err.splitlines()
        return json.loads(line)["error"]


class Command:
    """Runs `memhub` in a folder of its own, which has a memhub.yaml."""

    def __init__(self, folder, capsys, monkeypatch):
        self.folder = folder
        self._capsys = capsys
        self._monkeypatch = monkeypatch
        monkeypatch.chdir(folder)
        monkeypatch.delenv("MEMHUB_CONFIG", raising=False)
        self.configure(ONE)

    def configure(self, text):
        (self.folder / "memhub.yaml").write_text(text, encoding="utf-8")

    def __call__(self, *arguments, stdin=b""):
        self._monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
        code = main([str(argument) for argument in arguments])
        return Ended(code, *self._capsys.readouterr())

    def json(self, *arguments, stdin=b""):
        """The data of a run that succeeds."""
        ended = self(*arguments, "--json", stdin=stdin)
        assert (ended.code, ended.err) == (0, "")
        return ended.data
