"""The kit under pytest: one item a rule, no quiet override, nothing green that tested nothing."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from memhub.conformance import AdapterConformance, Context, rule
from memhub.conformance.rules import RULES

HEAD = '''
from contextlib import asynccontextmanager

import pytest

from memhub.capabilities import Capabilities
from memhub.conformance import AdapterConformance, rule
from memhub_adapters.in_memory import InMemoryAdapter


class Silent(InMemoryAdapter):
    capabilities = Capabilities(provider="silent", facts="no")


class Forgetful(InMemoryAdapter):
    async def get(self, ids, *, now):
        return []


@rule(needs=["facts"])
async def my_own_rule(ctx):
    """A rule of the author's."""
    assert (await ctx.keep("mine")).content == "mine"


def opening(make):
    @asynccontextmanager
    async def open_adapter(self, clock):
        yield make()

    return open_adapter


class TestMine(AdapterConformance):
'''
DEVIATION = """
    @pytest.mark.xfail(strict=True, reason="it forgets")
    def test_get_returns_what_observe_returned(self):
        super().test_get_returns_what_observe_returned()
"""


def conformance(folder: Path, body: str, *, only: str = "") -> tuple[int, str]:
    """The exit code and the output of pytest over `TestMine` with this body."""
    (folder / "test_mine.py").write_text(HEAD + body)
    options = ["-q", "-rA", "-p", "no:cacheprovider", "-c", "/dev/null", "-k", only]
    command = [sys.executable, "-m", "pytest", *options, "test_mine.py"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def test_one_item_a_rule() -> None:
    items = {name for name in vars(AdapterConformance) if name.startswith("test_")}
    assert items == {f"test_{one.name}" for one in RULES}
    assert len(items) >= 80


def test_an_item_is_named_and_described_after_its_rule() -> None:
    for one in RULES:
        item = getattr(AdapterConformance, f"test_{one.name}")
        assert (item.__name__, item.__doc__) == (f"test_{one.name}", one.summary)


def test_a_sound_adapter_passes_and_says_what_was_skipped(tmp_path: Path) -> None:
    code, output = conformance(tmp_path, "    open_adapter = opening(InMemoryAdapter)")
    assert code == 0, output
    assert "needs operations: every write is done when it returns" in output
    assert "is for adapters without delete" in output


def test_a_broken_adapter_fails_under_the_name_of_the_rule(tmp_path: Path) -> None:
    code, output = conformance(tmp_path, "    open_adapter = opening(Forgetful)", only="get_")
    assert code == 1
    assert "FAILED test_mine.py::TestMine::test_get_returns_what_observe_returned" in output


def test_an_adapter_that_declares_nothing_does_not_pass(tmp_path: Path) -> None:
    code, output = conformance(tmp_path, "    open_adapter = opening(Silent)")
    assert code == 1
    assert "1 failed" in output
    assert "FAILED test_mine.py::TestMine::test_the_kit_has_something_to_test" in output
    assert "no rule of tier 1 applies: the store declares neither facts nor turns" in output


def test_rules_of_the_author_run_beside_the_kits(tmp_path: Path) -> None:
    body = "    rules = (my_own_rule,)\n    open_adapter = opening(InMemoryAdapter)"
    code, output = conformance(tmp_path, body, only="my_own_rule")
    assert code == 0, output
    assert "PASSED test_mine.py::TestMine::test_my_own_rule" in output


def test_an_expected_deviation_shows_in_the_report(tmp_path: Path) -> None:
    code, output = conformance(
        tmp_path, f"    open_adapter = opening(Forgetful)\n{DEVIATION}", only="get_returns"
    )
    assert code == 0, output
    assert "XFAIL test_mine.py::TestMine::test_get_returns_what_observe_returned - it forgets" in output


def test_a_deviation_that_is_gone_fails(tmp_path: Path) -> None:
    body = f"    open_adapter = opening(InMemoryAdapter)\n{DEVIATION}"
    code, output = conformance(tmp_path, body, only="get_returns")
    assert code == 1
    assert "[XPASS(strict)] it forgets" in output


def overriding(
    item: object, parent: type[AdapterConformance] = AdapterConformance
) -> type[AdapterConformance]:
    return type("TestMine", (parent,), {"test_an_open_store_answers": item})


def marked(mark: pytest.MarkDecorator | None = None) -> Callable[[object], None]:
    """A test in the place of a rule's, under this mark."""

    def test(self: object) -> None:
        raise AssertionError("never run")

    return mark(test) if mark else test


@pytest.mark.parametrize(
    "item",
    [
        None,
        marked(),
        marked(pytest.mark.skip(reason="slow")),
        marked(pytest.mark.xfail(reason="not strict")),
        marked(pytest.mark.xfail(strict=True)),
        marked(pytest.mark.xfail(strict=True, reason="never run", run=False)),
    ],
    ids=["removed", "plain", "skipped", "not strict", "no reason", "not run"],
)
def test_a_quiet_override_is_refused(item: object) -> None:
    with pytest.raises(TypeError, match=r"TestMine\.test_an_open_store_answers overrides a rule; mark it"):
        overriding(item)


def test_an_override_by_a_mixin_is_refused() -> None:
    class Mixin:
        test_an_open_store_answers = marked()

    with pytest.raises(TypeError, match="overrides a rule"):
        type("TestMine", (Mixin, AdapterConformance), {})


def test_a_strict_xfail_with_a_reason_is_let_through() -> None:
    suite = overriding(marked(pytest.mark.xfail(strict=True, reason="no route to the provider")))
    assert issubclass(type("TestMore", (suite,), {}), AdapterConformance)


def test_a_rule_of_the_author_cannot_be_overridden_quietly_either() -> None:
    @rule()
    async def an_open_store_of_mine(ctx: Context) -> None:
        """A rule of the author's."""

    parent = type("TestParent", (AdapterConformance,), {"rules": (an_open_store_of_mine,)})
    with pytest.raises(TypeError, match=r"TestChild\.test_an_open_store_of_mine overrides a rule"):
        type("TestChild", (parent,), {"test_an_open_store_of_mine": marked()})


def test_a_suite_without_open_adapter_says_what_to_write() -> None:
    suite = type("TestMine", (AdapterConformance,), {})()
    with pytest.raises(NotImplementedError, match=r"TestMine: write open_adapter\(self, clock\)"):
        suite.test_an_open_store_answers()


def test_a_rule_needs_a_docstring() -> None:
    async def silent(ctx: Context) -> None:
        return

    with pytest.raises(ValueError, match="rule silent has no docstring"):
        rule()(silent)


def test_a_rule_names_capabilities_that_exist() -> None:
    with pytest.raises(KeyError, match="telepathy"):
        rule(needs=["telepathy"])


def test_rules_and_runner_need_no_pytest() -> None:
    code = (
        "import sys; sys.modules['pytest'] = None\n"
        "from memhub.conformance import Clock, Context, Report, Result, rule, run_conformance\n"
        "from memhub.conformance.rules import RULES\n"
        "assert len(RULES) >= 80"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
