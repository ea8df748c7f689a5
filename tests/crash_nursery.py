"""Starting processes that are to be killed, and comparing what they said with what they left."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from crash_model import EMPTY, WORKERS, Op, State, after, rows_of, scope_of
from memhub import Record

PROGRAM = Path(__file__).with_name("crash_child.py")


class Ledger:
    """What the killed processes said: per worker, what is acknowledged, and what was under way."""

    def __init__(self) -> None:
        self.states: list[State] = [EMPTY] * WORKERS
        self.pending: dict[int, Op] = {}

    def hear(self, worker: int, op: Op | None = None) -> None:
        if op is not None:
            self.pending[worker] = op
        else:
            self.states[worker] = after(self.states[worker], self.pending.pop(worker))

    def compare(self, records: list[Record]) -> None:
        """Raise unless every scope is as acknowledged, with its unfinished write or without."""
        found = [[r for r in records if r.scope == scope_of(worker)] for worker in range(WORKERS)]
        assert sum(map(len, found)) == len(records)
        for worker, mine in enumerate(found):
            rows, before = rows_of(mine), self.states[worker]
            op = self.pending.pop(worker, None)
            possible = [before] if op is None else [before, after(before, op)]
            assert rows in [state.rows for state in possible], (worker, op)
            self.states[worker] = next(state for state in possible if state.rows == rows)

    def names(self) -> set[bytes]:
        return {name.encode() for state in self.states for name in state.rows}


class Nursery:
    """Starts processes that are to be killed, one at a time."""

    def __init__(self, program: Path = PROGRAM) -> None:
        self._process = subprocess.Popen(
            [sys.executable, program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.current = 0

    def run(self, verb: str, *rest: object, statement: int = 0) -> Iterator[list]:
        """What one process says, then how it ended; what it said before it was killed is not lost."""
        self._process.stdin.write(json.dumps([verb, statement, *map(str, rest)]) + "\n")
        self._process.stdin.flush()
        (self.current,) = self._hear()
        while (said := self._hear())[0] != "ended":
            yield said
        yield said

    def outcome(self, verb: str, *rest: object, statement: int) -> int:
        """How a process ended that says nothing: by itself, or killed at the statement."""
        ((_, status),) = self.run(verb, *rest, statement=statement)
        assert status in (0, signal.SIGKILL)
        return status

    def kill(self) -> None:
        os.kill(self.current, signal.SIGKILL)

    def close(self) -> None:
        self._process.stdin.close()
        self._process.stdout.close()
        assert self._process.wait() == 0

    def _hear(self) -> list:
        return json.loads(self._process.stdout.readline())
