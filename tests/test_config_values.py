"""`${...}` in values, secrets, and what reaches a provider's model."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from memhub import InvalidConfig
from memhub_config import load_config
from memhub_config.expand import expand
from memhub_config.loader import from_mapping
from third_party import VAULT, install

SECRET = "sk-Sup3r-S3cret: Value, {with} #yaml"


def expanded(value, environ=(), folder=None):
    document = from_mapping({"field": value}, folder)
    problems = document.problems()
    data = expand(document, dict(environ), problems).data
    problems.check()
    return data.get("field", "unset")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("plain", "plain"),
        ("${A}", "one"),
        ("x-${A}-${B}-y", "x-one-two-y"),
        ("${A:-other}", "one"),
        ("${NONE:-other}", "other"),
        ("${EMPTY:-other}", "other"),
        ("${NONE:-}", "unset"),
        ("${EMPTY}", "unset"),
        ("", "unset"),
        ("x${EMPTY}", "x"),
        ("${NONE:-a:-b}", "a:-b"),
        ("$$", "$"),
        ("$${A}", "${A}"),
        ("$$${A}", "$one"),
        ("$A costs $5", "$A costs $5"),
        ("${DOLLAR}", "${A}"),
        (["${A}", "${EMPTY}", "b"], ["one", "b"]),
        ({"x": "${A}", "y": "${EMPTY}"}, {"x": "one"}),
        (7, 7),
        (None, None),
    ],
)
def test_expansion(text, value):
    environ = {"A": "one", "B": "two", "EMPTY": "", "DOLLAR": "${A}"}
    assert expanded(text, environ) == value


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("${NONE}", "configuration: field: the variable NONE is not set; set it, or give ${NONE:-default}"),
        ("${}", "use ${VAR}, ${VAR:-default} or ${file:/path}; for a plain $ write $$"),
        ("${1X}", "use ${VAR}"),
        ("${A B}", "use ${VAR}"),
        ("${A?no}", "use ${VAR}"),
        ("${Ä}", "use ${VAR}"),
        ("${A", "a `${` has no closing `}`"),
        ("${A:-${B}}", "the default of A holds another `${`"),
        ("${file:/nowhere/at/all}", "the file /nowhere/at/all cannot be read: No such file or directory"),
        ("${file:/}", "the file / cannot be read: Is a directory"),
        ("${file:a\0b}", "is no file name"),
        ("${file:~nobody-here/key}", "is in a home folder that is not known; write the path out"),
    ],
)
def test_what_cannot_be_expanded_is_named(text, message):
    with pytest.raises(InvalidConfig) as caught:
        expanded(text)
    assert message in str(caught.value)


def test_a_secret_may_come_from_a_file(tmp_path):
    (tmp_path / "key").write_bytes(b"\xef\xbb\xbfpa ss\n\r\n")
    (tmp_path / "bad").write_bytes(b"\xff")
    assert expanded("<${file:key}>", folder=tmp_path) == "<pa ss>"
    assert expanded(f"${{file:{tmp_path}/key}}") == "pa ss"
    with pytest.raises(InvalidConfig, match="the file bad is not UTF-8 text"):
        expanded("${file:bad}", folder=tmp_path)


def test_keys_are_never_expanded():
    document = from_mapping({"${A}": "x"})
    assert expand(document, {"A": "y"}, document.problems()).data == {"${A}": "x"}


@given(st.text())
def test_what_a_variable_holds_is_only_ever_text(value):
    found = expanded("${V}", {"V": value})
    assert found == (value or "unset")


@given(st.text().map(lambda text: text.replace("${", "$ {")))
def test_text_without_references_stays(text):
    assert expanded(text.replace("$", "$$")) == (text or "unset")


class TestProviderSettings:
    """A provider of another package, with one field of every sort."""

    @pytest.fixture
    def load(self, tmp_path, monkeypatch):
        install(tmp_path / "site", distribution="memhub-vault", module="vault_provider", source=VAULT, entries={"vault": "vault_provider:PROVIDER"})  # fmt: skip
        monkeypatch.syspath_prepend(tmp_path / "site")

        def from_section(section, **environ):
            source = {"stores": {"cloud": {"vault": {"endpoint": "e", "api_key": "${KEY}", **section}}}}
            return load_config(source, environ={"KEY": SECRET, **environ}).stores[0].settings

        return from_section

    def test_results_take_the_type_of_the_field(self, load):
        settings = load(
            {"port": "${P}", "secure": "${S}", "weight": "${W}", "patience": "${T}", "labels": ["${P}"]},
            P="8080",
            S="false",
            W="0.5",
            T="250ms",
        )
        assert (settings.port, settings.secure, settings.weight) == (8080, False, 0.5)
        assert (settings.patience, settings.labels) == (0.25, ("8080",))

    def test_an_empty_optional_value_means_unset(self, load):
        settings = load({"port": "${P:-}", "labels": None, "auth": {"token": "t", "audience": "${P:-}"}})
        assert (settings.port, settings.labels, settings.auth.audience) == (443, (), None)

    def test_an_empty_required_value_says_why_it_is_missing(self, load):
        with pytest.raises(InvalidConfig) as caught:
            load({"auth": {"token": "${T}"}}, T="")
        assert (
            str(caught.value)
            == "configuration: stores.cloud.vault.auth.token: is required, and ${T} is empty"
        )

    def test_nested_fields_have_nearest_names(self, load):
        with pytest.raises(InvalidConfig, match=r"vault\.auth\.tokn: no such field; did you mean 'token'"):
            load({"auth": {"token": "t", "tokn": "x"}})

    def test_a_secret_is_held_as_one(self, load):
        settings = load({})
        assert settings.api_key == SecretStr(SECRET)
        assert SECRET not in repr(settings) + str(settings)

    @pytest.mark.parametrize("field", ["port", "secure", "weight", "patience", "labels", "auth", "nothing"])
    def test_no_refusal_repeats_the_value(self, load, field):
        with pytest.raises(InvalidConfig) as caught:
            load({field: "${KEY}"})
        error = caught.value
        assert f"stores.cloud.vault.{field}: " in str(error)
        assert (
            SECRET
            not in f"{error}{error!r}{error.__cause__!r}{error.__context__!r}{error.__notes__ if hasattr(error, '__notes__') else ''}"
        )

    def test_settings_are_frozen(self, load):
        with pytest.raises(ValueError, match="frozen"):
            load({}).port = 1


SENT = {
    "qdrant.api_key": {"url": "http://127.0.0.1:6333"},
    "mem0.api_key": {},
    "volc_memory.api_key": {"mem0": {"endpoint": "https://example.com"}},
}


@pytest.mark.parametrize("place", SENT)
@pytest.mark.parametrize("around", ["{}\nsecond line", "{}\N{RIGHT SINGLE QUOTATION MARK}", " {}", "{}\x7f"])
def test_a_key_that_no_header_can_hold_is_refused_unseen(place, around):
    provider, field = place.split(".")
    section = {**SENT[place], field: around.format(SECRET)}
    with pytest.raises(InvalidConfig) as caught:
        load_config({"stores": {"a": {provider: section}}})
    told = str(caught.value)
    assert told.startswith(
        f"configuration: stores.a.{place}: must be one line of plain ASCII without spaces around it, "
        "since a header holds it"
    )
    assert SECRET not in repr(caught.value)


def test_so_is_a_token_of_the_process():
    with pytest.raises(InvalidConfig) as caught:
        load_config(environ={"MEMHUB_MCP_TOKEN": f"{SECRET}\n"})
    assert str(caught.value).startswith("MEMHUB_MCP_TOKEN: must be one line of plain ASCII")
    assert SECRET not in repr(caught.value)
