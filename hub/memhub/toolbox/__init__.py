"""Memory as tools of a model: saving, searching, listing, and marking what is no longer true.

Scope, store and read list are those of the bound memory; no tool has an argument for them, and
none deletes. A model's mistake is answered in words that it can act on, never raised.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from memhub import validation
from memhub.blocks import SMALLEST
from memhub.bound import BoundMemory, check_bound
from memhub.errors import Closed, HubError, InvalidInput, NotFound, Unavailable
from memhub.records import Fact, Observation, Provenance, Query
from memhub.toolbox.answers import ANSWER, Answer, failed, invalidated, listed, saved
from memhub.toolbox.arguments import SHOWN, read_arguments
from memhub.toolbox.manual import manual
from memhub.toolbox.tools import Tool, tools_for

if TYPE_CHECKING:
    from memhub.records import Json

__all__ = ["ANSWER", "Answer", "Tool", "Toolbox"]


class Toolbox:
    """The tools of one bound memory, fitted to what it can do.

    `provenance` is noted on everything that is saved. `budget` is the most characters of memories
    in one answer, at least 400. Tools that the memory cannot serve are left out: a read-only one has no saving.
    """

    def __init__(
        self, memory: BoundMemory, *, provenance: Provenance | None = None, budget: int = ANSWER
    ) -> None:
        self._memory = check_bound(memory)
        self._provenance = provenance
        self._budget = validation.budget(budget, SMALLEST)
        self._tools = {tool.name: tool for tool in tools_for(memory)}
        self._work: dict[str, Callable[[Mapping[str, Any]], Awaitable[Answer]]] = {
            "memory_save": self._save,
            "memory_search": self._search,
            "memory_list": self._list,
            "memory_invalidate": self._invalidate,
        }

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools: name, description, and JSON Schema of the arguments."""
        return tuple(self._tools.values())

    @property
    def manual(self) -> str:
        """For the system prompt: what the memory is for, when to save, how to correct."""
        return manual(self._tools, shared=len(self._memory.scopes) > 1)

    def openai_tools(self) -> list[dict[str, Any]]:
        """The tools as OpenAI's chat completions take them."""
        return [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.parameters,
                },
            }
            for tool in self.tools
        ]

    def anthropic_tools(self) -> list[dict[str, Any]]:
        """The tools as Anthropic's messages take them."""
        return [
            {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}
            for tool in self.tools
        ]

    def json_schemas(self) -> dict[str, dict[str, Any]]:
        """The JSON Schema of each tool's arguments, by name."""
        return {tool.name: tool.parameters for tool in self.tools}

    async def call(self, name: str, arguments: Mapping[str, Json] | str | None = None) -> Answer:
        """What the tool answers. `arguments` is an object, or its JSON text as some models send it.

        A mistake of the model and a memory that cannot be reached are answered, with `ok` False.
        Raises Closed once the store is closed.
        """
        try:
            tool = self._tool(name)
            return await self._work[tool.name](read_arguments(tool, arguments))
        except Closed:
            raise
        except Unavailable as error:
            return failed(error.code, "The memory cannot be reached now. Go on without it; try again later.")
        except NotFound as error:
            return failed(error.code, f"{error.message}; take the id from memory_search or memory_list")
        except HubError as error:
            return failed(error.code, error.message.replace("facts[0].", ""))

    def _tool(self, name: object) -> Tool:
        tool = self._tools.get(name) if isinstance(name, str) else None
        if tool is None:
            raise InvalidInput(
                f"there is no tool {str(name)[:SHOWN]!r}; the tools are {', '.join(self._tools)}"
            )
        return tool

    async def _save(self, given: Mapping[str, Any]) -> Answer:
        optional = {name: given[name] for name in ("kind", "tags", "supersedes") if name in given}
        fact = Fact(given["content"], **optional)
        observation = Observation(self._memory.scope, facts=[fact], provenance=self._provenance)
        return saved(await self._memory.observe(observation), fact)

    async def _search(self, given: Mapping[str, Any]) -> Answer:
        from memhub.search import has_words

        text = given["query"]
        if not has_words(text):
            return await self._list(given, note="The query held no word, so these are the newest memories.")
        return await self._found(given, text)

    async def _list(self, given: Mapping[str, Any], note: str | None = None) -> Answer:
        return await self._found(given, None, note)

    async def _found(self, given: Mapping[str, Any], text: str | None, note: str | None = None) -> Answer:
        filters = {name: given[name] for name in ("kinds", "tags") if name in given}
        limit = given["limit"] if text is not None else min(given["limit"], self._memory.capabilities.listing)
        found = await self._memory.recall(Query(self._memory.scopes, text=text, limit=limit, **filters))
        return listed(found, own=self._memory.scope, budget=self._budget, note=note)

    async def _invalidate(self, given: Mapping[str, Any]) -> Answer:
        record = await self._memory.invalidate(given["id"], given.get("reason"))
        return invalidated(record)
