"""What is built is what is shipped: the same packages from every way of building, typed and light."""

import subprocess
import sys
import tarfile
import venv
import zipfile
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parent.parent
PACKAGES = {"memhub", "memhub_adapters", "memhub_config"}
CONSUMER = """
from memhub import Fact, MemoryStore, Observation, Record, Scope
from memhub_adapters.in_memory import InMemoryAdapter


async def remember() -> Record:
    async with MemoryStore(InMemoryAdapter()) as memory:
        said = await memory.observe(Observation(Scope("player:42"), facts=[Fact("Prefers tea")]))
    return said.records[0].content
"""


def run(*command: object, cwd: Path = ROOT) -> str:
    done = subprocess.run([*map(str, command)], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sdist, and the wheel that was built from it."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder)
    return folder


@pytest.fixture(scope="module")
def wheel(dist: Path) -> Path:
    return next(dist.glob("*.whl"))


def files(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_the_wheel_holds_the_three_packages_and_nothing_else(wheel: Path) -> None:
    top = {name.split("/")[0] for name in files(wheel)}
    assert {name for name in top if not name.endswith(".dist-info")} == PACKAGES


def test_each_package_says_that_it_is_typed(wheel: Path) -> None:
    assert {f"{package}/py.typed" for package in PACKAGES} <= files(wheel)


def test_a_wheel_built_directly_holds_the_same_files(wheel: Path, tmp_path: Path) -> None:
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", tmp_path)
    assert files(next(tmp_path.glob("*.whl"))) == files(wheel)


def test_the_sdist_holds_what_it_takes_to_test_it(dist: Path) -> None:
    with tarfile.open(next(dist.glob("*.tar.gz"))) as archive:
        top = {name.split("/")[1] for name in archive.getnames()}
    assert {"hub", "adapters", "config", "tests", "examples", "docs", "requirements"} <= top
    assert {"Makefile", "README.md", "CHANGELOG.md", "LICENSE", "pyproject.toml"} <= top


def test_every_source_file_is_shipped(wheel: Path) -> None:
    sources = {
        path.relative_to(root).as_posix()
        for root in (ROOT / "hub", ROOT / "adapters", ROOT / "config")
        for path in root.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {name for name in files(wheel) if name.split("/")[0] in PACKAGES} == sources


def test_a_consumer_of_the_installed_wheel_is_type_checked(wheel: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "venv", symlinks=True)
    python = tmp_path / "venv" / "bin" / "python"
    run(sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index", wheel)
    (tmp_path / "consumer.py").write_text(CONSUMER)
    mypy = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--python-executable", str(python)]
    done = subprocess.run([*mypy, "consumer.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    errors = [line for line in done.stdout.splitlines() if "error:" in line]
    assert len(errors) == 1, done.stdout + done.stderr
    assert 'consumer.py:9: error: Incompatible return value type (got "str", expected "Record")' in errors[0]


def test_importing_the_hub_loads_the_standard_library_alone() -> None:
    names = run(
        sys.executable,
        "-I",
        "-c",
        "import sys; a = set(sys.modules); import memhub; print(*{*sys.modules} - a)",
    )
    loaded = {name.split(".")[0] for name in names.split()}
    assert loaded - {"memhub"} <= sys.stdlib_module_names
    heavy = {"asyncio", "concurrent", "sqlite3", "ssl", "socket", "email", "http", "logging", "unittest"}
    assert not loaded & heavy


def closure(name: str) -> set[str]:
    """The distributions that installing one brings, itself included."""
    found, waiting = set(), [name]
    while waiting:
        one = distribution(waiting.pop())
        if one.name in found:
            continue
        found.add(one.name)
        wanted = map(Requirement, one.requires or ())
        waiting += [need.name for need in wanted if not need.marker or need.marker.evaluate({"extra": ""})]
    return found


def test_installing_memhub_stays_light() -> None:
    brought = closure("memhub")
    sizes = [
        file.locate().stat().st_size
        for name in brought - {"memhub"}
        for file in distribution(name).files or ()
        if file.locate().exists()
    ]
    assert len(brought) <= 25, sorted(brought)
    assert sum(sizes) < 40_000_000
