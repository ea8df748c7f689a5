"""`python -m memhub_adapters.standins`: a provider to try things on, without an account."""

import signal
import socket
import subprocess
import sys

import pytest
import yaml

from memhub import Fact, Observation, Query, Scope
from memhub_adapters.standins.__main__ import STANDINS
from memhub_config import open_blocking_hub

COMMAND = [sys.executable, "-m", "memhub_adapters.standins"]


@pytest.mark.parametrize("name", STANDINS)
def test_what_it_prints_is_a_configuration_that_works(name: str) -> None:
    with subprocess.Popen([*COMMAND, name], stdout=subprocess.PIPE, text=True) as standin:
        told = "".join(standin.stdout.readline() for _ in range(3))
        with open_blocking_hub(yaml.safe_load(told)) as hub:
            scope, memory = Scope("player:42"), hub["memory"]
            memory.observe(Observation(scope, facts=[Fact("Prefers jasmine tea")]))
            hits = memory.recall(Query(scope)).hits
            assert [hit.record.content for hit in hits] == ["Prefers jasmine tea"]
        standin.send_signal(signal.SIGINT)
        assert standin.wait() == 0


def test_a_port_that_is_taken_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        command = [*COMMAND, "mem0_self_hosted", "--port", port]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert f"port {port}: " in done.stderr
    assert "Traceback" not in done.stderr
