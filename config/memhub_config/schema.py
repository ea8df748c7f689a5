"""The JSON Schema of a configuration file, for editors. Providers of other packages are left out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from memhub import Capabilities
from memhub_config import embedders, providers
from memhub_config.bindings import BindingSection
from memhub_config.models import Section, StoreOptions
from memhub_config.watching import EventsSection

__all__ = ["json_schema"]

_REFERENCE: Final = {"type": "string", "pattern": r"\$\{", "description": "Text with ${VAR} in it."}
_NOTHING: Final = {"type": "null"}


def json_schema() -> dict[str, Any]:
    """Draft 2020-12. Wherever a value may stand, so may text with `${...}`, or nothing."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "memhub.yaml",
        "description": "Where Memhub keeps memories: named stores, each with one provider.",
        "type": "object",
        "additionalProperties": False,
        "required": ["stores"],
        "properties": {
            "embedders": {
                "description": "Models that turn text to vectors, by name; stores name them.",
                "anyOf": [{"type": "object", "additionalProperties": _embedder()}, _NOTHING],
            },
            "stores": {
                "description": "Stores by name.",
                "type": "object",
                "minProperties": 1,
                "additionalProperties": _store(),
            },
            "bindings": {
                "description": "Who may write where and read what, by name; see hub.bind.",
                "anyOf": [{"type": "object", "additionalProperties": _plain(BindingSection)}, _NOTHING],
            },
            "events": {"anyOf": [_plain(EventsSection), _NOTHING]},
        },
    }


def _embedder() -> dict[str, Any]:
    return {
        "type": "object",
        "minProperties": 1,
        "maxProperties": 1,
        "additionalProperties": False,
        "properties": {kind: _settings(embedders.load(kind).settings) for kind in embedders.KINDS},
    }


def _plain(model: type[Section]) -> dict[str, Any]:
    return _flattened(model.model_json_schema())


def _store() -> dict[str, Any]:
    sections = {name: _settings(providers.load(name).settings) for name in providers.BUILT_IN}
    options = _flattened(StoreOptions.model_json_schema())
    options["properties"]["requires"]["anyOf"][0]["items"] = {
        "anyOf": [{"enum": list(Capabilities.names())}, _REFERENCE]
    }
    return {
        "description": "One provider, and what every store may say.",
        "type": "object",
        "additionalProperties": False,
        "properties": {**sections, **options["properties"]},
        "oneOf": [{"required": [name]} for name in providers.BUILT_IN],
    }


def _settings(model: type[Section]) -> dict[str, Any]:
    schema = _plain(model)
    if schema.get("required"):
        return schema
    return {"description": schema.pop("description", ""), "anyOf": [schema, _NOTHING]}


def _flattened(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema without references, each field open to `${...}` and to nothing."""
    definitions = schema.get("$defs", {})

    def resolved(part: Any) -> Any:  # noqa: ANN401 - any JSON value
        if isinstance(part, list):
            return [resolved(item) for item in part]
        if not isinstance(part, dict):
            return part
        if "$ref" in part:
            target = definitions[part["$ref"].rpartition("/")[2]]
            return resolved({**target, **{key: item for key, item in part.items() if key != "$ref"}})
        found = {key: resolved(item) for key, item in part.items() if key not in ("title", "$defs")}
        if found.get("type") == "object" and "properties" in found:
            needed = found.get("required", ())
            found["properties"] = {
                name: _open(item, optional=name not in needed) for name, item in found["properties"].items()
            }
        return found

    flat: dict[str, Any] = resolved(dict(schema))
    return flat


def _open(field: dict[str, Any], *, optional: bool) -> dict[str, Any]:
    about: dict[str, Any] = {key: field.pop(key) for key in ("description", "default") if key in field}
    choices = field["anyOf"] if set(field) == {"anyOf"} else [field]
    # Plain text already admits a reference; a pattern or a list of words would not.
    if {"type": "string"} not in choices and field.get("type") != "object":
        choices = [*choices, _REFERENCE]
    closing = [_NOTHING] if optional and _NOTHING not in choices else []
    return {**about, "anyOf": [*choices, *closing]}
