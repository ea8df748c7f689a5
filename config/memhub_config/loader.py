"""From a YAML file, or a mapping, to plain values that know their lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import yaml

from memhub import InvalidConfig
from memhub_config.problems import Place, Problems

__all__ = ["Document", "from_file", "from_mapping"]

MOST_VALUES: Final = 100_000
"""More values than this, aliases counted as often as they are used, are refused."""

DEEPEST: Final = 50
"""More levels than this are refused; a value that holds itself has no end of them."""

_TOO_MUCH: Final = "holds too much, or a value that holds itself"
_NAMED: Final = re.compile(r"(alias|anchor|tag|tag handle) ['\"].*", re.DOTALL)
_HINT: Final = "; YAML reads `{` after `$` as a mapping here: put the ${...} in quotes"


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed configuration. `folder` is what its relative paths start from."""

    source: str
    folder: Path
    data: Mapping[str, object]
    lines: Mapping[Place, int] = field(default_factory=dict)

    def problems(self) -> Problems:
        """A fresh list of problems, placed in this document."""
        return Problems(self.source, self.lines)


def from_mapping(data: Mapping[str, object], folder: Path | None = None) -> Document:
    """A configuration that was parsed elsewhere; relative paths start from the current folder."""
    document = Document("configuration", folder or Path.cwd(), data)
    problems = document.problems()
    for number, (place, key) in enumerate(_keys(data, ()), 1):
        if number > MOST_VALUES or len(place) > DEEPEST:
            raise InvalidConfig(f"{document.source}: {_TOO_MUCH}")
        if not isinstance(key, str):
            problems.add(place, f"a key must be text, not {type(key).__name__}")
    problems.check()
    return document


def from_file(path: Path) -> Document:
    """The file's document. InvalidConfig when it is absent, unreadable, no YAML, or repeats a key."""
    root = _composed(path)
    lines: dict[Place, int] = {}
    problems = Problems(str(path), lines)
    if not isinstance(root, yaml.MappingNode):
        raise InvalidConfig(f"{path}: must be a mapping with a `stores` section; see `memhub init`")
    _Walk(str(path), lines, problems).visit(root, ())
    problems.check()
    try:
        data = yaml.SafeLoader("").construct_document(root)
    except Exception as found:  # noqa: BLE001 - a tag that does not fit its value fails in any way
        error = _syntax_error(path, found, "")
    else:
        return Document(str(path), path.resolve().parent, data, lines)
    raise error


def _composed(path: Path) -> yaml.Node | None:
    text = _read(path)
    try:
        return yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as found:
        error = _syntax_error(path, found, text)
    except RecursionError:
        error = InvalidConfig(f"{path}: is nested too deeply")
    # Raised out here: the parser's own error quotes the file, which may hold secrets.
    raise error


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        why = "no such file; `memhub init` writes one"
    except IsADirectoryError:
        why = "is a folder; name the file in it"
    except UnicodeDecodeError as found:
        why = f"is not UTF-8 (byte {found.start + 1})"
    except OSError as found:
        why = f"cannot be read: {found.strerror}"
    except ValueError:
        why = "is no file name"
    raise InvalidConfig(f"{path}: {why}")


def _syntax_error(path: Path, found: Exception, text: str) -> InvalidConfig:
    """Where and what, without the snippet that the parser would show."""
    if not isinstance(found, yaml.MarkedYAMLError) or found.problem_mark is None:
        return InvalidConfig(f"{path}: is not YAML: it holds a character or value that YAML does not allow")
    mark = found.problem_mark
    problem = _NAMED.sub(r"\1; quote a value that begins with *, & or !", found.problem or "unreadable")
    line = text.splitlines()[mark.line] if mark.line < len(text.splitlines()) else ""
    hint = _HINT if "${" in line and "{" in (found.problem or "") else ""
    return InvalidConfig(f"{path}, line {mark.line + 1}, column {mark.column + 1}: not YAML: {problem}{hint}")


class _Walk:
    """Notes every value's line, and every repeated or unusable key."""

    def __init__(self, source: str, lines: dict[Place, int], problems: Problems) -> None:
        self._source = source
        self._lines = lines
        self._problems = problems
        self._visited = 0

    def visit(self, node: yaml.Node, place: Place) -> None:
        self._visited += 1
        if self._visited > MOST_VALUES or len(place) > DEEPEST:
            raise InvalidConfig(f"{self._source}: {_TOO_MUCH}")
        self._lines.setdefault(place, node.start_mark.line + 1)
        if isinstance(node, yaml.MappingNode):
            self._mapping(node, place)
        elif isinstance(node, yaml.SequenceNode):
            for number, item in enumerate(node.value):
                self.visit(item, (*place, number))

    def _mapping(self, node: yaml.MappingNode, place: Place) -> None:
        seen: set[str] = set()
        for key, value in node.value:
            if key.tag == "tag:yaml.org,2002:merge":
                self.visit(value, (*place, "<<"))
                continue
            if key.tag != "tag:yaml.org,2002:str":
                self._lines[(*place, "")] = key.start_mark.line + 1
                self._problems.add((*place, ""), "a key must be text; quote it")
                continue
            inside = (*place, key.value)
            self._lines[inside] = key.start_mark.line + 1
            if key.value in seen:
                self._problems.add(inside, "is given twice; keep one")
            seen.add(key.value)
            self.visit(value, inside)


def _keys(value: object, place: Place) -> Iterator[tuple[Place, object]]:
    """Every key at whatever depth, and every item's place as one, with the place that it stands in."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield place, key
            yield from _keys(item, (*place, str(key)))
    elif isinstance(value, list | tuple):
        for number, item in enumerate(value):
            yield place, ""
            yield from _keys(item, (*place, number))
