"""Folders and file names: reversible, apart on every disk, legal on Windows, never outside of the root."""

import itertools
import re
import unicodedata
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memhub import Record, Scope
from memhub_adapters.markdown.names import SUFFIX, file_name, folder_of, scope_of, short_id
from memhub_adapters.markdown.tree import Tree
from strategies import records, scopes

DEVICES = {"con", "prn", "aux", "nul", "conin$", "conout$"} | {
    f"{port}{n}" for port in ("com", "lpt") for n in "0123456789¹²³"
}
TORTURE = [
    *("..", ".", "a/b", "../../etc/passwd", "CON", "con", "aux.md", "com1.tar.gz", "nul ", "LPT¹", "conin$"),
    *("trailing.", "trailing ", " leading", ".hidden", "a\\b", "c:", "x?*<>|", '"', "%41", "%", "a=b", "a,b"),
    *("john-doe", "john_doe", "john%", "john", "John", "JOHN", "Straße", "STRASSE", "strasse", "ſ", "s", "ı"),
    *("é", "e\u0301", "É", "\u1100\u1161", "가", "ﬁ", "fi", "Å", "\u212b", "K", "\u212a", "ς", "σ", "Σ"),
    *("x" * 300, "X" * 300, "." * 300, "é" * 250, "漢" * 170, "🧠" * 120, "我最喜欢的咖啡店", "สวัสดี", "안녕"),
    *("\u202e", "a\u200db", "👨‍👩‍👧", "\x01", "\x7f", "\u2028", "tab\there", "line\nbreak", "main", "or", "select"),
]  # fmt: skip
PAIRS = [
    *({"a": "b"}, {"a": "b", "c": "d"}, {"a": "b,c=d"}, {"a=b": "c"}, {"a": "=b"}, {"a,b": "c"}, {"CON": "con"}),
    *({"tenant": "acme", "user": "u" * 250}, {"tenant": "acme", "user": "U" * 120}, {"é": "e\u0301"}),
]  # fmt: skip
EVERY = [*map(Scope, TORTURE), *map(Scope, PAIRS)]


def legal(name: str) -> bool:
    """What Windows, macOS and Linux all take as a name, and none of them changes."""
    return (
        0 < len(name.encode()) < 240
        and not re.search(r'[<>:"/\\|?*\x00-\x1f\x7f]', name)
        and name[0] not in ". "
        and name[-1] not in ". "
        and name.split(".", maxsplit=1)[0].rstrip().casefold() not in DEVICES
    )


def folded(folders: tuple[str, ...]) -> set[str]:
    """What disks make of a path that ignore case, or keep another normal form."""
    path = "/".join(folders)
    forms = {unicodedata.normalize(form, path) for form in ("NFC", "NFD", "NFKC", "NFKD")}
    return {fold(text) for text in forms for fold in (str.casefold, str.upper, str.lower)} | {
        unicodedata.normalize("NFC", text.upper().casefold()) for text in forms
    }


@given(scopes)
def test_a_folder_is_legal_everywhere_and_says_its_scope(scope):
    folders = folder_of(scope)
    assert all(map(legal, folders))
    assert scope_of(folders) == scope
    for form in ("NFC", "NFD"):
        assert scope_of(tuple(unicodedata.normalize(form, folder) for folder in folders)) == scope


@pytest.mark.parametrize("scope", EVERY, ids=repr)
def test_hard_scopes_have_legal_folders_and_come_back(scope):
    assert all(map(legal, folder_of(scope)))
    assert scope_of(folder_of(scope)) == scope


@given(scopes, scopes)
@example(Scope("Work"), Scope("work"))
@example(Scope("a=b"), Scope({"a": "b"}))
def test_two_scopes_never_share_a_folder(one, other):
    if one != other:
        assert not folded(folder_of(one)) & folded(folder_of(other))


def test_hard_scopes_never_share_a_folder_nor_lie_in_one_another():
    for one, other in itertools.permutations(EVERY, 2):
        assert not folded(folder_of(one)) & folded(folder_of(other)), (one, other)
        assert folder_of(other)[: len(folder_of(one))] != folder_of(one), (one, other)


@pytest.mark.parametrize(
    "folders",
    [
        ("Work",),
        ("a%",),
        ("%41%4",),
        ("%4a%4A",),
        ("a=b=c",),
        ("=",),
        ("%zz",),
        ("%ff",),
        ("x", "y"),
        ("%61",),
    ],
)
def test_a_folder_that_no_scope_would_have_is_none(folders):
    assert scope_of(folders) is None


@given(records, st.booleans())
def test_a_file_has_a_legal_name_that_no_disk_changes(record, longer):
    name = file_name(record, longer=longer)
    assert legal(name)
    assert name.endswith(SUFFIX)
    assert unicodedata.normalize("NFC", name.casefold()) == name
    assert folded((name,)) & {name}
    assert name.startswith(record.observed_at.strftime("%Y-%m-%d"))


@pytest.mark.parametrize(
    ("content", "slug"),
    [
        ("Prefers jasmine tea!", "-prefers-jasmine-tea"),
        ("Café → Ünïted / CON", "-cafe-united-con"),
        ("我最喜欢的咖啡店", "-我最喜欢的咖啡店"),
        ("안녕 세계", "-안녕-세계"),
        ("...", ""),
        ("a very long sentence that goes on and on until it is cut between two words", "-a-very-long-sentence-that-goes-on-and-on-until-it-is-cut"),
        ("x" * 100, "-" + "x" * 60),
    ],
)  # fmt: skip
def test_a_file_is_named_after_its_day_its_words_and_its_id(content, slug):
    moment = datetime(2026, 3, 1, 23, 59, tzinfo=UTC)
    record = Record(
        id="01a22cc3-94da-70c3-a656-d2b7138ebf9c",
        scope=Scope("home"),
        kind="fact",
        content=content,
        created_at=moment,
        updated_at=moment,
        observed_at=moment,
        revision="r",
    )
    assert file_name(record) == f"2026-03-01{slug}-138ebf9c.md"


def test_an_odd_id_has_a_plain_short_form():
    assert re.fullmatch("[0-9a-f]{8}", short_id("../../CON"))
    assert short_id("A" * 512) != short_id("B" * 512)


class Folding(Tree):
    """A disk that keeps the case it was first given, lists that, and finds a name in whatever case."""

    def path(self, name: str) -> bytes:
        found = super().path("")[:-1]
        for part in filter(None, name.split("/")):
            listed = {entry.name.casefold(): entry.name for entry in Path(found.decode()).iterdir()}
            found += b"/" + listed.get(part.casefold(), part).encode()
        return found


def test_a_disk_that_changes_the_case_of_names_still_lists_the_scopes(tmp_path):
    for name in ("WORK", "Tenant=Acme", "%57ORK"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "NOTE.MD").write_text("x", encoding="utf-8")
    tree = Folding(tmp_path)
    found = set(tree.scopes())
    assert found == {Scope("work"), Scope(tenant="acme"), Scope("Work")}
    assert all(list(tree.files(scope)) == [b"NOTE.MD"] for scope in found)
    assert set(Tree(tmp_path).scopes()) == set()
