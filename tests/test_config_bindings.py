"""Bindings in a configuration: who may write where and read what, said once."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memhub import Hub, InvalidConfig, InvalidInput, MemoryStore, Scope
from memhub.bindings import Binding, ScopeTemplate
from memhub_adapters.in_memory import InMemoryAdapter
from memhub_config import load_config, open_blocking_hub, open_hub

TEXT = """\
stores:
  main:
    in_memory: {}
bindings:
  team:
    scope: team
  tenant:
    scope: {tenant: "${TENANT:-acme}"}
    readonly: true
  player:
    store: main
    scope: {tenant: acme, user: "{user}"}
    read: [team, tenant]
"""


def told(text, environ=None):
    """What loading this text is refused with."""
    import yaml

    with pytest.raises(InvalidConfig) as caught:
        load_config(yaml.safe_load(text), environ=environ or {})
    return caught.value.message


def test_a_binding_is_opened_with_the_values_of_the_product(tmp_path):
    (tmp_path / "memhub.yaml").write_text(TEXT)

    async def run():
        async with open_hub(tmp_path / "memhub.yaml", environ={}) as hub:
            memory = hub.bind("player", user="u_42")
            assert memory.scopes == (Scope(tenant="acme", user="u_42"), Scope("team"), Scope(tenant="acme"))
            assert not memory.readonly
            assert hub.bind("tenant").readonly

    asyncio.run(run())
    with open_blocking_hub(tmp_path / "memhub.yaml", environ={"TENANT": "zeta"}) as hub:
        assert hub.bind("tenant").scope == Scope(tenant="zeta")


@pytest.mark.parametrize(
    ("name", "values", "problem"),
    [
        ("player", {}, "user: is required here; the values are user"),
        ("player", {"user": ""}, "user: must be non-blank text"),
        ("player", {"user": " "}, "user: must be non-blank text"),
        ("player", {"user": 42}, "user: must be non-blank text"),
        ("player", {"user": "u", "scope": "x"}, "scope: is no value here; the values are user"),
        ("team", {"user": "u"}, "user: is no value here; the values are none"),
        ("plaier", {}, "binding: no 'plaier' here; the bindings are 'team', 'tenant', 'player'"),
    ],
)
def test_values_that_do_not_fit_are_refused(name, values, problem, tmp_path):
    (tmp_path / "memhub.yaml").write_text(TEXT)
    with (
        open_blocking_hub(tmp_path / "memhub.yaml", environ={}) as hub,
        pytest.raises(InvalidInput) as caught,
    ):
        hub.bind(name, **values)
    assert caught.value.message == problem


def binding(section, more=""):
    return (
        f"stores: {{main: {{in_memory: {{}}}}{more}}}\nbindings:\n  a:\n    scope: a\n  b:\n    {section}\n"
    )


TWO = ", other: {in_memory: {}}"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (binding("scope: b\n    read: [c]"), "bindings.b.read[0]: no such binding; the bindings are a, b"),
        (binding("scope: b\n    read: [aa]"), "no such binding; did you mean 'a'?"),
        (binding("scope: b\n    read: [b]"), "bindings.b.read[0]: names this binding itself; leave it out"),
        (binding("scope: a\n    read: [a]"), "bindings.b.read[0]: has the very scope of this binding"),
        (binding("scope: b\n    store: mian"), "bindings.b.store: no such store; did you mean 'main'?"),
        (binding("scope: b", TWO), "bindings.b.store: is required with several stores; one of main, other"),
        (
            binding("scope: b\n    store: other\n    read: [a]", TWO).replace(
                "scope: a\n", "scope: a\n    store: main\n"
            ),
            "bindings.b.read[0]: is a binding of another store; memories are shared within one",
        ),
        (binding("read: [a]"), "bindings.b.scope: is required"),
        (binding("scope: {}"), "bindings.b.scope: must be a name, or a mapping of labels to text"),
        (
            binding("scope: {user: 42}"),
            "bindings.b.scope: must be a name, or a mapping of labels to text; none is",
        ),
        (binding("scope: [a]"), "bindings.b.scope: must be a name, or a mapping"),
        (binding("scope: ''"), "bindings.b.scope: is required, and it is empty"),
        (binding('scope: "{}"'), "bindings.b.scope: has a lone {; a value is {name}"),
        (binding('scope: "a}"'), "bindings.b.scope: has a lone }"),
        (
            binding('scope: "{a}:{b}"'),
            "takes two values in one text, where they could run together; use pairs",
        ),
        (
            binding("scope: {t: '${T:-}', user: u}"),
            "bindings.b.scope.t: must not be empty, and ${T:-} is empty",
        ),
        (
            binding(f"scope: {'z' * 600}"),
            "bindings.b.scope: takes 602 bytes as canonical JSON, more than 512",
        ),
        (binding("scope: {tenant: , user: u}"), "bindings.b.scope: must be a name, or a mapping of labels"),
        (binding('scope: "a\\0"'), "bindings.b.scope: holds a NUL character; remove it"),
        (binding("scope: b\n    reed: [a]"), "bindings.b.reed: no such field; did you mean 'read'?"),
        ("stores: {main: {in_memory: {}}}\nbindings: [a]", "bindings: must hold bindings by name"),
        (
            "stores: {main: {in_memory: {}}}\nbindings: {a: x}",
            "bindings.a: must be a mapping of store, scope",
        ),
    ],
)
def test_what_cannot_be_shared_is_refused_before_anything_opens(text, problem):
    assert problem in told(text)


def test_a_hub_that_is_not_open_binds_nothing():
    with pytest.raises(InvalidInput, match="hub: is not open"):
        open_blocking_hub({"stores": {"main": {"in_memory": {}}}}).bind("team")


def test_a_read_list_with_values_needs_them_too():
    friend = Binding(store="main", scope=ScopeTemplate("me"), read=(ScopeTemplate("player:{friend}"),))
    hub = Hub({"main": MemoryStore(InMemoryAdapter())}, {"friend": friend})
    assert hub.bind("friend", friend="7").scopes == (Scope("me"), Scope("player:7"))
    with pytest.raises(InvalidInput, match="friend: is required"):
        hub.bind("friend")


def test_a_binding_of_a_store_that_is_not_there_is_refused():
    hub = Hub({}, {"a": Binding(store="gone", scope=ScopeTemplate("a"))})
    with pytest.raises(InvalidInput, match="store: no 'gone' here"):
        hub.bind("a")


@given(st.text(min_size=1), st.text(min_size=1))
def test_different_values_never_make_one_scope(one, other):
    for template in (ScopeTemplate("a{x}b"), ScopeTemplate({"k": "{x}", "l": "m"}), ScopeTemplate("{{{x}}}")):
        assert (template.fill({"x": one}) == template.fill({"x": other})) == (one == other)


def test_braces_are_doubled():
    assert ScopeTemplate("{{{x}}}{{").fill({"x": "{x}"}) == Scope("{{x}}{")
