"""The `bindings` section: who may write where and read what, by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import BeforeValidator, Field, WithJsonSchema

from memhub import Binding, InvalidConfig, InvalidInput
from memhub.bindings import ScopeTemplate
from memhub_config.expand import Expanded
from memhub_config.models import Section
from memhub_config.problems import Place, Problems, listed, nearest
from memhub_config.refusals import given_or_empty, validated

__all__ = ["BindingSection", "read_bindings"]

Scope = str | dict[str, str]


def _scope(value: object) -> object:
    if isinstance(value, str) or (
        isinstance(value, Mapping) and value and all(isinstance(text, str) for text in value.values())
    ):
        return value
    raise ValueError(
        "must be a name, or a mapping of labels to text; none is empty, and a number needs quotes"
    )


class BindingSection(Section):
    """One binding: whose memory it is, and what it may also read."""

    store: str | None = Field(default=None, description="The store; may be left out where there is one.")
    scope: Annotated[
        Scope,
        BeforeValidator(_scope),
        WithJsonSchema(
            {
                "anyOf": [
                    {"type": "string", "minLength": 1},
                    {"type": "object", "minProperties": 1, "additionalProperties": {"type": "string"}},
                ]
            }
        ),
    ] = Field(description="Whose memory: a name or labels. {value} is what the product gives to hub.bind.")
    read: tuple[str, ...] = Field(
        default=(), description="Names of bindings of the same store whose scopes it may also read."
    )
    exact: bool = Field(
        default=True, description="false: reads reach every scope that has these labels, not only these."
    )
    readonly: bool = Field(default=False, description="Whether every change is refused.")


def read_bindings(expanded: Expanded, problems: Problems, stores: tuple[str, ...]) -> dict[str, Binding]:
    """The bindings by name. What is wrong becomes a problem; those that are then stay out."""
    given = given_or_empty(expanded.data.get("bindings"))
    if not isinstance(given, Mapping):
        problems.add(("bindings",), "must hold bindings by name")
        return {}
    return _Reader(given, expanded, problems, stores).bindings()


class _Reader:
    def __init__(
        self, given: Mapping[str, object], expanded: Expanded, problems: Problems, stores: tuple[str, ...]
    ) -> None:
        self._problems = problems
        self._stores = stores
        self._unset = expanded.unset
        found = {
            name: validated(BindingSection, section, ("bindings", name), problems, expanded.unset)
            for name, section in given.items()
        }
        self._sections = {name: section for name, section in found.items() if section is not None}
        self._given = tuple(given)
        self._templates = {name: self._template(name, one) for name, one in self._sections.items()}

    def bindings(self) -> dict[str, Binding]:
        found = {name: self._binding(name, section) for name, section in self._sections.items()}
        return {name: binding for name, binding in found.items() if binding is not None}

    def _binding(self, name: str, section: BindingSection) -> Binding | None:
        place: Place = ("bindings", name)
        for unset, why in self._unset.items():
            if unset[:3] == (*place, "scope"):
                self._problems.add(unset, f"must not be empty, and {why}")
        store = self._store(section, (*place, "store"))
        for number, other in enumerate(section.read):
            self._check_read(name, other, store, (*place, "read", number))
        read = [self._templates.get(other) for other in section.read]
        scope = self._templates[name]
        if store is None or scope is None:
            return None
        return Binding(
            store=store,
            scope=scope,
            read=tuple(template for template in read if template is not None),
            exact=section.exact,
            readonly=section.readonly,
        )

    def _template(self, name: str, section: BindingSection) -> ScopeTemplate | None:
        try:
            return ScopeTemplate(section.scope)
        except (InvalidConfig, InvalidInput) as found:
            self._problems.add(("bindings", name, "scope"), found.message.removeprefix("scope: "))
            return None

    def _store(self, section: BindingSection, place: Place) -> str | None:
        if section.store is None:
            if len(self._stores) == 1:
                return self._stores[0]
            self._problems.add(place, f"is required with several stores; one of {listed(self._stores)}")
        elif section.store not in self._stores:
            near = nearest(section.store, self._stores)
            self._problems.add(place, f"no such store{near}; the stores are {listed(self._stores)}")
        else:
            return section.store
        return None

    def _check_read(self, name: str, other: str, store: str | None, place: Place) -> None:
        if other == name:
            self._problems.add(place, "names this binding itself; leave it out")
        elif other not in self._given:
            near = nearest(other, self._given)
            self._problems.add(place, f"no such binding{near}; the bindings are {listed(self._given)}")
        elif other in self._sections and self._store_of(other) != store:
            self._problems.add(place, "is a binding of another store; memories are shared within one")
        elif other in self._templates and self._templates[other] == self._templates[name]:
            self._problems.add(place, "has the very scope of this binding; leave it out")

    def _store_of(self, name: str) -> str | None:
        given = self._sections[name].store
        return given if given is not None or len(self._stores) != 1 else self._stores[0]
