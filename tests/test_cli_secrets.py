"""A planted key, given in every way, in no output whatever happens."""

import logging
import sys

import pytest

from command import Command
from third_party import VAULT, install

SECRET = "sk-Sup3r-S3cret-Value"
P = ("--scope", "p")
MORE = [
    "",
    "labels: [crashes]",
    "labels: [lacks]",
    "labels: [unclosable]",
    "port: '${KEY}'",
    "unknown: '${KEY}'",
    "weight: '${KEY}'",
    "auth: '${KEY}'",
    "auth: {token: '${KEY}', audience: ['${KEY}']}",
    "patience: '${KEY}'",
]


@pytest.fixture
def memhub(tmp_path, capsys, monkeypatch):
    install(tmp_path / "site", distribution="memhub-vault", module="vault_secrets", source=VAULT, entries={"vault": "vault_secrets:PROVIDER"})  # fmt: skip
    monkeypatch.syspath_prepend(tmp_path / "site")
    monkeypatch.delitem(sys.modules, "vault_secrets", raising=False)
    monkeypatch.setenv("KEY", SECRET)
    monkeypatch.setenv("MEMHUB_LOG_LEVEL", "debug")
    (tmp_path / "key").write_text(f"{SECRET}\n")
    return Command(tmp_path, capsys, monkeypatch)


@pytest.mark.parametrize("key", ["${KEY}", "${file:key}", SECRET])
@pytest.mark.parametrize("more", MORE)
def test_no_output_holds_it(memhub, caplog, key, more):
    caplog.set_level(logging.DEBUG)
    memhub.configure(
        f"stores:\n  cloud:\n    vault:\n      endpoint: e\n      api_key: '{key}'\n      {more}\n"
    )
    told = ""
    for arguments in (
        ["check"],
        ["check", "--json"],
        ["stores", "--json"],
        ["observe", "x", *P],
        ["get", "x"],
    ):
        ended = memhub(*arguments)
        assert ended.code in (0, 1)
        told += ended.out + ended.err
    assert "cloud" in told
    assert SECRET not in told + caplog.text
    assert "Traceback" not in told


@pytest.mark.parametrize(
    "text",
    [
        f"stores:\n  cloud:\n    vault: {{api_key: {SECRET}, 'x}}\n",
        f"stores:\n  cloud:\n    vault: {{api_key: *{SECRET}}}\n",
        f"stores:\n  cloud:\n    vault: !{SECRET}\n",
        f"stores:\n  cloud: {SECRET}\n",
        f"stores: {SECRET}\n",
        SECRET,
    ],
)
def test_nor_does_what_is_told_of_a_file_that_cannot_be_read(memhub, text):
    memhub.configure(text)
    for arguments in (["check"], ["check", "--json"]):
        ended = memhub(*arguments)
        assert (ended.code, ended.out) == (1, "")
        assert SECRET not in ended.err
