"""Bad input of every kind: what it exits with, and what it says."""

import pytest
import typer

from command import TWO, Command
from memhub import __version__
from memhub_config.cli.app import app

P = ("--scope", "p")
COMMANDS = sorted(typer.main.get_command(app).commands)


@pytest.fixture
def memhub(tmp_path, capsys, monkeypatch):
    return Command(tmp_path, capsys, monkeypatch)


def test_the_commands():
    assert (
        sorted(
            [
                "init",
                "check",
                "schema",
                "stores",
                "scopes",
                "sweep",
                "observe",
                "import",
                "recall",
                "list",
                "get",
                "update",
                "invalidate",
                "delete",
                "purge",
                "stats",
                "conformance",
                "demo",
                "tail",
                "mcp",
                "export",
                "migrate",
                "backup",
                "restore",
                "reindex",
                "compact",
                "reembed",
            ]
        )
        == COMMANDS
    )


def test_the_version(memhub):
    assert memhub("--version").out == f"memhub {__version__}\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_takes_a_configuration_and_json(memhub, command):
    ended = memhub(command, "--help")
    assert ended.code == 0
    assert "--config" in ended.out
    assert "--json" in ended.out
    assert "\x1b" not in ended.out


def test_no_command_shows_the_help(memhub):
    ended = memhub()
    assert ended.code == 2
    assert "recall" in ended.out + ended.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing"], "No such command 'nothing'"),
        (["recall"], "Missing argument 'TEXT'"),
        (["recall", "x"], "no scope; give --scope NAME, or --label KEY=VALUE"),
        (["list"], "no scope"),
        (["observe", "x"], "no scope"),
        (["import", "-"], "no scope"),
        (["purge"], "no scope"),
        (["recall", "x", *P, "--label", "a=b"], "two scopes; give --scope or --label, not both"),
        (["observe", "x", *P, "--label", "a=b"], "two scopes"),
        (["stats", *P, "--label", "a=b"], "two scopes"),
        (["observe", "x", "--label", "a"], "--label: must be KEY=VALUE"),
        (["observe", "x", "--label", "=b"], "--label: must be KEY=VALUE"),
        (["observe", "x", "--label", "a="], "scope: every name, key and value must be non-empty text"),
        (["observe", "x", "--scope", ""], "scope: every name, key and value must be non-empty text"),
        (["recall", "x", "--label", "a=b", "--label", "a=c"], "--label: gives 'a' twice"),
        (["observe", "x", *P, "--attribute", "a"], "--attribute: must be KEY=VALUE"),
        (["observe", "x", *P, "--attribute", "a=1", "--attribute", "a=2"], "--attribute: gives 'a' twice"),
        (["observe", "x", *P, "--kind", "rumour"], "--kind: must be one of fact, preference, episode, profile"),
        (["observe", "x", *P, "--role", "king"], "--role: must be one of system, user, assistant, tool"),
        (["observe", "x", *P, "--role", "user", "--kind", "fact"], "are for facts; leave out --role"),
        (["observe", "x", *P, "--expires-at", "soon"], "--expires-at: must be an RFC 3339 time"),
        (["observe", "x", *P, "--observed-at", "2026-03-01T00:00:00"], "--observed-at: has no time zone"),
        (["observe", "two", "facts", *P], "unexpected extra argument"),
        (["recall", "x", *P, "--limit", "many"], "Invalid value for '--limit'"),
        (["recall", "x", *P, "--where", "n > 3"], "--where: must be a JSON object"),
        (["recall", "x", *P, "--where", "[1]"], "--where: must be a JSON object"),
        (["recall", "x", *P, "--mode", "psychic"], "--mode: must be keyword, semantic or hybrid"),
        (["recall", "x", *P, "--kind", "rumour"], "--kind: must be one of"),
        (["recall", "x", *P, "--since", "2026-13-01T00:00:00Z"], "--since: is no time that exists"),
        (["recall", "x", *P, "--cursor", "y"], "No such option: --cursor"),
        (["list", *P, "--as-of", "yesterday"], "--as-of: must be an RFC 3339 time"),
        (["get"], "Missing argument 'ID...'"),
        (["update", "x", "--tag", "a", "--no-tags"], "give --tag or --no-tags, not both"),
        (["update", "x", "--no-expiry", "--expires-at", "2199-01-01T00:00:00Z"], "not both"),
        (["update", "x", "--set-attribute", "a"], "--set-attribute: must be KEY=VALUE"),
        (["import", *P, "--batch", "0"], "--batch: must be 1 to 1000"),
        (["conformance"], "Missing argument 'STORE'"),
        (["check", "--confg", "x"], "No such option: --confg"),
    ],
)  # fmt: skip
def test_a_usage_error_exits_with_two(memhub, arguments, message):
    ended = memhub(*arguments)
    assert (ended.code, ended.out) == (2, "")
    assert message in ended.err
    assert "--help`" in ended.err
    told = memhub(*arguments, "--json")
    assert (told.code, told.out, told.error["code"]) == (2, "", "usage")
    assert message in told.error["message"]


def test_a_store_must_be_named_where_there_are_several(memhub):
    memhub.configure(TWO)
    for command in (["stats"], ["scopes"], ["sweep"], ["get", "x"], ["recall", "x", *P]):
        ended = memhub(*command)
        assert (ended.code, ended.out) == (2, "")
        assert "no store; give --store NAME, one of main, other" in ended.err


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["stats", "--store", "mian"], "invalid_input", "no 'mian' here; the stores are 'main'"),
        (["conformance", "mian"], "invalid_input", "no 'mian' here"),
        (["demo", "--store", "mian"], "invalid_input", "no 'mian' here"),
        (["stats", "--config", "gone.yaml"], "invalid_config", "gone.yaml: no such file; `memhub init` writes one"),
        (["recall", " ", *P], "invalid_input", "text: is blank"),
        (["recall", "x", *P, "--limit", "-1"], "invalid_input", "limit: is -1; give 0 to 1000"),
        (["recall", "x", *P, "--limit", "1001"], "invalid_input", "limit: is 1001"),
        (["recall", "x", *P, "--where", '{"n": [1]}'], "invalid_input", "where"),
        (["recall", "x", *P, "--mode", "semantic"], "unsupported", "it searches by words only"),
        (["recall", "x", *P, "--as-of", "2026-01-01T00:00:00Z", "--include-invalidated"], "invalid_input", "include_invalidated: contradicts as_of"),
        (["list", *P, "--cursor", "garbage"], "invalid_input", "cursor: is not one that recall gave"),
        (["observe", "", *P], "invalid_input", "facts[0].content: is blank"),
        (["observe", "x" * 65_537, *P], "invalid_input", "has 65,537 characters, more than 65,536"),
        (["observe", "x", *P, "--attribute", 'a={"b": 1}', "--tag", ""], "invalid_input", "facts[0].tags[0]: is blank"),
        (["observe", "x", *P, "--attribute", f"n={2**60}"], "invalid_input", "2^53"),
        (["observe", "x", *P, "--supersedes", "nobody"], "not_found", "no record 'nobody' in this scope"),
        (["observe", "x", "--scope", "s" * 600], "invalid_input", "more than 512"),
        (["observe", "lone \udcff surrogate", *P], "invalid_input", "lone surrogate"),
        (["get", "nobody"], "not_found", "no record 'nobody'"),
        (["get", "a\nb"], "invalid_input", "id: must be 1 to 512 printable characters"),
        (["update", "nobody", "--content", "x"], "not_found", "no record 'nobody'"),
        (["update", "nobody"], "invalid_input", "patch: is empty"),
        (["update", "x", "--set-attribute", "a=1", "--remove-attribute", "a"], "invalid_input", "sets and removes 'a'"),
        (["invalidate", "nobody"], "not_found", "no record 'nobody'"),
        (["delete", "nobody"], "not_found", "no record 'nobody'"),
        (["import", "gone.jsonl", *P], "invalid_input", "gone.jsonl: cannot be read: No such file or directory"),
        (["import", ".", *P], "invalid_input", ".: cannot be read: Is a directory"),
        (["import", "a\0b", *P], "invalid_input", "it is no file name"),
    ],
)  # fmt: skip
def test_an_error_of_ours_exits_with_one_and_its_code(memhub, arguments, code, message):
    ended = memhub(*arguments)
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.startswith(f"error [{code}] ")
    assert message in ended.err
    assert "Traceback" not in ended.err
    told = memhub(*arguments, "--json")
    assert (told.code, told.out, told.error["code"]) == (1, "", code)
    assert message in told.error["message"]
    assert set(told.error) == {
        "code", "message", "store", "provider", "operation", "retryable", "retry_after", "notes",
    }  # fmt: skip


def test_a_wrong_configuration_is_told_whole(memhub):
    memhub.configure("stores:\n  a:\n    sqlite: {pth: x}\n  b: {}\n")
    for command in (["check"], ["stores"], ["stats", "--store", "a"], ["recall", "x", *P, "--store", "a"]):
        ended = memhub(*command)
        assert (ended.code, ended.out) == (1, "")
        assert ended.err.startswith("error [invalid_config] memhub.yaml has 3 problems:\n")
        assert ended.err.count("\n") == 4


def test_a_wrong_setting_is_named(memhub, monkeypatch):
    monkeypatch.setenv("MEMHUB_LOG_LEVEL", "loud")
    ended = memhub("check")
    assert (ended.code, ended.out) == (1, "")
    assert "MEMHUB_LOG_LEVEL: must be 'debug'" in ended.err


def test_the_variable_names_the_configuration(memhub, monkeypatch, tmp_path):
    (tmp_path / "else.yaml").write_text("stores: {elsewhere: {in_memory: }}")
    monkeypatch.setenv("MEMHUB_CONFIG", "else.yaml")
    assert [store["name"] for store in memhub.json("check")["stores"]] == ["elsewhere"]


def test_purge_asks_on_a_terminal(memhub, monkeypatch):
    from typer.testing import CliRunner

    memhub.json("observe", "x", *P)
    monkeypatch.setattr("memhub_config.cli.changing.on_terminal", lambda: True)
    refused = CliRunner().invoke(app, ["purge", *P], input="n\n")
    assert refused.exit_code == 1
    assert "Remove everything in p?" in refused.output
    assert memhub.json("stats")["live"] == 1
    agreed = CliRunner().invoke(app, ["purge", *P], input="y\n")
    assert "Removed 1 record." in agreed.output
    memhub.json("observe", "x", *P)
    assert memhub("purge", *P, "--yes").out == "Removed 1 record.\n"
