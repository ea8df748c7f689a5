"""The real command in a process of its own: pipes, terminals, signals, encodings, secrets."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from command import ONE
from third_party import install

COMMAND = Path(sys.executable).with_name("memhub")
P = ("--scope", "p")
PLAIN = {name: value for name, value in os.environ.items() if not name.startswith(("MEMHUB_", "LC_", "LANG"))}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "memhub.yaml").write_text(ONE)
    return tmp_path


def run(folder, *arguments, stdin=b"", **environ):
    """The finished process; its output as bytes."""
    return subprocess.run(
        [COMMAND, *arguments],
        cwd=folder,
        input=stdin,
        capture_output=True,
        check=False,
        env={**PLAIN, "PYTHONWARNINGS": "error", **environ},
        timeout=60,
    )


def turns(count):
    return b"".join(
        b'{"role": "user", "content": "turn %d", "conversation_id": "c"}\n' % n for n in range(count)
    )


def test_a_memory_lives_from_one_process_to_the_next(folder):
    assert run(folder, "observe", "Prefers jasmine tea 🍵", *P).returncode == 0
    found = run(folder, "recall", "tea", *P, "--json")
    assert (found.returncode, found.stderr) == (0, b"")
    assert json.loads(found.stdout)["hits"][0]["record"]["content"] == "Prefers jasmine tea 🍵"


def test_the_main_module_is_the_command(folder):
    code = "import sys; from memhub_config.cli import main; sys.exit(main(['--version']))"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, env=PLAIN)
    assert told.stdout == run(folder, "--version").stdout


def test_exit_codes(folder):
    assert run(folder, "check").returncode == 0
    assert run(folder, "get", "nobody").returncode == 1
    assert run(folder, "get").returncode == 2
    assert run(folder).returncode == 2


def test_errors_are_data_too(folder):
    ended = run(folder, "get", "nobody", "--json")
    assert ended.stdout == b""
    assert json.loads(ended.stderr)["error"]["code"] == "not_found"


@pytest.mark.parametrize("environ", [{"LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, {"PYTHONIOENCODING": "latin-1"}, {"PYTHONIOENCODING": "ascii"}])  # fmt: skip
def test_an_encoding_that_lacks_characters_loses_none(folder, environ):
    run(folder, "observe", "茶 🍵 é", *P, "--tag", "标签")
    told = run(folder, "recall", "茶", *P, "--explain", "--json", **environ)
    assert (told.returncode, told.stderr) == (0, b"")
    (hit,) = json.loads(told.stdout)["hits"]
    assert (hit["record"]["content"], hit["record"]["tags"]) == ("茶 🍵 é", ["标签"])
    text = run(folder, "recall", "茶", *P, "--explain", **environ)
    assert (text.returncode, text.stderr) == (0, b"")
    assert b"\\u8336 \\U0001f375" in text.stdout


def test_nothing_but_text_is_sent_to_a_pipe(folder):
    run(folder, "import", *P, stdin=turns(3))
    for arguments in (
        ["recall", "turn", *P, "--explain"],
        ["stores"],
        ["check"],
        ["demo"],
        ["--help"],
        ["recall"],
    ):
        ended = run(folder, *arguments, TERM="xterm-256color", COLORTERM="truecolor")
        assert b"\x1b" not in ended.stdout + ended.stderr


@pytest.mark.parametrize(
    "arguments", [["list", *P, "--limit", "1000"], ["list", *P, "--limit", "1000", "--json"]]
)
def test_a_reader_who_leaves_is_no_error(folder, arguments):
    run(folder, "import", *P, stdin=turns(1000))
    with subprocess.Popen([COMMAND, *arguments], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=PLAIN) as process:  # fmt: skip
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) == 141


def closed(folder, streams, *arguments):
    """The exit code of a command that a shell began with these streams closed, and what it said."""
    command = " ".join(["exec", str(COMMAND), *arguments, *streams])
    ended = subprocess.run(
        ["sh", "-c", command], cwd=folder, capture_output=True, check=False, env=PLAIN, timeout=60
    )
    return ended.returncode, ended.stdout, ended.stderr


def test_closed_streams_hold_nothing_up(folder):
    run(folder, "observe", "tea", *P)
    assert closed(folder, [">&-"], "list", *P) == (0, b"", b"")
    assert closed(folder, [">&-"], "list", *P, "--json") == (0, b"", b"")
    assert closed(folder, ["2>&-"], "get", "nobody") == (1, b"", b"")
    assert closed(folder, ["<&-", ">&-", "2>&-"], "observe", "coffee", *P) == (0, b"", b"")
    assert closed(folder, ["<&-"], "observe", "-", *P)[0] == 1
    code, _, told = closed(folder, ["<&-"], "import", *P)
    assert (code, told) == (1, b"error [invalid_input] stdin: holds no turns\n")
    assert json.loads(run(folder, "stats", "--json").stdout)["live"] == 2


@pytest.mark.parametrize("arguments", [["list", *P], ["list", *P, "--json"], ["export", "main"], ["schema"]])
def test_a_full_disk_behind_stdout_is_told(folder, arguments):
    run(folder, "observe", "tea", *P)
    code, _, told = closed(folder, [">/dev/full"], *arguments)
    assert (code, told.count(b"\n")) == (1, 1)
    assert b"stdout: cannot be written: No space left on device" in told


def test_messages_that_cannot_be_told_are_no_failure_of_their_own(folder):
    assert closed(folder, ["2>/dev/full"], "get", "nobody") == (141, b"", b"")


def on_terminal(folder, *arguments, stdin=subprocess.DEVNULL, columns=100):
    """What the command sends to a terminal, and its exit code."""
    main, terminal = pty.openpty()
    environ = {**PLAIN, "TERM": "xterm-256color", "COLUMNS": str(columns)}
    process = subprocess.Popen(
        [COMMAND, *arguments], cwd=folder, stdin=stdin, stdout=terminal, stderr=terminal, env=environ
    )
    os.close(terminal)
    shown = b""
    with suppress(OSError):  # the terminal's other end is closed
        while data := os.read(main, 65_536):
            shown += data
    os.close(main)
    return process.wait(60), shown


def test_a_terminal_gets_colour_and_a_bar(folder):
    (folder / "talk.jsonl").write_bytes(turns(300))
    code, shown = on_terminal(folder, "import", "talk.jsonl", *P)
    assert code == 0
    assert b"Importing" in shown
    assert b"Imported 300 turns of 1 conversation." in shown
    code, shown = on_terminal(folder, "recall", "turn", *P)
    assert code == 0
    assert b"\x1b[" in shown


def test_a_bar_with_json_stays_off_stdout(folder):
    (folder / "talk.jsonl").write_bytes(turns(300))
    main, terminal = pty.openpty()
    ended = subprocess.run(
        [COMMAND, "import", "talk.jsonl", *P, "--json"],
        cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=terminal, env=PLAIN, check=True,
    )  # fmt: skip
    os.close(terminal)
    os.close(main)
    assert json.loads(ended.stdout)["written"] == 300


def test_a_wide_terminal_does_not_make_long_lines(folder):
    run(folder, "observe", "word " * 100, *P)
    _, shown = on_terminal(folder, "list", *P, columns=240)
    plain = re.sub(rb"\x1b\[[0-9;]*m", b"", shown)
    assert max(len(line) for line in plain.decode().splitlines()) <= 100


def test_stdin_from_a_terminal_is_not_waited_for(folder):
    main, terminal = pty.openpty()
    ended = subprocess.run([COMMAND, "import", *P], cwd=folder, stdin=terminal, capture_output=True, env=PLAIN, check=False)  # fmt: skip
    os.close(terminal)
    os.close(main)
    assert ended.returncode == 2
    assert b"no file; name one, or send the lines to stdin" in ended.stderr


STUCK = """
import asyncio, sys

from memhub_adapters.in_memory import InMemoryAdapter
from memhub_config import Provider, Section


class Stuck(InMemoryAdapter):
    async def ping(self):
        print("waiting", file=sys.stderr, flush=True)
        await asyncio.Event().wait()

    async def aclose(self):
        print("closed", file=sys.stderr, flush=True)


async def build(settings, parts):
    return Stuck()


PROVIDER = Provider("stuck", Section, build)
"""


def test_ctrl_c_closes_the_store_and_exits_with_130(folder):
    install(folder / "site", distribution="memhub-stuck", source=STUCK, entries={"stuck": "memhub_stuck:PROVIDER"})  # fmt: skip
    (folder / "memhub.yaml").write_text("stores: {a: {stuck: }}")
    process = subprocess.Popen(
        [COMMAND, "check"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env={**PLAIN, "PYTHONPATH": str(folder / "site")},
    )  # fmt: skip
    assert process.stderr.readline() == b"waiting\n"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, b"", b"closed\nInterrupted.\n")
