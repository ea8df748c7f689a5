"""A file as text: its front matter, entry by entry, and its content.

Front matter is read with PyYAML and changed in its own text: only the entries that change are
written anew, so unknown keys, comments, order, quotes and indents stay as the person left them.
A round-trip YAML library would be one more dependency, and would reflow what it writes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from yaml.nodes import CollectionNode, MappingNode, Node

from memhub_adapters.markdown.errors import Fault
from memhub_adapters.markdown.yamlread import root, values_of
from memhub_adapters.markdown.yamltext import Value, block, inline

__all__ = ["Note", "composed", "read"]

_OPEN: Final = re.compile("\ufeff?---[ \\t]*(\r?\n)")
_CLOSE: Final = re.compile(r"^---[ \t]*(?:\r?\n|\Z)", re.MULTILINE)
_MARK: Final = "\ufeff"
"""What some editors begin a file with; it is no part of the content."""

_SPACE: Final = "  "


@dataclass(frozen=True)
class Note:
    """One file. `head` is what stands before the front matter, None where there is none.

    `newline` is the front matter's own; the content's are left alone.
    """

    head: str
    front: str | None
    content: str
    newline: str

    @cached_property
    def node(self) -> MappingNode | None:
        """The front matter as YAML sees it, None where it holds nothing. Raises Fault."""
        return root(self.front) if self.front else None

    @cached_property
    def lines(self) -> dict[str, int]:
        """The line in the file of each entry, from 1. Raises Fault for a key that is there twice."""
        found: dict[str, int] = {}
        for key, _ in self.node.value if self.node else ():
            line = key.start_mark.line + 2
            if key.value in found:
                raise Fault(f"{key.value}: is there twice, first in line {found[key.value]}", line)
            found[key.value] = line
        return found

    @property
    def first_line(self) -> int:
        """The line in the file that the content begins in, from 1."""
        return 1 if self.front is None else self.front.count("\n") + 3

    def values(self, keys: Mapping[str, object]) -> dict[str, object]:
        """What stands under these keys, as far as they are there. Raises Fault."""
        return values_of(self.node, keys) if self.lines else {}

    def changed(self, values: Mapping[str, Value], content: str, *, last: str) -> Note:
        """The note with these entries, where a None leaves one out, and this content.

        New entries stand before the one named `last`, where there is that, else at the end. Raises Fault where its front matter is written so that nothing can be changed safely.
        """
        front = self.front or ""
        if front and not front.endswith("\n"):
            front += self.newline
        edits = sorted(_edits(self.node, front, values, "", self.newline, last=last), reverse=True)
        for start, end, text in edits:
            front = front[:start] + text + front[end:]
        head = self.head if self.front is not None else f"{self.head}---{self.newline}"
        made = Note(head, front, content, self.newline)
        _check(self, made, values)
        return made

    def text(self) -> str:
        """The whole file."""
        close = "" if self.front is None else f"---{self.newline}"
        return f"{self.head}{self.front or ''}{close}{self.content}{self.newline}"


def read(text: str) -> Note:
    """The note of a file's text. Raises Fault for front matter without an end."""
    opened = _OPEN.match(text)
    if opened is None:
        head = _MARK if text.startswith(_MARK) else ""
        return Note(head, None, _stripped(text[len(head) :], "\n"), "\n")
    closed = _CLOSE.search(text, opened.end())
    if closed is None:
        raise Fault("the front matter has no end; close it with a line of three dashes")
    newline = opened[1]
    front = text[opened.end() : closed.start()]
    return Note(opened[0], front, _stripped(text[closed.end() :], newline), newline)


def composed(values: Mapping[str, Value], content: str) -> Note:
    """A new note."""
    front = "".join(_entry(key, value, "", "\n") for key, value in values.items())
    return Note("---\n", front, content, "\n")


def _stripped(text: str, newline: str) -> str:
    """Without the one newline that ends a file."""
    return text.removesuffix(newline) if text.endswith(newline) else text.removesuffix("\n")


def _entry(key: str, value: Value, indent: str, newline: str) -> str:
    if isinstance(value, Mapping):
        return f"{indent}{key}:{newline}{block(value, indent=indent + _SPACE, newline=newline)}"
    return block({key: value}, indent=indent, newline=newline)


def _edits(
    node: MappingNode | None,
    front: str,
    values: Mapping[str, Value],
    indent: str,
    newline: str,
    *,
    last: str | None = None,
) -> Iterator[tuple[int, int, str]]:
    """What to replace in the front matter, as (start, end, text)."""
    held = {key.value: (key, value) for key, value in node.value} if node else {}
    if node is not None and node.flow_style:
        raise Fault("the front matter is written in { }; write one key a line", node.start_mark.line + 2)
    for key, new in values.items():
        if key in held:
            yield from _edit(*held[key], front, new, newline)
    fresh = {key: new for key, new in values.items() if key not in held and new is not None}
    if fresh:
        end = _line_end(front, _tail(node)) if node and indent else len(front)
        at = _line_start(front, held[last][0].start_mark.index) if last in held else end
        yield at, at, "".join(_entry(key, new, indent, newline) for key, new in fresh.items())


def _edit(key: Node, value: Node, front: str, new: Value, newline: str) -> Iterator[tuple[int, int, str]]:
    start, end = key.start_mark.index, _tail(value)
    line = _line_start(front, start)
    if new is None:
        yield line, _line_end(front, end), ""
    elif isinstance(new, Mapping) and isinstance(value, MappingNode) and not value.flow_style:
        yield from _edits(value, front, _differences(value, new), " " * value.start_mark.column, newline)
    elif value.start_mark.line == key.start_mark.line == value.end_mark.line and value.start_mark.index < end:
        yield value.start_mark.index, end, inline(new)
    else:
        yield line, _line_end(front, end), _entry(key.value, new, front[line:start], newline)


def _differences(node: MappingNode, new: Mapping[str, Value]) -> dict[str, Value]:
    """The entries of an object that change, None for those that go."""
    old = values_of(node, {key.value: None for key, _ in node.value})
    changed = {
        key: value for key, value in new.items() if key not in old or inline(old[key]) != inline(value)
    }
    return {**dict.fromkeys(key for key in old if key not in new), **changed}


def _tail(node: Node) -> int:
    """Where the text of a value ends, less the comments after it that YAML counts to a block."""
    if isinstance(node, CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _tail(last[1] if isinstance(last, tuple) else last)
    return int(node.end_mark.index)


def _line_start(text: str, at: int) -> int:
    return text.rfind("\n", 0, at) + 1


def _line_end(text: str, at: int) -> int:
    """The start of the next line; a block of text already ends at one."""
    if at and text[at - 1] == "\n":
        return at
    found = text.find("\n", at)
    return len(text) if found < 0 else found + 1


def _check(old: Note, made: Note, values: Mapping[str, Value]) -> None:
    """However the front matter is written: what was asked for is there now, all the rest as it was."""
    asked = dict.fromkeys(values)
    try:
        kept = {**_sources(old), **asked} == {**_sources(made), **asked}
        there = made.values(values)
        right = all(there.get(key) == value for key, value in values.items())
    except Fault:
        kept = right = False
    if not (kept and right):
        raise Fault(
            "the front matter is written in a way that cannot be changed safely; write one key a line"
        )


def _sources(note: Note) -> dict[str, object]:
    """Each entry's own text, as it is written."""
    front = note.front or ""
    entries = note.node.value if note.node else ()
    return {key.value: front[key.start_mark.index : _tail(value)].rstrip() for key, value in entries}
