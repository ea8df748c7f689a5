"""What people see: bars, dates, text in any script."""

import io
import sys

import pytest
from rich.console import Console

from memhub import Scope, Why
from memhub_config.cli.output import visible
from memhub_config.cli.render import block, reasons, scope_text


def drawn(part, width=80):
    console = Console(file=io.StringIO(), width=width, markup=False, highlight=False, emoji=False)
    console.print(part)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]


def test_the_strongest_reason_comes_first_and_has_the_longest_bar():
    why = Why(
        words={"tea": 1.0, "茶": 0.25},
        neighbour={"jasmine": 2.0},
        following=0.5,
        speaker=0.1,
        session=0.01,
        semantic=0.9,
    )
    assert drawn(reasons(why)) == [
        "jasmine    ████████████  2.00  in the turn before it",
        "tea        ██████        1.00  in its own words",
        "meaning    █████         0.90  close in meaning",
        "next turn  ███           0.50  the turn after it matches",
        "茶         ██            0.25  in its own words",
        "speaker    █             0.10  said by someone you name",
        "session    █             0.01  its conversation matches",
    ]


def test_without_unicode_the_bars_are_ascii(monkeypatch):
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
    assert drawn(reasons(Why(words={"tea": 1.0}))) == ["tea  ############  1.00  in its own words"]


def test_nothing_weighed():
    assert drawn(reasons(Why())) == ["no part of it was weighed"]


def test_a_long_word_is_cut_in_sight():
    (line,) = drawn(reasons(Why(words={"x" * 60: 1.0})))
    assert line == "x" * 23 + "…  ████████████  1.00  in its own words"


def test_a_block_hangs_under_its_name_in_any_script():
    assert drawn(block("answer", "我最喜欢的咖啡店在北京的胡同里", told="said by 月"), width=30) == [
        "  answer      我最喜欢的咖啡店",
        "              在北京的胡同里",
        "              said by 月",
    ]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain\ttext\nand lines 🫖 中", "plain\ttext\nand lines 🫖 中"),
        ("\x1b[2J", "\\x1b[2J"),
        ("\r\x00\x7f\x9b", "\\r\\x00\\x7f\\x9b"),
        ("\u202eabc\u2069", "\\u202eabc\\u2069"),
        ("\ud800", "\\ud800"),
    ],
)
def test_what_steers_a_terminal_is_spelled_out(text, shown):
    assert visible(text) == shown


@pytest.mark.parametrize(
    ("scope", "text"),
    [
        (Scope("player:42"), "player:42"),
        (Scope(tenant="acme", user="u=1"), "tenant=acme, user=u=1"),
        (Scope("\x1b"), "\\x1b"),
    ],
)
def test_scopes(scope, text):
    assert scope_text(scope) == text
