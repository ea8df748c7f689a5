"""Reading YAML: version 1.2's own few types, in libyaml where PyYAML has it. Dates stay text."""

from __future__ import annotations

import re
from collections.abc import Container
from typing import Any, ClassVar, Final

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode

from memhub_adapters.markdown.errors import Fault

__all__ = ["root", "values_of"]

_Base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_TYPES: Final = (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?[0-9]+", list("-+0123456789")),
    ("float", r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", list("-+.0123456789")),
)


class _Loader(_Base):  # type: ignore[misc]
    """Nothing is taken for a date, an octal number or a yes."""

    yaml_implicit_resolvers: ClassVar[dict[str, Any]] = {}


for _name, _pattern, _first in _TYPES:
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_name}", re.compile(f"(?:{_pattern})$"), _first)
_Loader.add_constructor("tag:yaml.org,2002:int", lambda _, node: int(node.value))
_Loader.add_constructor("tag:yaml.org,2002:float", lambda _, node: float(node.value))


def root(text: str) -> MappingNode | None:
    """The front matter's top, None where it holds nothing. Raises Fault."""
    try:
        loader = _Loader(text)
        try:
            node = loader.get_single_node()
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise Fault(f"the front matter is no YAML: {error.problem}", mark.line + 2 if mark else 1) from None
    except (yaml.YAMLError, RecursionError):
        raise Fault(
            "the front matter is no YAML: it holds a character or a depth that is not allowed"
        ) from None
    return _mapping(node)


def values_of(node: MappingNode | None, keys: Container[str]) -> dict[str, Any]:
    """What stands under these keys. Raises Fault for a value that stands for nothing."""
    found: dict[str, Any] = {}
    loader = _Loader("")
    try:
        for key, value in node.value if node else ():
            if key.value in keys:
                found[key.value] = loader.construct_document(value)
    except (yaml.YAMLError, ValueError, TypeError, RecursionError):
        raise Fault(f"{key.value}: cannot be read", key.start_mark.line + 2) from None
    finally:
        loader.dispose()
    return found


def _mapping(node: Node | None) -> MappingNode | None:
    if node is None or (isinstance(node, ScalarNode) and node.tag == "tag:yaml.org,2002:null"):
        return None
    if not isinstance(node, MappingNode):
        raise Fault("the front matter is no list of `key: value`", node.start_mark.line + 2)
    for key, _ in node.value:
        if not isinstance(key, ScalarNode):
            raise Fault("the front matter has a key that is no text", key.start_mark.line + 2)
    return node
