"""A model's refusals in our own words: the field, what is wrong, the nearest valid name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeVar, cast, get_args

from pydantic import BaseModel, ValidationError

from memhub_config.models import ROUTING, Section, StoreOptions
from memhub_config.problems import Place, Problems, listed, nearest, spaced

__all__ = ["given_or_empty", "validated"]

_SHAPES: Final = {"tuple_type": "must be a list", "path_type": "must be a path"}
S = TypeVar("S", bound=Section)


def validated(
    model: type[S], section: object, place: Place, problems: Problems, unset: Mapping[Place, str]
) -> S | None:
    """The section as `model` has it, or None with what it refuses noted as problems at `place`."""
    _note_empty(problems, place, model, unset)
    try:
        return model.model_validate(_without_nulls(section, model))
    except ValidationError as found:
        refused = found.errors(include_input=False, include_url=False)
    _note(problems, place, model, cast("list[dict[str, Any]]", refused), unset)
    return None


def given_or_empty(section: object) -> object:
    """A section, or an empty one where nothing was written; a false or a zero is no section."""
    return {} if section is None else section


def _without_nulls(section: object, model: type[BaseModel]) -> object:
    """The section without its fields that were left empty: these count as not given.

    What is no field of the model stays, for the model to refuse it.
    """
    if not isinstance(section, Mapping):
        return section
    known = _fields(model, ())
    given = {key: item for key, item in section.items() if item is not None or key not in known}
    nested = {key: _nested(model, key) for key in given}
    return {
        key: item if (inner := nested[key]) is None else _without_nulls(item, inner)
        for key, item in given.items()
    }


def _note_empty(problems: Problems, place: Place, model: type[BaseModel], unset: Mapping[Place, str]) -> None:
    """Note what came out empty, so that it is not in the section, and is no field of the model."""
    for given in unset:
        inside = given[len(place) :]
        known = _fields(model, inside[:-1]) if inside and given[: len(place)] == place else ()
        # A store's options stand beside its provider, which its reader knows.
        beside = model is StoreOptions and len(inside) == 1
        if known and not beside and inside[-1] not in known:
            problems.add(given, _unknown(str(inside[-1]), known))


def _note(
    problems: Problems,
    place: Place,
    model: type[BaseModel],
    refused: Iterable[Mapping[str, Any]],
    unset: Mapping[Place, str],
) -> None:
    """Note what `model` refused of the section at `place`. `refused` is pydantic's list, without inputs."""
    for refusal in refused:
        inside: Place = refusal["loc"]
        problems.add((*place, *inside), _told(refusal, model, unset.get((*place, *inside))))


def _told(refusal: Mapping[str, Any], model: type[BaseModel], unset: str | None) -> str:
    inside: Place = refusal["loc"]
    if refusal["type"] == "extra_forbidden":
        return _unknown(str(inside[-1]), _fields(model, inside[:-1]))
    if refusal["type"] == "missing":
        return f"is required, and {unset}" if unset else "is required"
    if refusal["type"] in {"model_type", "model_attributes_type", "dict_type"}:
        fields = _fields(model, inside)
        return f"must be a mapping of {listed(fields)}" if fields else "has no fields; leave it empty"
    if refusal["type"] in _SHAPES:
        return _SHAPES[refusal["type"]]
    message = str(refusal["msg"]).removeprefix("Value error, ").removeprefix("Assertion failed, ")
    return message.replace("Input should be", "must be", 1)


def _unknown(name: str, known: tuple[str, ...]) -> str:
    if name in ROUTING:
        return "a scope is given with every call, never in the configuration; remove it"
    return f"no such field{spaced(name) or nearest(name, known)}; the fields are {listed(known)}"


def _fields(model: type[BaseModel], inside: Place) -> tuple[str, ...]:
    """The field names of the model at `inside`, a path through nested models."""
    for part in inside:
        nested = _nested(model, part)
        if nested is None:
            return ()
        model = nested
    return tuple(info.alias or name for name, info in model.model_fields.items())


def _nested(model: type[BaseModel], part: str | int) -> type[BaseModel] | None:
    found = model.model_fields.get(str(part))
    return _model(found.annotation) if found else None


def _model(annotation: object) -> type[BaseModel] | None:
    if isinstance(annotation, type):
        return annotation if issubclass(annotation, BaseModel) else None
    return next((found for arg in get_args(annotation) if (found := _model(arg))), None)
