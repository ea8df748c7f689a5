"""Providers by name: ours and those that other packages register."""

import json
import sys

import pytest

from memhub import InvalidConfig
from memhub_config import load_config, providers
from memhub_config.schema import json_schema
from third_party import VAULT, install


@pytest.fixture
def site(tmp_path, monkeypatch):
    """Installs a distribution that the interpreter then finds."""

    def add(distribution, entries, source=VAULT, module=None):
        folder = tmp_path / distribution
        install(folder, distribution=distribution, source=source, entries=entries, module=module)
        monkeypatch.syspath_prepend(folder)

    return add


def message(source):
    with pytest.raises(InvalidConfig) as caught:
        load_config(source, environ={})
    return str(caught.value)


def store(**section):
    return {"stores": {"a": section}}


def test_a_registered_provider_is_as_valid_as_ours(site):
    site("memhub-one", {"one": "memhub_one:PROVIDER"}, VAULT.replace('"vault", VaultS', '"one", VaultS'))
    assert providers.known() == (*providers.BUILT_IN, "one")
    config = load_config(store(one={"endpoint": "x", "api_key": "k"}))
    assert config.stores[0].provider.name == "one"
    assert "one" in message(store(two={}))


def test_it_is_imported_only_when_named(site):
    site("memhub-lazy", {"lazy": "memhub_lazy:PROVIDER"}, "raise SystemExit('imported')")
    load_config(store(in_memory={}))
    assert "memhub_lazy" not in sys.modules


def test_a_name_that_two_packages_register_is_an_error(site):
    site("memhub-first", {"twin": "memhub_first:PROVIDER"})
    site("memhub-second", {"twin": "memhub_second:PROVIDER"})
    told = message(store(in_memory={}))
    assert told == (
        "provider 'twin': the name is taken more than once, by memhub-first and memhub-second; uninstall one"
    )


@pytest.mark.parametrize("name", ["sqlite", "timeout"])
def test_our_own_names_cannot_be_taken(site, name):
    site("memhub-thief", {name: "memhub_thief:PROVIDER"})
    assert f"provider '{name}': the name is taken more than once, by memhub-thief" in message(
        store(in_memory={})
    )


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("raise RuntimeError('sk-secret')", "stores.a.odd: provider 'odd': memhub-odd fails to import with RuntimeError"),
        ("import no_such_module", "memhub-odd fails to import with ModuleNotFoundError"),
        ("", "memhub-odd fails to import with AttributeError"),
        ("PROVIDER = 3", "provider 'odd': its entry point must be a memhub_config.Provider of that name"),
        (VAULT, "provider 'odd': its entry point must be a memhub_config.Provider of that name"),
        (VAULT.replace('"vault", VaultSettings', '"odd", dict'), "its settings must derive from memhub_config.Section"),
        (
            VAULT.replace('"vault", VaultS', '"odd", VaultS').replace("port: int = 443", "user_id: str = ''"),
            "provider 'odd': has the field user_id, but a scope is given per call",
        ),
    ],
)  # fmt: skip
def test_an_entry_point_that_is_no_provider_is_named(site, monkeypatch, source, expected):
    monkeypatch.delitem(sys.modules, "memhub_odd", raising=False)
    site("memhub-odd", {"odd": "memhub_odd:PROVIDER"}, source)
    told = message(store(odd={"endpoint": "x", "api_key": "k"}))
    monkeypatch.delitem(sys.modules, "memhub_odd", raising=False)
    assert expected in told
    assert "sk-secret" not in told


def test_every_provider_of_ours_loads_by_its_name():
    assert [providers.load(name).name for name in providers.BUILT_IN] == list(providers.BUILT_IN)


def test_the_schema_leaves_other_packages_out(site):
    before = json.dumps(json_schema())
    site("memhub-other", {"other": "memhub_other:PROVIDER"})
    assert json.dumps(json_schema()) == before
