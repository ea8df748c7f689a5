"""`${...}` in values: variables, defaults and files, put in after parsing, never before.

`${VAR}` is the variable; `${VAR:-default}` the default when it is unset or empty;
`${file:/run/secrets/key}` a file's text without the newline at its end; `$$` a dollar sign.
Keys are never expanded. A value that comes out empty counts as not given.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from memhub_config.loader import Document
from memhub_config.problems import Place, Problems

__all__ = ["Expanded", "expand"]

_REFERENCE: Final = re.compile(r"\$\$|\$\{([^}]*)\}?")
_VARIABLE: Final = re.compile(r"([A-Za-z_]\w*)(:-(.*))?", re.DOTALL | re.ASCII)


@dataclass(frozen=True, slots=True)
class Expanded:
    """Values with everything put in. `unset` says, by place, why an empty value was left out."""

    data: dict[str, object]
    unset: dict[Place, str] = field(default_factory=dict)


def expand(document: Document, environ: Mapping[str, str], problems: Problems) -> Expanded:
    """Expand every value; what cannot be expanded becomes a problem that names variable and field."""
    expander = _Expander(document.folder, environ, problems)
    data = expander.mapping(document.data, ())
    return Expanded(data, expander.unset)


class _Expander:
    def __init__(self, folder: Path, environ: Mapping[str, str], problems: Problems) -> None:
        self._folder = folder
        self._environ = environ
        self._problems = problems
        self.unset: dict[Place, str] = {}

    def mapping(self, given: Mapping[str, object], place: Place) -> dict[str, object]:
        items = {key: self.value(item, (*place, key)) for key, item in given.items()}
        return {key: item for key, item in items.items() if item != ""}

    def value(self, given: object, place: Place) -> object:
        if isinstance(given, Mapping):
            return self.mapping(given, place)
        if isinstance(given, list | tuple):
            items = [self.value(item, (*place, number)) for number, item in enumerate(given)]
            return [item for item in items if item != ""]
        if not isinstance(given, str):
            return given
        text = _REFERENCE.sub(lambda found: self._put(found, place), given)
        if not text:
            self.unset[place] = f"{given} is empty" if given else "it is empty"
        return text

    def _put(self, found: re.Match[str], place: Place) -> str:
        if found[0] == "$$":
            return "$"
        if not found[0].endswith("}"):
            return self._refuse(place, "a `${` has no closing `}`; for a plain dollar sign write `$$`")
        if found[1].startswith("file:"):
            return self._file(found[1].removeprefix("file:"), place)
        return self._variable(found[1], place)

    def _variable(self, reference: str, place: Place) -> str:
        parts = _VARIABLE.fullmatch(reference)
        if parts is None:
            return self._refuse(place, "use ${VAR}, ${VAR:-default} or ${file:/path}; for a plain $ write $$")
        name, has_default, default = parts.groups()
        value = self._environ.get(name, "")
        if has_default:
            if "${" in default:
                return self._refuse(place, f"the default of {name} holds another `${{`; one cannot nest them")
            return value or default
        if name not in self._environ:
            return self._refuse(
                place, f"the variable {name} is not set; set it, or give ${{{name}:-default}}"
            )
        return value

    def _file(self, name: str, place: Place) -> str:
        try:
            path = self._folder / Path(name).expanduser()
            return path.read_bytes().decode("utf-8-sig").rstrip("\r\n")
        except UnicodeDecodeError:
            why = "is not UTF-8 text"
        except OSError as found:
            why = f"cannot be read: {found.strerror}"
        except ValueError:
            why = "is no file name"
        except RuntimeError:
            why = "is in a home folder that is not known; write the path out"
        return self._refuse(place, f"the file {name} {why}")

    def _refuse(self, place: Place, message: str) -> str:
        """Note the problem; a stand-in takes the value's place until the problems are told."""
        self._problems.add(place, message)
        return "-"
